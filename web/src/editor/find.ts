/** Find and replace in the open file. Loaded after the file is shown. */
import type { Extension } from "@codemirror/state";
import { keymap } from "@codemirror/view";

/** Returns the editor extension. */
export async function loadFind(): Promise<Extension> {
  const { highlightSelectionMatches, search, searchKeymap } = await import("@codemirror/search");
  return [search({ top: true }), highlightSelectionMatches(), keymap.of(searchKeymap)];
}
