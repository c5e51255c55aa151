/**
 * The text of a file from before a task with the user's edits since then.
 *
 * Most edits of the user are on other lines than the assistant's, and stay. A line that is half the assistant's and half the
 * user's is a place: the user chooses what becomes of it, and no word of the assistant stays unasked.
 */
import { type Change, changes, linesOf } from "./core/rebase.js";
import type { PastFile } from "./engine.js";
import { type KeptHunk, type Outcome, ownLines, rebased, replaceLines } from "./kept.js";

/** The lines of a place: as the assistant left them, as the user left them, and as they were before. */
interface Conflict {
  readonly theirs: readonly string[];
  readonly mine: readonly string[];
  readonly old: readonly string[];
}

const OUTCOMES: readonly Outcome[] = ["keep", "mine", "old", "drop"];

/** The text of a file before a task, with the user's edits since then. */
export interface GoneBack {
  /** The text with all places dropped. */
  readonly text: string | null;
  readonly places: readonly KeptHunk[];
}

/** Moves the user's edits since a task to the text before it. */
export function goneBack({ path, before, own }: Pick<PastFile, "path" | "before" | "own">): GoneBack {
  const [keep, mine, old, drop] = OUTCOMES.map((outcome) => moved(before, own, outcome));
  if (keep == null || mine == null || old == null || drop == null) return { text: drop ?? null, places: [] };
  const text = drop === "" && before === null ? null : drop;
  return { text, places: placesIn(path, { keep, mine, old, drop }) };
}

/** Returns the text with one outcome for each place. */
export function withChoices({ text, places }: GoneBack, choices: readonly Outcome[]): string | null {
  let result = text ?? "";
  for (const [index, place] of [...places.entries()].reverse()) {
    const chosen = place.texts[choices[index] ?? "drop"] ?? place.texts.drop;
    result = replaceLines(result, place.line, place.lineCount, chosen);
  }
  return result === "" && text === null ? null : result;
}

/** Returns the outcome that a place has if the user was not asked: their edit without the assistant's words, if it can be. */
export function usualOutcome({ texts }: KeptHunk): Outcome {
  return texts.old !== undefined ? "old" : "drop";
}

/** Returns the text as going back gives it, unless the user chooses otherwise. */
export function usualText(file: Pick<PastFile, "path" | "before" | "own">): string | null {
  const gone = goneBack(file);
  return withChoices(gone, gone.places.map(usualOutcome));
}

function moved(before: string | null, own: PastFile["own"], outcome: Outcome): string | null {
  let [text, isGone] = [before ?? "", before === null && own.length === 0];
  for (const [base, edited] of own) {
    isGone = edited === null;
    if (edited === null) text = "";
    else text = text === "" && base === null ? edited : merged(base ?? "", edited, text, outcome);
  }
  return isGone ? null : text;
}

/** Returns `current` with the changes from `base` to `text`, and `outcome` where both differ from `base`. */
function merged(base: string, text: string, current: string, outcome: Outcome): string {
  if (base === current) return text;
  const [old, mine, theirs] = [base, text, current].map(linesOf) as [string[], string[], string[]];
  const [ours, others] = [changes(old, mine), changes(old, theirs)];
  const result: string[] = [];
  let at = 0;
  while (ours.length + others.length > 0) {
    const [own, other, from, to] = cluster(ours, others);
    result.push(...old.slice(at, from));
    const [lines, before] = [applied(old, own, from, to), applied(old, other, from, to)];
    if (other.length === 0) result.push(...lines);
    else if (own.length === 0 || lines.join("") === before.join("")) result.push(...before);
    // Lines that the user only added, or took away altogether, have no words of the assistant.
    else if (own.every((change) => change.from === change.to))
      result.push(...before, ...own.flatMap((each) => each.lines));
    else if (lines.length > 0)
      result.push(...settled({ theirs: old.slice(from, to), mine: lines, old: before }, outcome));
    at = to;
  }
  return [...result, ...old.slice(at)].join("");
}

/** Takes the first changes that overlap each other out of both lists. Returns them with their range. */
function cluster(ours: Change[], others: Change[]): [own: Change[], other: Change[], from: number, to: number] {
  const [own, other]: [Change[], Change[]] = [[], []];
  let [from, to] = [0, -1];
  const overlaps = (change: Change | undefined): boolean =>
    change !== undefined &&
    (to < 0 || (change.from < to && from < change.to) || (change.from < to && change.from > from));
  for (;;) {
    const isOurs = comesFirst(ours[0], others[0]);
    const list = isOurs ? ours : others;
    const next = list[0];
    if (!next || !overlaps(next)) return [own, other, from, Math.max(from, to)];
    list.shift();
    (isOurs ? own : other).push(next);
    if (to < 0) from = next.from;
    to = Math.max(to, next.to);
  }
}

function comesFirst(a: Change | undefined, b: Change | undefined): boolean {
  if (!a || !b) return a !== undefined;
  return a.from < b.from || (a.from === b.from && a.to <= b.to);
}

function applied(old: readonly string[], list: readonly Change[], from: number, to: number): string[] {
  const result: string[] = [];
  let at = from;
  for (const change of list) {
    result.push(...old.slice(at, change.from), ...change.lines);
    at = change.to;
  }
  return [...result, ...old.slice(at, to)];
}

function settled({ theirs, mine, old }: Conflict, outcome: Outcome): readonly string[] {
  if (outcome === "keep") return mine;
  if (outcome === "drop") return old;
  if (outcome === "mine") {
    const kept = new Set(theirs);
    const visible = mine.map((text) => ({ kind: kept.has(text) ? "added" : "context", text }) as const);
    return linesOf(
      ownLines(
        visible,
        old.map((text) => ({ text })),
        { text: theirs.join("") },
      ),
    );
  }
  const found = old.length === 0 ? undefined : rebased(theirs.join(""), old.join(""), mine.join(""));
  return found === undefined ? old : linesOf(found);
}

/** Returns the places in which the texts of the outcomes differ. Their lines are those of `drop`. */
function placesIn(path: string, texts: Readonly<Record<Outcome, string>>): readonly KeptHunk[] {
  const base = linesOf(texts.drop);
  const lists = OUTCOMES.map((outcome) => changes(base, linesOf(texts[outcome])));
  const ranges = lists.flat().sort((a, b) => a.from - b.from || a.to - b.to);
  const joined: { from: number; to: number }[] = [];
  for (const { from, to } of ranges) {
    const last = joined.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else joined.push({ from, to });
  }
  return joined.map(({ from, to }, index): KeptHunk => {
    const [keep, mine, old, drop] = lists.map((list) => {
      const inside = list.filter((change) => change.from >= from && change.to <= to);
      return applied(base, inside, from, to).join("");
    }) as [string, string, string, string];
    return {
      id: `${path}:${index}`,
      path,
      line: from + 1,
      lineCount: to - from,
      texts: {
        keep,
        drop,
        ...(mine !== keep && mine !== drop && { mine }),
        ...(old !== keep && old !== drop && { old }),
      },
    };
  });
}
