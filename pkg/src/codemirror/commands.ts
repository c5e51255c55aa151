/** Commands of the editor: keep or reject hunks, and move between them. */

import type { EditorState } from "@codemirror/state";
import { type Command, EditorView, type KeyBinding } from "@codemirror/view";
import { decide } from "./connection.js";
import { type PlacedHunk, placedHunks } from "./hunks.js";

/** Keeps the hunk at the cursor. */
export const keepHunk: Command = (view) => decideHere(view, "keep");

/** Rejects the hunk at the cursor. */
export const rejectHunk: Command = (view) => decideHere(view, "reject");

/** Moves the cursor to the next hunk, after the last one to the first. */
export const nextHunk: Command = (view) => {
  const { head } = view.state.selection.main;
  const placed = placedHunks(view.state);
  return goTo(view, placed.find(({ from }) => from > head) ?? placed[0]);
};

/** Moves the cursor to the previous hunk, before the first one to the last. */
export const previousHunk: Command = (view) => {
  const { head } = view.state.selection.main;
  const placed = placedHunks(view.state);
  return goTo(view, placed.filter(({ to }) => to < head).at(-1) ?? placed.at(-1));
};

/** Keys for the commands: Alt with Y, N, J and K, on a Mac with Control, too. */
export const hunkKeymap: readonly KeyBinding[] = [
  { key: "Alt-y", mac: "Ctrl-Alt-y", run: keepHunk },
  { key: "Alt-n", mac: "Ctrl-Alt-n", run: rejectHunk },
  { key: "Alt-j", mac: "Ctrl-Alt-j", run: nextHunk },
  { key: "Alt-k", mac: "Ctrl-Alt-k", run: previousHunk },
];

function decideHere(view: EditorView, decision: "keep" | "reject"): boolean {
  const hunk = hunkAt(view.state);
  if (hunk !== undefined) decide(view, decision, hunk.hunk.id);
  return hunk !== undefined;
}

function hunkAt(state: EditorState): PlacedHunk | undefined {
  const { head } = state.selection.main;
  return placedHunks(state).find(({ from, to }) => from <= head && head <= to);
}

function goTo(view: EditorView, place: PlacedHunk | undefined): boolean {
  if (place === undefined) return false;
  view.dispatch({
    selection: { anchor: place.from },
    effects: EditorView.scrollIntoView(place.from, { y: "center" }),
    userEvent: "select",
  });
  return true;
}
