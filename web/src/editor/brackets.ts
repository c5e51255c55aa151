/** Loads the marks of brackets that belong together when the cursor is first beside a bracket of a plain text. */
import type { Extension } from "@codemirror/state";
import { type EditorView, ViewPlugin } from "@codemirror/view";

const BRACKET = /[()[\]{}]/;

/** Returns the editor extension. It calls `load` once for each shown text. */
export function bracketsLater(load: () => void): Extension {
  return ViewPlugin.define((view) => {
    let isAsked = false;
    const look = ({ state }: EditorView): void => {
      if (isAsked) return;
      isAsked = state.selection.ranges.some(({ head }) =>
        BRACKET.test(state.sliceDoc(Math.max(head - 1, 0), head + 1)),
      );
      if (isAsked) load();
    };
    look(view);
    return {
      update(update) {
        if (update.selectionSet || update.docChanged) look(update.view);
      },
    };
  });
}
