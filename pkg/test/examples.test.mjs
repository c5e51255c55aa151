// The examples: those with other editors compile as strict TypeScript and work with the real libraries.

import "./style-sheets.mjs";
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, before } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { Agent } from "emend";
import { window } from "./dom.mjs";
import { scripted } from "./support.mjs";

let folder;
before(async () => {
  folder = await mkdtemp(join(import.meta.dirname, "examples-"));
  await cp(join(import.meta.dirname, "examples"), folder, { recursive: true });
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  const tsc = createRequire(import.meta.url)
    .resolve("typescript/package.json")
    .replace("package.json", "bin/tsc");
  const { stdout } = await promisify(execFile)(process.execPath, [tsc, "-p", folder]).catch((error) => error);
  assert.equal(stdout, "");
});
after(() => rm(folder, { recursive: true }));
const built = (name) => import(pathToFileURL(join(folder, "built", `${name}.js`)).href);

const TEXT = "one\r\ntwo\r\nthree\r\n";
const EDIT = [["edit_file", { file_path: "a.txt", old_string: "two", new_string: "2\n2b" }]];

async function agentFor(t) {
  const agent = await Agent.create({ files: { "a.txt": TEXT }, model: scripted([EDIT]).model });
  t.after(() => agent.close());
  return agent;
}

test("Monaco: typing and the agent's edits meet in the model", async (t) => {
  const agent = await agentFor(t);
  const monaco = await import("monaco-editor/editor/editor.api.js");
  const { bindModel } = await built("monaco");
  const model = monaco.editor.createModel("", "plaintext");
  const binding = bindModel(agent, "a.txt", model);
  await binding.flush();
  assert.equal(model.getValue(), "one\ntwo\nthree\n");
  const range = (line) => ({ startLineNumber: line, startColumn: 1, endLineNumber: line, endColumn: 1 });
  model.pushEditOperations(
    [],
    [1, 3].map((line) => ({ range: range(line), text: "mine\n" })),
    () => null,
  );
  await agent.run("edit").result;
  await binding.flush();
  assert.equal(model.getValue(), "mine\none\n2\n2b\nmine\nthree\n");
  assert.deepEqual(
    model.getAllDecorations().map((mark) => mark.range.startLineNumber),
    [3, 4],
  );
  await binding.rejectAll();
  assert.equal(await agent.files.readDisk("a.txt"), "mine\r\none\r\ntwo\r\nmine\r\nthree\r\n");
  assert.equal(model.getAllDecorations().length, 0);
  await binding.undo();
  await binding.undo();
  assert.equal(model.getValue(), "one\n2\n2b\nthree\n");
  model.dispose();
  assert.equal(binding.ended, true);
});

test("ProseMirror: typing and the agent's edits meet in the document, and undo takes back typing only", async (t) => {
  const agent = await agentFor(t);
  const { Schema } = await import("prosemirror-model");
  const { EditorState } = await import("prosemirror-state");
  const { EditorView } = await import("prosemirror-view");
  const { history, undo } = await import("prosemirror-history");
  const { bindingOf, filePlugin, textOf } = await built("prosemirror");
  const schema = new Schema({
    nodes: { doc: { content: "paragraph+" }, paragraph: { content: "text*", toDOM: () => ["p", 0] }, text: {} },
  });
  const state = EditorState.create({ schema, plugins: [history(), filePlugin(agent, "a.txt")] });
  const view = new EditorView(window.document.body.appendChild(window.document.createElement("div")), { state });
  const binding = bindingOf(view);
  await binding.flush();
  assert.equal(textOf(view.state.doc), "one\ntwo\nthree\n");
  assert.equal(view.state.doc.childCount, 4);
  view.dispatch(view.state.tr.insertText(" mine", 4));
  view.dispatch(view.state.tr.split(9).insertText("also mine", 11));
  await binding.flush();
  assert.equal(await agent.files.readDisk("a.txt"), "one mine\r\nalso mine\r\ntwo\r\nthree\r\n");
  await agent.run("edit").result;
  await binding.flush();
  assert.equal(textOf(view.state.doc), "one mine\nalso mine\n2\n2b\nthree\n");
  while (undo(view.state, view.dispatch.bind(view)));
  assert.equal(textOf(view.state.doc), "one\n2\n2b\nthree\n");
  await binding.rejectAll();
  assert.equal(await agent.files.readDisk("a.txt"), TEXT);
  view.destroy();
  assert.equal(binding.ended, true);
});

test("the Node script shows the changes, and writes them if it is told to", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "emend-example-"));
  t.after(() => rm(directory, { recursive: true }));
  await writeFile(join(directory, "shop.js"), "export const price = 1;\n");
  await writeFile(join(directory, "other.js"), "export const other = 2;\n");
  const script = join(import.meta.dirname, "examples/rename.mjs");
  const run = (...args) => promisify(execFile)(process.execPath, [script, directory, ...args]);
  const { stdout } = await run("price", "cost");
  assert.match(stdout, /^-export const price = 1;\n\+export const cost = 1;\n/m);
  assert.equal(await readFile(join(directory, "shop.js"), "utf8"), "export const price = 1;\n");
  await run("price", "cost", "--write");
  assert.equal(await readFile(join(directory, "shop.js"), "utf8"), "export const cost = 1;\n");
  await assert.rejects(run("price"), ({ code, stderr }) => code === 2 && stderr.startsWith("usage:"));
});
