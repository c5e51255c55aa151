/** Find and replace in the open file. Its code is loaded by the first key or selection that needs it. */
import { Compartment, type Extension } from "@codemirror/state";
import { type Command, EditorView, keymap } from "@codemirror/view";
import { holdKeys } from "../held-keys.js";

type Search = typeof import("@codemirror/search");
type Name =
  | "openSearchPanel"
  | "findNext"
  | "findPrevious"
  | "selectSelectionMatches"
  | "gotoLine"
  | "selectNextOccurrence";

/** The keys of `searchKeymap` that work without its panel. */
const KEYS: readonly { readonly key: string; readonly run: Name; readonly shift?: Name }[] = [
  { key: "Mod-f", run: "openSearchPanel" },
  { key: "F3", run: "findNext", shift: "findPrevious" },
  { key: "Mod-g", run: "findNext", shift: "findPrevious" },
  { key: "Mod-Shift-l", run: "selectSelectionMatches" },
  { key: "Mod-Alt-g", run: "gotoLine" },
  { key: "Mod-d", run: "selectNextOccurrence" },
];

/** Returns the editor extension. `failed` gets the error of a module that cannot be loaded. */
export function findLater(failed: (error: unknown) => void): Extension {
  const slot = new Compartment();
  let loading: Promise<Search> | null = null;
  const load = (view: EditorView): Promise<Search> => {
    loading ??= import("@codemirror/search").then(
      (found) => {
        // The view may show another file now. This file then has the extension when it next needs it.
        if (slot.get(view.state)) view.dispatch({ effects: slot.reconfigure(extensionOf(found)) });
        else loading = null;
        return found;
      },
      (error: unknown) => {
        loading = null;
        throw error;
      },
    );
    return loading;
  };
  const command =
    (name: Name): Command =>
    (view) => {
      let isDone = false;
      const end = (): void => {
        isDone = true;
      };
      const done = load(view).then((search) => isDone || search[name](view), failed);
      void done.finally(end);
      holdKeys(() => isDone, end);
      return true;
    };
  const keys = KEYS.map(({ key, run, shift }) => ({
    key,
    run: command(run),
    ...(shift && { shift: command(shift) }),
    preventDefault: true,
  }));
  const selected = EditorView.updateListener.of(({ selectionSet, state, view }) => {
    // Other places with the selected text are marked.
    if (selectionSet && !state.selection.main.empty) load(view).catch(() => undefined);
  });
  return slot.of([keymap.of(keys), selected]);
}

function extensionOf({ highlightSelectionMatches, search, searchKeymap }: Search): Extension {
  return [search({ top: true }), highlightSelectionMatches(), keymap.of(searchKeymap)];
}
