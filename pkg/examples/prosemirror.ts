/**
 * A file of an agent in a ProseMirror editor whose document consists of paragraphs of plain text: one for each line.
 *
 * An editor of Markdown or another format does the same with its own functions in place of `textOf` and `changed`.
 */

import type { Agent } from "emend";
import { type Binding, bindBuffer, type TextChange } from "emend/bind";
import { Fragment, type Node, type Schema, Slice } from "prosemirror-model";
import { Plugin, type Transaction } from "prosemirror-state";
import type { EditorView } from "prosemirror-view";

const bindings = new WeakMap<EditorView, Binding>();

/** Returns the binding of an editor with {@link filePlugin}. */
export function bindingOf(view: EditorView): Binding | undefined {
  return bindings.get(view);
}

/** The plugin that binds an editor to a file. The edits of the agent stay out of the editor's undo history. */
export function filePlugin(agent: Agent, path: string): Plugin {
  return new Plugin({
    view(view) {
      let report = (): void => {};
      const binding = bindBuffer(agent, path, {
        read: () => textOf(view.state.doc),
        apply: ({ changes }) => view.dispatch(changed(view.state.tr, changes).setMeta("addToHistory", false)),
        onChange(own) {
          // Comparing the texts after each step of the user shows exactly what it changed.
          report = own;
          return () => {
            report = () => {};
          };
        },
      });
      bindings.set(view, binding);
      return {
        update(_, before) {
          if (!view.state.doc.eq(before.doc)) report();
        },
        destroy: () => void binding.detach(),
      };
    },
  });
}

/** The text of a document: each paragraph is a line. */
export function textOf(doc: Node): string {
  return doc.textBetween(0, doc.content.size, "\n");
}

/** Adds changes of the text to a transaction. */
export function changed(transaction: Transaction, changes: readonly TextChange[]): Transaction {
  const text = textOf(transaction.doc);
  // From the last one on, so that the positions of those before it stay right.
  for (const { from, to, insert } of [...changes].reverse()) {
    const slice = new Slice(linesOf(transaction.doc.type.schema, insert), 1, 1);
    transaction.replace(positionOf(text, from), positionOf(text, to), slice);
  }
  return transaction;
}

/** The position of a character: each paragraph before it adds its end and the next one's beginning. */
function positionOf(text: string, at: number): number {
  return at + text.slice(0, at).split("\n").length;
}

function linesOf(schema: Schema, text: string): Fragment {
  const { paragraph } = schema.nodes;
  if (paragraph === undefined) throw new Error("the schema has no paragraphs");
  return Fragment.from(text.split("\n").map((line) => paragraph.create(null, line === "" ? null : schema.text(line))));
}
