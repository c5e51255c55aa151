/** The binding of an editor, for its commands and buttons. */

import { Facet } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import type { Binding } from "../bind/binding.js";
import type { EmendError } from "../errors.js";

/** The objects on which the commands of an editor act. */
export interface Connection {
  /** Returns the binding of a view; undefined before it exists. */
  readonly binding: (view: EditorView) => Binding | undefined;
  readonly failed: (error: EmendError) => void;
}

export const connection = Facet.define<Connection, Connection | undefined>({ combine: (given) => given[0] });

/** Returns the binding of an editor, e.g. to flush it or to undo a decision; undefined without {@link emendFile}. */
export function bindingOf(view: EditorView): Binding | undefined {
  return view.state.facet(connection)?.binding(view);
}

/** Decides on a hunk of the editor. */
export function decide(view: EditorView, decision: "keep" | "reject", id: string): void {
  const decided = decision === "keep" ? bindingOf(view)?.accept([id]) : bindingOf(view)?.reject([id]);
  decided?.catch((error) => view.state.facet(connection)?.failed(error));
}
