/**
 * Shows pending hunks in the text: added lines are marked, removed lines are shown above them, with Accept and Reject.
 *
 * The hunks come from the engine's review. While the user types, the marks move with the text until the next review
 * arrives. The controls are buttons in document order, so the Tab key reaches them.
 */
import { type EditorState, type Range, RangeSet, StateEffect, StateField, type Text } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";
import type { Hunk } from "../engine.js";
import { tightSpans } from "../hunk-text.js";
import { userLines } from "../kept.js";
import { ControlsWidget, type HunkActions, hunkActions, RemovedWidget } from "./hunk-widgets.js";

/** Replaces the shown hunks. They must be pending and in the order of the text. */
export const setHunks = StateEffect.define<readonly Hunk[]>();

/** A hunk and its current position in the text. */
export interface PlacedHunk {
  readonly hunk: Hunk;
  readonly from: number;
  readonly to: number;
}

interface Shown {
  readonly placed: readonly PlacedHunk[];
  readonly decorations: DecorationSet;
}

const NOTHING: Shown = { placed: [], decorations: Decoration.none };

const shownHunks = StateField.define<Shown>({
  create: () => NOTHING,
  update(shown, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setHunks)) return show(effect.value, transaction.state.doc);
    }
    if (!transaction.docChanged) return shown;
    const { changes, newDoc } = transaction;
    const placed = shown.placed.map(({ hunk, from, to }) => {
      const start = changes.mapPos(from, 1);
      // Text that is typed at the end of the last line belongs to the hunk. New lines after it do not.
      const end = Math.min(changes.mapPos(to, 1), newDoc.lineAt(changes.mapPos(to, -1)).to);
      return { hunk, from: start, to: Math.max(start, end) };
    });
    return { placed, decorations: shown.decorations.map(changes) };
  },
  provide: (field) => EditorView.decorations.from(field, (shown) => shown.decorations),
});

/** Returns the editor extension. */
export function hunkDisplay(actions: HunkActions) {
  return [shownHunks, hunkActions.of(actions)];
}

/** Returns the shown hunks in the order of the text. */
export function placedHunks(state: EditorState): readonly PlacedHunk[] {
  return state.field(shownHunks, false)?.placed ?? [];
}

/** Returns the index of the hunk at the cursor, or -1. */
export function hunkAtCursor(state: EditorState): number {
  const head = state.selection.main.head;
  return placedHunks(state).findIndex(({ from, to }) => from <= head && head <= to);
}

/** Returns the index of the next hunk from the cursor in `direction`, or -1 if there is none in the file. */
export function neighbourHunk(state: EditorState, direction: 1 | -1): number {
  const placed = placedHunks(state);
  const at = hunkAtCursor(state);
  if (at >= 0) return at + direction < placed.length ? at + direction : -1;
  const head = state.selection.main.head;
  return direction === 1 ? placed.findIndex(({ from }) => from > head) : placed.findLastIndex(({ to }) => to < head);
}

const addedLine = Decoration.line({ class: "cm-added-line" });
const userLine = Decoration.line({ class: "cm-user-line", attributes: { title: "You edited this line" } });
const addedText = Decoration.mark({ class: "cm-added-text" });

function show(hunks: readonly Hunk[], doc: Text): Shown {
  const ranges: Range<Decoration>[] = [];
  const placed = hunks.map((hunk, index) => place(hunk, index, hunks.length, doc, ranges));
  return { placed, decorations: RangeSet.of(ranges, true) };
}

/** Adds the decorations of one hunk, and returns its position. */
function place(hunk: Hunk, index: number, total: number, doc: Text, ranges: Range<Decoration>[]): PlacedHunk {
  // As in unified diffs, `newStart` of a hunk without new lines is the line before it.
  let number = hunk.newLines === 0 ? hunk.newStart + 1 : hunk.newStart;
  let removed: Hunk["lines"][number][] = [];
  let anchor: Seam | null = null;
  let to = 0;
  const flushRemoved = (): void => {
    if (removed.length === 0) return;
    const { position, side } = seam(doc, number);
    ranges.push(Decoration.widget({ widget: new RemovedWidget(removed), block: true, side }).range(position));
    removed = [];
  };
  for (const line of hunk.lines) {
    if (line.kind !== "context") anchor ??= seam(doc, line.newNumber ?? number);
    if (line.kind === "removed") {
      removed.push(line);
      continue;
    }
    number = line.newNumber ?? number;
    flushRemoved();
    if (line.kind === "added") to = markAdded(line, number, doc, ranges);
    number += 1;
  }
  flushRemoved();
  for (const mine of userLines(hunk)) {
    if (mine > doc.lines) continue;
    ranges.push(userLine.range(doc.line(mine).from));
    to = Math.max(to, doc.line(mine).to);
  }
  const { position, side } = anchor ?? seam(doc, number);
  const controls = new ControlsWidget(hunk, index + 1, total);
  ranges.push(Decoration.widget({ widget: controls, block: true, side: side - 1 }).range(position));
  return { hunk, from: position, to: Math.max(position, to) };
}

/** Marks an added line and its new words. Returns the end of the line. */
function markAdded(line: Hunk["lines"][number], number: number, doc: Text, ranges: Range<Decoration>[]): number {
  if (number > doc.lines) return 0;
  const { from, to } = doc.line(number);
  ranges.push(addedLine.range(from));
  for (const [start, end] of tightSpans(line.text, line.spans)) {
    if (from + start < Math.min(from + end, to)) ranges.push(addedText.range(from + start, Math.min(from + end, to)));
  }
  return to;
}

interface Seam {
  readonly position: number;
  readonly side: number;
}

/** Returns the position of a block before line `number`, or after the last line if there is no such line. */
function seam(doc: Text, number: number): Seam {
  return number <= doc.lines ? { position: doc.line(number).from, side: -1 } : { position: doc.length, side: 2 };
}
