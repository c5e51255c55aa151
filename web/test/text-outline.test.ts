import assert from "node:assert/strict";
import { test } from "node:test";
import { textOutline } from "../src/text-outline.js";

const shown = async (path: string, text: string) =>
  (await textOutline(path, text))?.map(
    ({ name, kind, firstLine, lastLine, depth }) => `${"-".repeat(depth)}${name} ${kind} ${firstLine}-${lastLine}`,
  ) ?? null;

test("headings of Markdown are symbols, below the heading of the next higher level", async () => {
  const text = "Title\n=====\n\n```\n# in code\n```\n\n## Part `one` ##\n\n#### Deep\n\n### Less deep\n# Second\n#\n";
  const expected = [
    "Title h1 1-2",
    "-Part `one` h2 8-8",
    "--Deep h4 10-10",
    "--Less deep h3 12-12",
    "Second h1 13-13",
    "(no text) h1 14-14",
  ];
  assert.deepEqual(await shown("docs/A.MD", text), expected);
  assert.deepEqual(await shown("a.markdown", text.replaceAll("\n", "\r\n")), expected);
});

test("keys of JSON are symbols to a depth of three, also in a damaged text", async () => {
  const text = '{\n  "name": "x",\n  "outer": {\n    "inner \\"q\\"": [{ "deep": { "deeper": 1 } }]\n  }\n}\n';
  const expected = ["name key 2-2", "outer key 3-5", '-inner "q" key 4-4', "--deep key 4-4"];
  assert.deepEqual(await shown("a.json", text), expected);
  assert.deepEqual(await shown("a.json", '{ "a": {\r "b": 1'), ["a key 1-2", "-b key 2-2"]);
  assert.deepEqual(await shown("a.json", ""), []);
});

test("other files have no symbols of this kind", async () => {
  for (const path of ["a.txt", "md", "a.json5", "a.rs"]) assert.equal(await shown(path, "# x"), null);
});
