// Outlines: one module for each language, which the first outline loads, and the tool for agents.

import assert from "node:assert/strict";
import fs, { readFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import test from "node:test";
import { collect, results, scripted } from "./support.mjs";

const reads = [];
const { readFile: reading } = fs;
fs.readFile = (path, ...rest) => {
  const name = String(path).replace(/^.*\//, "");
  if (name.endsWith(".wasm")) reads.push(name);
  return reading(path, ...rest);
};
syncBuiltinESMExports();

const { Agent, isEmendError } = await import("emend");
const { languageOf, loadGrammar, outlineOf, outlineTool } = await import("emend/outline");

// Texts of all languages, whole and damaged, with their outlines. Tests of the crate read the same file.
const SAMPLES = JSON.parse(
  await readFile(new URL("../../crates/emend-outline/src/tests/samples.json", import.meta.url), "utf8"),
);
const LANGUAGES = ["c", "cpp", "go", "java", "javascript", "python", "rust", "tsx", "typescript"];

const lines = ({ symbols }) =>
  symbols.map(
    ({ depth, firstLine, lastLine, kind, name }) => `${"  ".repeat(depth)}${firstLine}-${lastLine} ${kind} ${name}`,
  );

test("only the grammar of a language is loaded, by its first outline and once", async () => {
  assert.deepEqual(reads, []);
  assert.deepEqual(lines(await outlineOf("src/a.go", "package a\nfunc f() {}\n")), ["2-2 fn f"]);
  await Promise.all([outlineOf("b.GO", ""), outlineOf("c.go", "")]);
  assert.deepEqual(reads, ["outline-go.wasm"]);
});

test("a grammar that cannot be loaded is an error, and a later call can load it", async () => {
  await assert.rejects(loadGrammar("java", { wasm: new Uint8Array(8) }), { code: "load_failed" });
  await assert.rejects(loadGrammar("cobol"), { code: "invalid_argument" });
  await loadGrammar("java", { wasm: await readFile(new URL(import.meta.resolve("emend/outline-java.wasm"))) });
  assert.deepEqual(lines(await outlineOf("A.java", "class A {}\n")), ["1-1 class A"]);
});

test("outlines are those of the native program in every language", async () => {
  for (const { path, text, outline } of SAMPLES) {
    assert.deepEqual(lines(await outlineOf(path, text)), outline, `${path}: ${text}`);
  }
  assert.deepEqual([...new Set(SAMPLES.map(({ path }) => languageOf(path)))].sort(), LANGUAGES);
});

test("limits hold, and a text that no limit fits is an error that names the reason", async () => {
  const text = "fn a() {}\n".repeat(10);
  assert.deepEqual(await outlineOf("a.rs", text, { symbolsMax: 10 }).then(({ truncated }) => truncated), false);
  const some = await outlineOf("a.rs", text, { symbolsMax: 9 });
  assert.deepEqual([some.symbols.length, some.truncated], [9, true]);
  await assert.rejects(outlineOf("a.rs", text, { bytesMax: 99 }), { code: "unsupported" });
  await assert.rejects(outlineOf("é.rs", "é".repeat(50), { bytesMax: 99 }), { code: "unsupported" });
  await assert.rejects(outlineOf("a.rs", text, { msMax: 0 }), { code: "timeout" });
  await assert.rejects(outlineOf("a.txt", text), { code: "unsupported" });
  await assert.rejects(outlineOf("a.rs", text, { max: 1 }), { code: "invalid_argument" });
  await assert.rejects(outlineOf(1, text), { code: "invalid_argument" });
});

test("a text that overflows the stack of the parser is an error, and the next outline is right", async () => {
  const found = await outlineOf("a.js", "{ a: ".repeat(200_000), { msMax: 60_000 }).catch((error) => error);
  assert.ok(Array.isArray(found.symbols) || isEmendError(found, "unsupported"), String(found));
  assert.deepEqual(lines(await outlineOf("a.js", "function f() {}\n")), ["1-1 fn f"]);
});

const PROJECT = {
  "src/lib.rs": "mod shapes;\npub fn area_of_all() {}\nstruct Parser;\nimpl Parser {\n    fn parse(&self) {}\n}\n",
  "src/shapes.go": "package shapes\nfunc (s *Square) Area() int { return 0 }\n// area is only mentioned here\n",
  "include/shapes.h": "int area(void);\n",
  "shapes.c": "int area(void) { return 1; }\n",
  "secrets/area.py": "def area(): pass\n",
  "notes.md": "area\n",
  "large.rs": "// x\n".repeat(300_000),
};

/** Calls the tool as an agent of a model does, and returns the text of each result. */
async function called(t, calls, options) {
  const { model, requests } = scripted([calls.map((args) => ["outline", args])]);
  const agent = await Agent.create({
    files: PROJECT,
    model,
    tools: [outlineTool(() => agent.files, options)],
    policy: [{ action: "deny", tool: "*", pattern: "secrets/**" }],
  });
  t.after(() => agent.close());
  await collect(agent.run("outline"));
  return results(requests[1]);
}

test("the tool shows the definitions of a file and finds those of a name, as the native tool does", async (t) => {
  const hides = (path) => path.startsWith("secrets/");
  const calls = [
    [{ file_path: "src/lib.rs", symbol: "parse" }, "3-3 struct Parser\n4-6 impl Parser\n  5-5 fn parse"],
    [{ file_path: "src/lib.rs", symbol: "x" }, "src/lib.rs has no definitions of this name."],
    [{ symbol: "area" }, "shapes.c:1-1 fn area\nsrc/shapes.go:2-2 fn Square.Area\nsrc/lib.rs:2-2 fn area_of_all"],
    [{ symbol: "Square.Ar" }, "src/shapes.go:2-2 fn Square.Area"],
    [{ symbol: "rea" }, "The project has no definition whose name begins with rea."],
    [{}, "Give file_path or symbol."],
    [{ symbol: "a b" }, '"a b" is not a name. Give one without spaces and operators.'],
    [{ file_path: "notes.md" }, "The ending of notes.md is not that of a known language. Search it with grep."],
    [{ file_path: "large.rs" }, "large.rs has no outline: the text has more than 1048576 bytes. Search it with grep."],
  ];
  const texts = await called(
    t,
    calls.map(([args]) => args),
    { hides },
  );
  assert.equal(texts.length, calls.length);
  for (const [at, [args, expected]] of calls.entries()) {
    assert.ok(texts[at].includes(expected), `${JSON.stringify(args)}: ${texts[at]}`);
  }
  assert.ok(!texts.join().includes("secrets"));
});

test("the model is told what the native tool tells", async () => {
  const expected = JSON.parse(await readFile(new URL("outline-tool.json", import.meta.url), "utf8"));
  const { name, description, parameters } = outlineTool(() => ({}));
  assert.deepEqual({ name, description, parameters }, expected);
  assert.throws(() => outlineTool({}), { code: "invalid_argument" });
});

test("a rule for paths applies to the file of a call", async (t) => {
  const [refused, found] = await called(t, [{ file_path: "secrets/area.py" }, { symbol: "area" }], {});
  assert.ok(!refused.includes("fn area"), refused);
  assert.ok(found.includes("secrets/area.py:1-1 fn area"), "without `hides` a search shows all files of the user");
});
