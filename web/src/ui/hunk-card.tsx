/** A hunk in the review: its lines, one under the other or side by side, its buttons, and comments on its lines. */
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo } from "preact/hooks";
import { addComment } from "../actions/additions.js";
import { openFile } from "../actions/edit.js";
import { splitHunk } from "../actions/split.js";
import type { Comment } from "../context.js";
import { type Coloured, type Colourer, segments } from "../editor/colours.js";
import type { Decision } from "../editor/handle.js";
import type { Hunk } from "../engine.js";
import { countLines, hunkSummary, linesPhrase, signed, tightSpans, withoutBreak } from "../hunk-text.js";
import { userLines } from "../kept.js";
import { keyName, meantBy } from "../keys.js";
import { reveal } from "../reveal.js";
import { splitPoints } from "../split-points.js";
import { additions, options } from "../store.js";
import { CommentBox, CommentView } from "./comments.js";
import { Icon } from "./icons.js";
import { Lazy } from "./lazy.js";

export type Line = Hunk["lines"][number];

/** Lines of a long hunk that are drawn together when they come into view. */
const BLOCK_LINES = 100;
/** Height of a line in pixels, if it is not wrapped. */
const LINE_HEIGHT = 20;
/** Height of the bar and the padding of a card in pixels. */
const FRAME_HEIGHT = 40;

/** Returns the height of a card in pixels, if no line is wrapped. */
export function cardHeight(hunk: Hunk): number {
  return FRAME_HEIGHT + LINE_HEIGHT * hunk.lines.length;
}

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
  readonly onDecide: (card: HTMLElement | null, id: string, kind: Decision, selector: string) => void;
}

export function HunkCard({ hunk, path, number, total, after, shift, colour, onDecide }: CardProps) {
  // Unchanged lines that the hunk above shows already are not repeated.
  const lines = hunk.lines.filter((line) => line.kind !== "context" || (line.newNumber ?? 0) > after);
  const name = `change ${number} of ${total} in ${path}`;
  const commenting = useSignal<number | null>(null);
  const comments = additions.value.filter((each): each is Comment => each.kind === "comment" && each.hunk === hunk.id);
  const firstChanged = lines.find((line) => line.kind === "added") ?? lines.find((line) => line.kind === "removed");
  const open = (line: number): void => {
    commenting.value = line;
  };
  const close = (): void => {
    commenting.value = null;
    focusCard(hunk.id);
  };
  const splitting = useSignal(false);
  const points = useMemo(() => splitPoints(hunk), [hunk]);
  const place = useMemo(() => new Map(hunk.lines.map((line, index) => [line, index])), [hunk]);
  const canSplit = (line: Line): boolean => points.has(place.get(line) ?? -1);
  const chooseLine = (): void => {
    splitting.value = true;
  };
  // Before the next key, which chooses another line.
  useLayoutEffect(() => {
    if (splitting.value) splitButtons(cardNode(hunk.id))[0]?.focus();
  }, [splitting.value]);
  const split = async (line: Line): Promise<void> => {
    // A hidden button would lose the focus to another change.
    focusCard(hunk.id);
    splitting.value = false;
    const first = await splitHunk(hunk, place.get(line) ?? -1, path);
    await new Promise(requestAnimationFrame);
    focusCard(first ?? hunk.id);
  };
  const blocks = Array.from({ length: Math.ceil(lines.length / BLOCK_LINES) }, (_, index) => {
    return lines.slice(index * BLOCK_LINES, (index + 1) * BLOCK_LINES);
  });
  return (
    <li
      class="hunk-card"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a card takes the keys y, n and c.
      tabIndex={0}
      data-hunk={hunk.id}
      data-path={path}
      aria-label={`Change ${number} of ${total}, ${path}, ${hunkSummary(hunk)}, pending`}
      onKeyDown={(event) => {
        if (splitting.value && onSplitKey(event)) {
          event.preventDefault();
          event.stopPropagation();
          if (event.key !== "Escape") return;
          splitting.value = false;
          focusCard(hunk.id);
        }
        if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
        if (event.key === "c") open(numberOf(firstChanged));
        else if (event.key === "s" && meantBy("s") === "s" && points.size > 0) chooseLine();
        else return;
        event.preventDefault();
      }}
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
        {hunk.oversized && <span class="hunk-kept">large</span>}
        <span class="spacer" />
        {points.size > 0 && (
          <button
            class="hunk-button comment cut"
            type="button"
            aria-label={`Split ${name}`}
            aria-pressed={splitting.value}
            title="Split (S)"
            onClick={() => {
              if (splitting.value) splitting.value = false;
              else chooseLine();
            }}
          >
            <Icon name="cut" size={13} />
          </button>
        )}
        <button
          class="hunk-button comment"
          type="button"
          aria-label={`Comment on ${name}`}
          title="Comment (C)"
          onClick={() => open(numberOf(firstChanged))}
        >
          <Icon name="comment" size={13} />
          <span class="hide-phone">Comment</span>
        </button>
        <DecideButton kind="reject" name={name} hunk={hunk} onDecide={onDecide} />
        <DecideButton kind="accept" name={name} hunk={hunk} onDecide={onDecide} />
      </div>
      {splitting.value && (
        <p class="split-note" role="status">
          Choose the line that begins the second change. <span class="hide-phone">{keyName("Esc")} ends this.</span>
        </p>
      )}
      <div class={`hunk-lines${options.value.sideBySide ? " sides" : ""}${splitting.value ? " splitting" : ""}`}>
        {blocks.map((block, index) => {
          const draw = () => (
            <Block
              lines={block}
              hunk={hunk}
              shift={shift}
              colour={colour}
              comments={comments}
              onNumber={open}
              onSplit={(line) => (canSplit(line) ? () => void split(line) : null)}
              isSplitting={splitting.value}
              box={
                commenting.value !== null && block.some((line) => numberOf(line) === commenting.value)
                  ? {
                      line: commenting.value,
                      send: (note) => {
                        // An added line stands after a removed one with its number.
                        const at = lines.findLast((line) => numberOf(line) === commenting.value);
                        addComment({ path, hunk: hunk.id, line: numberOf(at), text: at?.text ?? "", note });
                        close();
                      },
                      close,
                    }
                  : null
              }
            />
          );
          if (blocks.length === 1) return draw();
          return (
            <Lazy key={index} estimate={block.length * LINE_HEIGHT} initial={index < 2}>
              {draw}
            </Lazy>
          );
        })}
        {hunk.contested && <Yours lines={hunk.yours ?? []} />}
      </div>
    </li>
  );
}

/** The number of a line that a comment names: the new one, or the old one of a removed line. */
function numberOf(line: Line | undefined): number {
  return line?.newNumber ?? line?.oldNumber ?? 0;
}

interface BlockProps {
  readonly lines: readonly Line[];
  readonly hunk: Hunk;
  readonly shift: number;
  readonly colour: Colourer | null;
  readonly comments: readonly Comment[];
  readonly onNumber: (line: number) => void;
  /** Returns the action that splits the hunk before a line, or null if it cannot be split there. */
  readonly onSplit: (line: Line) => (() => void) | null;
  /** Whether the user chooses a line, so that the Tab key reaches the buttons of all of them. */
  readonly isSplitting: boolean;
  /** The comment that the user writes, at a line of this block. */
  readonly box: { readonly line: number; readonly send: (note: string) => void; readonly close: () => void } | null;
}

/** Some lines of a hunk. Each block is coloured by itself, so that a long hunk costs only what is shown of it. */
function Block({ lines, hunk, shift, colour, comments, onNumber, onSplit, isSplitting, box }: BlockProps) {
  const colours = useMemo(() => coloursOf(lines, colour), [hunk, colour, lines.length]);
  const mine = userLines(hunk);
  const isMine = (line: Line): boolean => line.newNumber !== undefined && mine.has(line.newNumber);
  const cell = (line: Line) => (
    <LineView
      line={line}
      mine={isMine(line)}
      oldNumber={isMine(line) ? "" : oldNumber(hunk, line, shift)}
      coloured={colours.get(line) ?? []}
      onNumber={onNumber}
      onSplit={onSplit(line)}
      isSplitting={isSplitting}
    />
  );
  const below = (line: Line | undefined) => {
    const number = numberOf(line);
    return (
      <>
        {comments
          .filter((each) => each.line === number)
          .map((each) => (
            <CommentView key={each.id} comment={each} />
          ))}
        {box?.line === number && <CommentBox line={number} onSend={box.send} onClose={box.close} />}
      </>
    );
  };
  // A removed and an added line can have one number: what is said about it stands under the last of them.
  const lastOf = new Map(lines.map((line, index) => [numberOf(line), index]));
  if (!options.value.sideBySide) {
    return (
      <>
        {lines.map((line, index) => (
          <div key={index}>
            {cell(line)}
            {lastOf.get(numberOf(line)) === index && below(line)}
          </div>
        ))}
      </>
    );
  }
  return (
    <>
      {pairs(lines).map(([left, right], index) => (
        <div key={index}>
          <div class="side-row">
            {left ? cell(left) : <div class="diff-line blank" />}
            {right ? cell(right) : <div class="diff-line blank" />}
          </div>
          {below(right ?? left ?? undefined)}
        </div>
      ))}
    </>
  );
}

/** Puts each removed line beside the added line that takes its place. An unchanged line stands on both sides. */
export function pairs(lines: readonly Line[]): readonly (readonly [Line | null, Line | null])[] {
  const rows: [Line | null, Line | null][] = [];
  let open = 0;
  for (const line of lines) {
    if (line.kind === "context") {
      rows.push([line, line]);
      open = rows.length;
    } else if (line.kind === "removed") {
      if (rows.slice(open).some((row) => row[1] !== null)) open = rows.length;
      rows.push([line, null]);
    } else {
      const free = rows.findIndex((row, index) => index >= open && row[1] === null);
      if (free < 0) rows.push([null, line]);
      else rows[free]![1] = line;
    }
  }
  return rows;
}

interface LineProps {
  readonly line: Line;
  readonly mine: boolean;
  readonly oldNumber: number | string;
  readonly coloured: readonly Coloured[];
  readonly onNumber: (line: number) => void;
  readonly onSplit: (() => void) | null;
  readonly isSplitting: boolean;
}

function LineView({ line, mine, oldNumber: old, coloured, onNumber, onSplit, isSplitting }: LineProps) {
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button and the key of the card do the same.
    // biome-ignore lint/a11y/useKeyWithClickEvents: as above.
    <div
      class={`diff-line ${mine ? "mine" : line.kind}`}
      onClick={(event) => {
        if ((event.target as HTMLElement).classList.contains("line-number")) onNumber(numberOf(line));
      }}
    >
      <span class="line-number" title="Comment on this line">
        {old}
      </span>
      <span class="line-number" title="Comment on this line">
        {line.newNumber ?? ""}
      </span>
      <span class="sign" aria-hidden="true">
        {SIGNS[line.kind]}
      </span>
      <span class="visually-hidden">{mine ? "yours: " : WORDS[line.kind]}</span>
      <code>{drawn(withoutBreak(line.text), coloured, line.spans)}</code>
      {onSplit && (
        <button
          class="split-here"
          type="button"
          tabIndex={isSplitting ? 0 : -1}
          aria-label={`Split here, before the ${line.kind} line ${numberOf(line)}`}
          onClick={onSplit}
        >
          Split here
        </button>
      )}
    </div>
  );
}

function cardNode(id: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`.hunk-card[data-hunk="${CSS.escape(id)}"]`);
}

function focusCard(id: string): void {
  cardNode(id)?.focus();
}

function splitButtons(card: Element | null): readonly HTMLElement[] {
  return card ? [...card.querySelectorAll<HTMLElement>(".split-here")] : [];
}

/** Moves between the lines at which a hunk can be split. Returns whether the key belongs to their choice. */
function onSplitKey(event: KeyboardEvent): boolean {
  if (event.key === "Escape") return true;
  const direction = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (direction === 0) return false;
  const buttons = splitButtons(event.currentTarget as Element);
  const at = buttons.indexOf(event.target as HTMLElement);
  buttons[Math.min(Math.max(at + direction, 0), buttons.length - 1)]?.focus();
  return true;
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

interface DecideProps extends Pick<CardProps, "hunk" | "onDecide"> {
  readonly kind: Decision;
  readonly name: string;
}

function DecideButton({ kind, name, hunk, onDecide }: DecideProps) {
  const text = kind === "accept" ? "Accept" : "Reject";
  const onClick = (event: MouseEvent): void => {
    const card = (event.currentTarget as HTMLElement).closest<HTMLElement>(".hunk-card");
    onDecide(card, hunk.id, kind, `.hunk-button.${kind}`);
  };
  return (
    <button
      class={`hunk-button ${kind}`}
      type="button"
      aria-label={`${text} ${name}`}
      title={`${text} (${keyName(kind === "accept" ? "Y" : "N")})`}
      onClick={onClick}
    >
      {text}
    </button>
  );
}

/** Returns the number of removed lines for which the user has a line. The engine counts both as old lines. */
export function replacedLines(hunk: Hunk): number {
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
export function lastLine(hunk: Hunk | undefined): number {
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

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
