// A file of an agent in a CodeMirror editor.

import "./dom.mjs";
import assert from "node:assert/strict";
import test from "node:test";
import { history, redo, undo } from "@codemirror/commands";
import { EditorState } from "@codemirror/state";
import { EditorView, runScopeHandlers } from "@codemirror/view";
import { Agent } from "emend";
import {
  bindingOf,
  emendFile,
  hunkKeymap,
  keepHunk,
  nextHunk,
  placedHunks,
  previousHunk,
  rejectHunk,
} from "emend/codemirror";
import { scripted } from "./support.mjs";

const TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
const edits = (...pairs) =>
  pairs.map(([from, to]) => ["edit_file", { file_path: "a.txt", old_string: from, new_string: to }]);

async function editor(t, steps, options = {}, text = TEXT) {
  const agent = await Agent.create({ files: { "a.txt": text }, model: scripted(steps).model });
  const extensions = [history(), emendFile(agent, "a.txt", options), EditorView.updateListener.of(() => {})];
  const view = new EditorView({ parent: document.body, state: EditorState.create({ extensions }) });
  t.after(() => {
    view.destroy();
    agent.close();
  });
  const flush = () => bindingOf(view).flush();
  await flush();
  const doc = () => view.state.doc.toString();
  const visible = async () => (await agent.files.read("a.txt")).text;
  return { agent, view, flush, doc, visible };
}

const type = (view, from, insert, to = from) =>
  view.dispatch({
    changes: { from, to, insert },
    selection: { anchor: from + insert.length },
    userEvent: "input.type",
  });

test("the agent's edits appear as hunks, and the cursor stays where it was", async (t) => {
  const { agent, view, flush, doc } = await editor(t, [edits(["two", "2\n2b"], ["six\n", ""])]);
  assert.equal(doc(), TEXT);
  view.dispatch({ selection: { anchor: TEXT.indexOf("four") + 2 } });
  await agent.run("edit").result;
  await flush();
  assert.equal(doc(), "one\n2\n2b\nthree\nfour\nfive\nseven\n");
  assert.equal(view.state.selection.main.head, doc().indexOf("four") + 2);
  assert.deepEqual(
    placedHunks(view.state).map(({ from, to }) => [from, to]),
    [
      [4, 8],
      [25, 25],
    ],
  );
  assert.equal(view.dom.querySelectorAll(".cm-emend-added").length, 2);
  assert.deepEqual(
    [...view.dom.querySelectorAll(".cm-emend-removed")].map((lines) => lines.textContent),
    ["two", "six"],
  );
});

test("typing reaches the file as the user's, and moves the hunks", async (t) => {
  const { agent, view, flush, visible, doc } = await editor(t, [edits(["two", "2"])], { delay: 10_000 });
  await agent.run("edit").result;
  await flush();
  type(view, 0, "mine\n");
  assert.deepEqual(
    placedHunks(view.state).map(({ from, to }) => [from, to]),
    [[9, 10]],
  );
  await flush();
  assert.equal(await agent.files.readDisk("a.txt"), `mine\n${TEXT}`);
  assert.deepEqual(
    placedHunks(view.state).map(({ from }) => from),
    [9],
  );
  assert.equal(await visible(), doc());
});

test("the buttons and the commands decide on hunks", async (t) => {
  const { agent, view, flush, doc } = await editor(t, [edits(["one", "1"], ["four", "4"], ["seven", "7"])]);
  await agent.run("edit").result;
  await flush();
  assert.equal(placedHunks(view.state).length, 3);
  assert.ok(nextHunk(view));
  assert.ok(nextHunk(view));
  assert.ok(previousHunk(view));
  assert.equal(view.state.selection.main.head, 12);
  assert.ok(keepHunk(view));
  await flush();
  assert.equal(keepHunk(view), false);
  assert.equal(await agent.files.readDisk("a.txt"), TEXT.replace("four", "4"));
  view.dom.querySelector(".cm-emend-reject").click();
  await flush();
  assert.equal(doc(), TEXT.replace("four", "4").replace("seven", "7"));
  assert.ok(nextHunk(view));
  assert.ok(rejectHunk(view));
  await flush();
  assert.equal(doc(), TEXT.replace("four", "4"));
  assert.equal(view.dom.querySelector(".cm-emend-buttons"), null);
  assert.equal(nextHunk(view), false);
});

test("the keys are bound", async (t) => {
  const { keymap } = await import("@codemirror/view");
  const agent = await Agent.create({ files: { "a.txt": TEXT }, model: scripted([edits(["one", "1"])]).model });
  const extensions = [keymap.of(hunkKeymap), emendFile(agent, "a.txt")];
  const view = new EditorView({ parent: document.body, extensions });
  t.after(() => (view.destroy(), agent.close()));
  await agent.run("edit").result;
  await bindingOf(view).flush();
  const press = (key) =>
    runScopeHandlers(
      view,
      new KeyboardEvent("keydown", { key, altKey: true, code: `Key${key.toUpperCase()}` }),
      "editor",
    );
  assert.ok(press("n"));
  await bindingOf(view).flush();
  assert.equal(view.state.doc.toString(), TEXT);
});

test("the editor's undo takes back typing, never the agent's edits", async (t) => {
  const { agent, view, flush, doc } = await editor(t, [edits(["two", "2"])], { history: true });
  type(view, 0, "mine\n");
  await agent.run("edit").result;
  await flush();
  assert.ok(undo(view));
  await flush();
  assert.equal(doc(), TEXT.replace("two", "2"));
  assert.equal(undo(view), false);
  assert.ok(redo(view));
  await flush();
  assert.equal(doc(), `mine\n${TEXT.replace("two", "2")}`);
  assert.equal(placedHunks(view.state).length, 1);
});

test("with `history` a decision is a step of the editor's undo", async (t) => {
  const { agent, view, flush, doc } = await editor(t, [edits(["two", "2"])], { history: true });
  await agent.run("edit").result;
  await flush();
  for (const [decide, after] of [
    [keepHunk, TEXT.replace("two", "2")],
    [rejectHunk, TEXT],
  ]) {
    nextHunk(view);
    assert.ok(decide(view));
    await flush();
    assert.deepEqual([doc(), placedHunks(view.state).length], [after, 0]);
    assert.ok(undo(view));
    await flush();
    assert.deepEqual([doc(), placedHunks(view.state).length], [TEXT.replace("two", "2"), 1]);
    assert.ok(redo(view));
    await flush();
    assert.deepEqual([doc(), placedHunks(view.state).length], [after, 0]);
    assert.ok(undo(view));
    await flush();
  }
});

test("without `history` the editor's undo leaves decisions alone", async (t) => {
  const { agent, view, flush, doc } = await editor(t, [edits(["two", "2"])]);
  await agent.run("edit").result;
  await flush();
  nextHunk(view);
  rejectHunk(view);
  await flush();
  assert.equal(undo(view), false);
  assert.equal(doc(), TEXT);
});

test("a hunk in which the user edited is not rejected without a word", async (t) => {
  const errors = [];
  const { agent, view, flush, doc } = await editor(t, [edits(["two", "2\n2b"])], {
    onError: (error) => errors.push(error.code),
  });
  await agent.run("edit").result;
  await flush();
  type(view, doc().indexOf("2b"), "mine ");
  await flush();
  nextHunk(view);
  view.dispatch({ selection: { anchor: placedHunks(view.state)[0].from } });
  assert.ok(rejectHunk(view));
  await flush();
  assert.deepEqual(errors, ["conflict"]);
  assert.ok(doc().includes("mine 2b"));
});

test("an editor without \\n at the end, with \\r\\n in the file, and with several cursors", async (t) => {
  const { agent, view, flush, visible } = await editor(t, [edits(["c", "C"])], {}, "a\r\nb\r\nc");
  view.dispatch({
    changes: [
      { from: 1, insert: "1" },
      { from: 3, insert: "2" },
      { from: 5, insert: "\n3" },
    ],
  });
  await flush();
  assert.equal(await visible(), "a1\r\nb2\r\nc\r\n3");
  await agent.run("edit").result;
  await flush();
  assert.equal(await visible(), "a1\r\nb2\r\nC\r\n3");
});

test("an editor that is destroyed writes what was typed, and is not touched any more", async (t) => {
  const { agent, view, visible } = await editor(t, [edits(["two", "2"])], { delay: 10_000 });
  type(view, 0, "mine\n");
  const binding = bindingOf(view);
  view.destroy();
  assert.equal(binding.ended, true);
  await agent.run("edit").result;
  assert.equal(await visible(), `mine\n${TEXT.replace("two", "2")}`);
  assert.equal(view.state.doc.toString(), `mine\n${TEXT}`);
});
