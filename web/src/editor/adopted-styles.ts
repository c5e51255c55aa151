/**
 * Makes the editor add its styles as a constructed style sheet, which the page's policy allows.
 *
 * The editor's styles come from the package `style-mod`, which would add a `<style>` element to a document, and uses a
 * constructed sheet in shadow roots only. It keeps its state at the root under a symbol: the state of an object that looks
 * like a shadow root serves the document as well.
 */
import { StyleModule } from "style-mod";

export function adoptEditorStyles(): void {
  const root = { adoptedStyleSheets: [], ownerDocument: document };
  StyleModule.mount(root as unknown as ShadowRoot, []);
  const [key] = Object.getOwnPropertySymbols(root);
  if (key) Object.assign(document, { [key]: (root as unknown as Record<symbol, unknown>)[key] });
}
