/**
 * A file of an agent in a Monaco editor.
 *
 * Undo is the agent's own: Monaco's undo cannot skip the edits of others, and would take back the agent's edit instead of
 * the user's last one.
 */

import type { Agent } from "emend";
import { type Binding, bindBuffer } from "emend/bind";
import type { editor, IRange } from "monaco-editor";

/** Binds a model to a file, and marks the lines that the agent's pending hunks add. */
export function bindModel(agent: Agent, path: string, model: editor.ITextModel): Binding {
  let marks: string[] = [];
  // The file keeps its own line endings; positions in the model count `\n`.
  model.setEOL(0);
  const binding = bindBuffer(agent, path, {
    read: () => model.getValue(),
    apply: ({ changes }) => {
      model.applyEdits(changes.map(({ from, to, insert }) => ({ range: rangeOf(model, from, to), text: insert })));
    },
    onChange: (report) => {
      const listener = model.onDidChangeContent(({ changes }) =>
        report(
          changes.map(({ rangeOffset, rangeLength, text }) => ({
            from: rangeOffset,
            to: rangeOffset + rangeLength,
            insert: text,
          })),
        ),
      );
      return () => listener.dispose();
    },
    onSync: () => {
      const added = binding.hunks().flatMap(({ lines }) => lines.filter(({ kind }) => kind === "added"));
      const decorations = added.map(({ newNumber = 1 }) => ({
        range: { startLineNumber: newNumber, startColumn: 1, endLineNumber: newNumber, endColumn: 1 },
        options: { description: "emend-added", isWholeLine: true, className: "emend-added" },
      }));
      marks = model.deltaDecorations(marks, decorations);
    },
    onEnd: () => {
      if (!model.isDisposed()) marks = model.deltaDecorations(marks, []);
    },
  });
  model.onWillDispose(() => void binding.detach());
  return binding;
}

/** Lets the keys for undo and redo of an editor take back the user's last edit or decision. */
export function bindUndoKeys(editor: editor.IStandaloneCodeEditor, binding: Binding): void {
  // There may be nothing to undo.
  const ignore = (): void => {};
  const keys = { ctrlZ: 2048 | 56, ctrlShiftZ: 2048 | 1024 | 56, ctrlY: 2048 | 55 };
  editor.addCommand(keys.ctrlZ, () => void binding.undo().catch(ignore));
  editor.addCommand(keys.ctrlShiftZ, () => void binding.redo().catch(ignore));
  editor.addCommand(keys.ctrlY, () => void binding.redo().catch(ignore));
}

function rangeOf(model: editor.ITextModel, from: number, to: number): IRange {
  const [start, end] = [model.getPositionAt(from), model.getPositionAt(to)];
  return {
    startLineNumber: start.lineNumber,
    startColumn: start.column,
    endLineNumber: end.lineNumber,
    endColumn: end.column,
  };
}
