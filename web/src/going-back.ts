/**
 * The text of a file from before a task with the user's edits since then.
 *
 * Most edits of the user are on other lines than the assistant's, and stay. A line that is half the assistant's and half the
 * user's is a place: the user chooses what becomes of it, and no word of the assistant stays unasked.
 */
import { changes, linesOf } from "./core/rebase.js";
import type { PastFile } from "./engine.js";
import { type KeptHunk, type Outcome, replaceLines } from "./kept.js";
import { ownLines, rebased } from "./kept-texts.js";
import { applied, type Conflict, merged } from "./merged-lines.js";

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
    else
      text =
        text === "" && base === null ? edited : merged(base ?? "", edited, text, (place) => settled(place, outcome));
  }
  return isGone ? null : text;
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
