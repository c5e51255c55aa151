// Without a language the commands of the editor do the same as with the real functions.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as real from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import * as late from "../src/editor/late-language.js";

const TEXTS = ["", "a", "  a\n\tb\n\n    c d", "f() {\n  g[1]\n}\n", "\t\t  x\n y"];

/** Calls `check` with each text and each position in it. */
function each(check: (state: EditorState, position: number) => void): void {
  for (const doc of TEXTS) {
    const state = EditorState.create({ doc });
    for (let position = 0; position <= doc.length; position++) check(state, position);
  }
}

test("a text without a language is indented as with the real functions", () => {
  each((state, position) => {
    const options = { simulateBreak: position, simulateDoubleBreak: true };
    const own = new (late.IndentContext as unknown as typeof real.IndentContext)(state, options);
    const other = new real.IndentContext(state, options);
    assert.equal(late.getIndentation(own, position), real.getIndentation(other, position));
    const { from } = state.doc.lineAt(position);
    // The line of a double break at its start is not asked for: it has no bracket before it.
    if (position > from)
      assert.equal(own.lineIndent(from, -1), other.lineIndent(from, -1), `${state.doc}: ${position}`);
    assert.equal(late.indentString(state, position), real.indentString(state, position));
    assert.equal(late.getIndentUnit(), real.getIndentUnit(state));
    assert.equal(state.facet(late.indentUnit), state.facet(real.indentUnit));
  });
});

test("a text without a language has the root of the real empty tree at every position", () => {
  type Tree = ReturnType<typeof real.syntaxTree>;
  each((state, position) => {
    const [own, other] = [late.syntaxTree(state) as Tree, real.syntaxTree(state)];
    const [at, otherAt] = [own.resolveInner(position), other.resolveInner(position)];
    const known = ({ from, to }: typeof at) => ({ from, to });
    assert.equal(own.length, other.length);
    assert.deepEqual(known(at), known(otherAt));
    assert.deepEqual([at.childBefore(position), at.childAfter(position)], [null, null]);
    assert.deepEqual([otherAt.childBefore(position), otherAt.childAfter(position)], [null, null]);
    const [stack, otherStack] = [own.resolveStack(position), other.resolveStack(position)];
    assert.deepEqual([known(stack.node), stack.next], [known(otherStack.node), otherStack.next]);
  });
});

test("the real functions are used once there are languages", () => {
  const state = EditorState.create({ doc: "(a)" });
  assert.equal(late.matchBrackets(state, 0, 1), null);
  late.useLanguages({ ...real, NodeProp: { closedBy: 1, openedBy: 2 } as never });
  assert.deepEqual(late.matchBrackets(state, 0, 1)?.end, { from: 2, to: 3 });
  assert.deepEqual([late.NodeProp.closedBy, late.NodeProp.openedBy], [1, 2]);
  assert.equal(late.syntaxTree(state), real.syntaxTree(state));
});
