/**
 * Lists the hunks of all files, with the same decisions as in the editor.
 *
 * Removed and added lines differ by a sign, and for screen readers by a word, not by colour alone. The keys work while
 * the focus is in the list.
 */
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { openFile } from "../actions/edit.js";
import { acceptAll, decide, decideTogether, rejectAll, stepName, undo } from "../actions/review.js";
import { downloadPatch, save } from "../actions/save.js";
import { type Coloured, type Colourer, loadColourer, segments } from "../editor/colours.js";
import type { Decision } from "../editor/handle.js";
import type { Hunk, ReviewFile } from "../engine.js";
import { equalHunks } from "../equal-hunks.js";
import {
  countLines,
  hunkSummary,
  linesPhrase,
  pendingHunks,
  plural,
  signed,
  tightSpans,
  withoutBreak,
} from "../hunk-text.js";
import { userLines } from "../kept.js";
import { reveal } from "../reveal.js";
import { project, steps, totals, unsaved, waiting } from "../store.js";
import { baseName, folderOf } from "../tree.js";
import { Icon } from "./icons.js";

/** Number of files, and of hunks per file, that are rendered at first. The user can show more. */
const FILES_SHOWN = 60;
const HUNKS_SHOWN = 50;

export function ReviewPane() {
  const { changes, added, removed, files } = totals.value;
  const list = useRef<HTMLDivElement>(null);
  const shown = useSignal(FILES_SHOWN);
  if (changes === 0) return <NothingLeft />;
  return (
    <div class="review">
      <div class="file-bar" role="toolbar" aria-label="All changes">
        <span>
          {plural(changes, "change")} in {plural(files, "file")}
        </span>
        <span class="plus">{signed(added, "+")}</span>
        <span class="minus">{signed(removed, "−")}</span>
        <span class="spacer" />
        <button class="button small quiet" type="button" onClick={() => void downloadPatch()}>
          <Icon name="patch" size={14} /> Patch
        </button>
        <button class="button small" type="button" onClick={() => void rejectAll()}>
          Reject all
        </button>
        <button class="button small primary" type="button" onClick={() => void acceptAll()}>
          Accept all
        </button>
      </div>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys of the cards, which have the focus. */}
      <div class="review-list" ref={list} onKeyDown={(event) => onListKey(event, list.current)}>
        <EqualChanges />
        {waiting.value.slice(0, shown.value).map((file) => (
          <FileSection key={file.path} file={file} />
        ))}
        {files > shown.value && (
          <button
            class="link more"
            type="button"
            onClick={() => {
              shown.value += FILES_SHOWN;
            }}
          >
            Show more of the {files - shown.value} files left
          </button>
        )}
      </div>
    </div>
  );
}

/** Number of groups of equal changes that are listed. */
const GROUPS_SHOWN = 5;

/** Changes that are the same in many places, to decide on them as one. */
function EqualChanges() {
  const groups = equalHunks(waiting.value).slice(0, GROUPS_SHOWN);
  if (groups.length === 0) return null;
  return (
    <section class="review-file equal" aria-label="Equal changes">
      {groups.map(({ before, after, ids, fileCount }) => {
        const name = `${plural(ids.length, "equal change")} of ${before} to ${after}`;
        return (
          <div class="equal-row" key={`${before} ${after}`}>
            <strong>{ids.length.toLocaleString("en")} ×</strong>
            <code class="minus">{reveal(before)}</code>
            <span aria-hidden="true">→</span>
            <code class="plus">{reveal(after)}</code>
            <span class="faint">in {plural(fileCount, "file")}</span>
            <span class="spacer" />
            <button
              class="button small"
              type="button"
              aria-label={`Reject ${name}`}
              onClick={() => void decideTogether(ids, "reject")}
            >
              Reject
            </button>
            <button
              class="button small"
              type="button"
              aria-label={`Accept ${name}`}
              onClick={() => void decideTogether(ids, "accept")}
            >
              Accept
            </button>
          </div>
        );
      })}
    </section>
  );
}

/** The end of a review: its next steps. The keyboard focus stays here, so that `u` takes the last decision back. */
function NothingLeft() {
  const panel = useRef<HTMLDivElement>(null);
  const last = steps.value.done.at(-1);
  const count = unsaved.value.size;
  useEffect(() => {
    // The button or the card that had the focus is gone.
    if (last && document.activeElement === document.body) panel.current?.focus();
  }, []);
  const folder = project.value.directory !== null;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: takes the same key as the list of changes.
    <div
      class="empty review-end"
      ref={panel}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === "u" && !event.ctrlKey && !event.metaKey && !event.altKey) void undo();
      }}
    >
      <Icon name="accept" size={28} />
      <p>Nothing to review.</p>
      {count === 0 ? (
        <p class="faint">What the assistant changes shows up here. Nothing of it is saved before you accept it.</p>
      ) : (
        <p>
          {plural(count, "file")} {count === 1 ? "has" : "have"} text that is not{" "}
          {folder ? "in your folder" : "downloaded"} yet.
        </p>
      )}
      {(count > 0 || last) && (
        <div class="button-group">
          {count > 0 && (
            <button class="button primary" type="button" onClick={() => void save()}>
              <Icon name="save" size={14} /> {folder ? "Save into the folder" : "Download changed files"}
            </button>
          )}
          {last && (
            <button class="button" type="button" onClick={() => void undo()}>
              <Icon name="undo" size={14} /> Undo {stepName(last)}
            </button>
          )}
        </div>
      )}
    </div>
  );
}

const OPERATIONS: Record<ReviewFile["operation"], string> = { create: "new file", update: "", delete: "deleted" };

function FileSection({ file }: { file: ReviewFile }) {
  const all = useSignal(false);
  const hunks = pendingHunks(file);
  const colour = useSignal<Colourer | null>(null);
  useEffect(() => {
    loadColourer(file.path).then(
      (loaded) => {
        colour.value = loaded;
      },
      () => undefined,
    );
  }, [file.path]);
  const shown = all.value ? hunks : hunks.slice(0, HUNKS_SHOWN);
  return (
    <section class="review-file" aria-label={`${file.path}, ${plural(hunks.length, "change")}`}>
      <header class="review-head">
        <button class="link path" type="button" title={file.path} onClick={() => void openFile(file.path, "first")}>
          <span class="path-folder">{reveal(folderOf(file.path))}</span>
          <span class="path-name">{reveal(baseName(file.path))}</span>
        </button>
        {OPERATIONS[file.operation] !== "" && <span class="tag">{OPERATIONS[file.operation]}</span>}
        <span class="plus">{signed(sum(hunks, "added"), "+")}</span>
        <span class="minus">{signed(sum(hunks, "removed"), "−")}</span>
        <span class="spacer" />
        <button
          class="button small"
          type="button"
          aria-label={`Reject file ${file.path}`}
          onClick={() => void rejectAll(file.path)}
        >
          Reject file
        </button>
        <button
          class="button small"
          type="button"
          aria-label={`Accept file ${file.path}`}
          onClick={() => void acceptAll(file.path)}
        >
          Accept file
        </button>
      </header>
      <ol class="hunks">
        {shown.map((hunk, index) => (
          <HunkCard
            key={hunk.id}
            hunk={hunk}
            path={file.path}
            number={index + 1}
            total={hunks.length}
            after={lastLine(hunks[index - 1])}
            colour={colour.value}
            shift={hunks.slice(0, index).reduce((sum, above) => sum + replacedLines(above), 0)}
          />
        ))}
      </ol>
      {shown.length < hunks.length && (
        <button
          class="link more"
          type="button"
          onClick={() => {
            all.value = true;
          }}
        >
          Show {hunks.length - shown.length} more
        </button>
      )}
    </section>
  );
}

type Line = Hunk["lines"][number];

/** Number of lines of a hunk that are rendered at first. */
const LINES_SHOWN = 400;

interface CardProps {
  readonly hunk: Hunk;
  readonly path: string;
  readonly number: number;
  readonly total: number;
  /** The last visible line that the card above shows. */
  readonly after: number;
  /** Number of lines by which the engine counts the old lines too high. */
  readonly shift: number;
  readonly colour: Colourer | null;
}

function HunkCard(props: CardProps) {
  const { hunk, path, number, total, after, shift, colour } = props;
  const all = useSignal(false);
  const mine = userLines(hunk);
  const isMine = (line: Line): boolean => line.newNumber !== undefined && mine.has(line.newNumber);
  // Unchanged lines that the hunk above shows already are not repeated.
  const lines = hunk.lines.filter((line) => line.kind !== "context" || (line.newNumber ?? 0) > after);
  const shown = all.value ? lines : lines.slice(0, LINES_SHOWN);
  const colours = useMemo(() => coloursOf(shown, colour), [hunk, colour, shown.length]);
  const name = `change ${number} of ${total} in ${path}`;
  return (
    <li
      class="hunk-card"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a card takes the keys y and n.
      tabIndex={0}
      data-hunk={hunk.id}
      data-path={path}
      aria-label={`Change ${number} of ${total}, ${path}, ${hunkSummary(hunk)}, pending`}
    >
      <div class="hunk-bar">
        <button class="link hunk-label" type="button" onClick={() => void openFile(path, hunk.id)}>
          {capital(linesPhrase(hunk))}
        </button>
        <span class="hunk-size">
          <span class="plus">{signed(countLines(hunk, "added"), "+")}</span>{" "}
          <span class="minus">{signed(countLines(hunk, "removed"), "−")}</span>
        </span>
        {hunk.keptByUser && <span class="hunk-kept">you edited this</span>}
        {hunk.contested && <span class="hunk-kept">conflicts with your edit</span>}
        <span class="spacer" />
        <DecideButton kind="reject" name={name} hunk={hunk} />
        <DecideButton kind="accept" name={name} hunk={hunk} />
      </div>
      <div class="hunk-lines">
        {shown.map((line, index) => (
          <div class={`diff-line ${isMine(line) ? "mine" : line.kind}`} key={index}>
            <span class="line-number">{isMine(line) ? "" : oldNumber(hunk, line, shift)}</span>
            <span class="line-number">{line.newNumber ?? ""}</span>
            <span class="sign" aria-hidden="true">
              {SIGNS[line.kind]}
            </span>
            <span class="visually-hidden">{isMine(line) ? "yours: " : WORDS[line.kind]}</span>
            <code>{drawn(withoutBreak(line.text), colours.get(line) ?? [], line.spans)}</code>
          </div>
        ))}
        {!all.value && lines.length > LINES_SHOWN && (
          <button
            class="link more"
            type="button"
            onClick={() => {
              all.value = true;
            }}
          >
            Show {(lines.length - LINES_SHOWN).toLocaleString("en")} more lines
          </button>
        )}
        {hunk.contested && <Yours lines={hunk.yours ?? []} />}
      </div>
    </li>
  );
}

/** The lines that a contested hunk would replace. */
function Yours({ lines }: { lines: readonly string[] }) {
  if (lines.length === 0) return <p class="faint">You deleted these lines since.</p>;
  return (
    <>
      <p class="faint">Your lines, which Accept replaces:</p>
      {lines.map((line, index) => (
        <div class="diff-line context" key={index}>
          <code>{withoutBreak(line)}</code>
        </div>
      ))}
    </>
  );
}

const SIGNS = { added: "+", removed: "−", context: "" } as const;
const WORDS = { added: "added: ", removed: "removed: ", context: "" } as const;

function DecideButton({ kind, name, hunk }: { kind: Decision; name: string; hunk: Hunk }) {
  const text = kind === "accept" ? "Accept" : "Reject";
  const onClick = (event: MouseEvent): void => {
    const card = (event.currentTarget as HTMLElement).closest<HTMLElement>(".hunk-card");
    void decideInList(card, hunk.id, kind, `.hunk-button.${kind}`);
  };
  return (
    <button class={`hunk-button ${kind}`} type="button" aria-label={`${text} ${name}`} onClick={onClick}>
      {text}
    </button>
  );
}

/** Carries out a decision, then focuses the card that takes the place of this one. */
async function decideInList(card: HTMLElement | null, id: string, kind: Decision, selector: string): Promise<void> {
  const list = card?.closest(".review-list") ?? null;
  const index = card === null ? -1 : cardsOf(list).indexOf(card);
  await decide(id, kind);
  // The list renders in a microtask after the state changed.
  await new Promise(requestAnimationFrame);
  const cards = cardsOf(list);
  const next = cards[Math.min(index, cards.length - 1)];
  if (!next) return document.querySelector<HTMLElement>(".review-end")?.focus();
  (selector === "" ? next : next.querySelector<HTMLElement>(selector))?.focus();
}

function cardsOf(list: Element | null): readonly HTMLElement[] {
  return list ? [...list.querySelectorAll<HTMLElement>(".hunk-card")] : [];
}

function onListKey(event: KeyboardEvent, list: HTMLElement | null): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const card = (event.target as HTMLElement).closest<HTMLElement>(".hunk-card");
  const { hunk: id, path } = card?.dataset ?? {};
  const cards = cardsOf(list);
  const index = card === null ? -1 : cards.indexOf(card);
  const onCard = event.target === card;
  if (event.key === "j" || (onCard && event.key === "ArrowDown")) cards[Math.min(index + 1, cards.length - 1)]?.focus();
  else if (event.key === "k" || (onCard && event.key === "ArrowUp")) cards[Math.max(index - 1, 0)]?.focus();
  else if (event.key === "y" && id) void decideInList(card, id, "accept", "");
  else if (event.key === "n" && id) void decideInList(card, id, "reject", "");
  else if (event.key === "u") void undo();
  else if (event.key === "Enter" && onCard && path) void openFile(path, id);
  else return;
  event.preventDefault();
}

/** Returns the number of removed lines for which the user has a line. The engine counts both as old lines. */
function replacedLines(hunk: Hunk): number {
  return hunk.keptByUser ? Math.min(countLines(hunk, "removed"), userLines(hunk).size) : 0;
}

/** Returns the number of a line in the old text, in which the user's lines in hunks do not count. */
function oldNumber(hunk: Hunk, line: Line, shift: number): number | string {
  if (line.oldNumber === undefined) return "";
  const mine = Math.min(...userLines(hunk));
  const isBelow = line.newNumber !== undefined && line.newNumber > mine;
  return line.oldNumber - shift - (isBelow ? replacedLines(hunk) : 0);
}

/** Returns the number of the last visible line that a hunk shows, 0 without a hunk. */
function lastLine(hunk: Hunk | undefined): number {
  return hunk?.lines.findLast((line) => line.newNumber !== undefined)?.newNumber ?? 0;
}

/** Renders a line with its colours, and its changed parts marked. */
function drawn(text: string, coloured: readonly Coloured[], spans: Line["spans"]) {
  if (text === "") return "\n";
  return segments(text, coloured, tightSpans(text, spans)).map((part, index) => {
    const content = reveal(part.text);
    if (part.marked) {
      return (
        <mark key={index} class={part.classes}>
          {content}
        </mark>
      );
    }
    return part.classes === "" ? (
      content
    ) : (
      <span key={index} class={part.classes}>
        {content}
      </span>
    );
  });
}

/** Returns the colours of a hunk's lines. Old and new lines are two texts. */
function coloursOf(lines: readonly Line[], colour: Colourer | null): ReadonlyMap<Line, readonly Coloured[]> {
  const found = new Map<Line, readonly Coloured[]>();
  if (!colour) return found;
  for (const left of ["added", "removed"] as const) {
    const side = lines.filter((line) => line.kind !== left);
    const coloured = colour(side.map((line) => line.text));
    for (const [index, line] of side.entries()) found.set(line, coloured[index] ?? []);
  }
  return found;
}

function sum(hunks: readonly Hunk[], kind: "added" | "removed"): number {
  return hunks.reduce((total, hunk) => total + countLines(hunk, kind), 0);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
