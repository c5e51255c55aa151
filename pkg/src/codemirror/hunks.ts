/**
 * The pending hunks as decorations: added lines are marked, removed lines are shown above them, with buttons.
 *
 * The hunks come from the agent's review. While the user types, the marks move with the text until the next review.
 */

import {
  type EditorState,
  type Extension,
  type Range,
  RangeSet,
  StateEffect,
  StateField,
  type Text,
} from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";
import type { Hunk, HunkLine } from "../agent/types.js";
import { ButtonsWidget, RemovedWidget } from "./widgets.js";

/** A pending hunk and where it is in the document. */
export interface PlacedHunk {
  readonly hunk: Hunk;
  readonly from: number;
  readonly to: number;
}

/** Replaces the shown hunks. The document must have the text that they describe. */
export const setHunks = StateEffect.define<readonly Hunk[]>();

interface Shown {
  readonly placed: readonly PlacedHunk[];
  readonly decorations: DecorationSet;
}

const hunksField = StateField.define<Shown>({
  create: () => ({ placed: [], decorations: Decoration.none }),
  update(shown, { effects, changes, docChanged, state }) {
    for (const effect of effects) if (effect.is(setHunks)) return show(effect.value, state.doc);
    if (!docChanged) return shown;
    const placed = shown.placed.map(({ hunk, from, to }) => {
      const start = changes.mapPos(from, 1);
      return { hunk, from: start, to: Math.max(start, changes.mapPos(to, -1)) };
    });
    return { placed, decorations: shown.decorations.map(changes) };
  },
  provide: (field) => EditorView.decorations.from(field, ({ decorations }) => decorations),
});

/** Returns the pending hunks of an editor, in the order of the text. */
export function placedHunks(state: EditorState): readonly PlacedHunk[] {
  return state.field(hunksField, false)?.placed ?? [];
}

export function hunkDisplay(): Extension {
  return [hunksField, theme];
}

const added = Decoration.line({ class: "cm-emend-added" });

function show(hunks: readonly Hunk[], doc: Text): Shown {
  const ranges: Range<Decoration>[] = [];
  const placed = hunks.map((hunk) => place(hunk, doc, ranges));
  return { placed, decorations: RangeSet.of(ranges, true) };
}

/** Adds the decorations of one hunk, and returns its place. */
function place(hunk: Hunk, doc: Text, ranges: Range<Decoration>[]): PlacedHunk {
  // As in unified diffs, `newStart` of a hunk without new lines is the line before it.
  let number = hunk.newLines === 0 ? hunk.newStart + 1 : hunk.newStart;
  let start: number | undefined;
  let end = 0;
  let removed: HunkLine[] = [];
  const block = (widget: ButtonsWidget | RemovedWidget, at: number): void => {
    const isInside = at <= doc.lines;
    const position = isInside ? doc.line(at).from : doc.length;
    // The buttons stand above the removed lines.
    const side = (isInside ? -2 : 1) + (widget instanceof RemovedWidget ? 1 : 0);
    start ??= position;
    ranges.push(Decoration.widget({ widget, block: true, side }).range(position));
  };
  const showRemoved = (): void => {
    if (removed.length > 0) block(new RemovedWidget(removed), number);
    removed = [];
  };
  for (const line of hunk.lines) {
    if (line.kind === "removed") {
      if (start === undefined) block(new ButtonsWidget(hunk), number);
      removed.push(line);
      continue;
    }
    number = line.newNumber ?? number;
    if (line.kind === "added") {
      if (start === undefined) block(new ButtonsWidget(hunk), number);
      showRemoved();
      if (number <= doc.lines) {
        ranges.push(added.range(doc.line(number).from));
        end = doc.line(number).to;
      }
    } else showRemoved();
    number += 1;
  }
  showRemoved();
  if (start === undefined) block(new ButtonsWidget(hunk), number);
  const from = start ?? 0;
  return { hunk, from, to: Math.max(from, end) };
}

const theme = EditorView.baseTheme({
  "&light .cm-emend-added": { backgroundColor: "#e6f6e6" },
  "&dark .cm-emend-added": { backgroundColor: "#1d3a24" },
  "&light .cm-emend-removed": { backgroundColor: "#fbe9e9" },
  "&dark .cm-emend-removed": { backgroundColor: "#44211f" },
  ".cm-emend-removed": { display: "block", padding: "0 2px 0 6px", whiteSpace: "pre-wrap", textDecoration: "none" },
  ".cm-emend-buttons": { display: "flex", gap: "4px", padding: "2px 6px", font: "12px system-ui, sans-serif" },
  ".cm-emend-buttons button": { font: "inherit", cursor: "pointer" },
});
