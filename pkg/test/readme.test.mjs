// Runs the README's examples. Names that an example takes from elsewhere are declared before it.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";

/** Runs the first example of the README that begins with a text, in a directory, between `first` and `more`. */
async function runExample(t, begins, directory = process.cwd(), more = "", first = "", edited = (text) => text) {
  const readme = await readFile(new URL("README.md", import.meta.resolve("emend/package.json")), "utf8");
  const start = readme.indexOf(`\`\`\`js\n${begins}`) + 6;
  const example = readme.slice(start, readme.indexOf("```", start));
  const file = join(import.meta.dirname, `readme-example-${example.length}.mjs`);
  t.after(() => rm(file));
  await writeFile(file, first + edited(example) + more);
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], { cwd: directory });
  assert.equal(stderr, "");
  return stdout;
}

test("the first example edits a file in ten lines at most", async (t) => {
  const stdout = await runExample(t, "import { Agent }");
  assert.ok(stdout.startsWith("Renamed price to cost: 1 place in 1 file."), stdout);
  assert.match(stdout, /^-export const price = /m);
  assert.ok(stdout.endsWith("\nexport const cost = (item) => item.cents;\n\n"), stdout);
  const readme = await readFile(new URL("README.md", import.meta.resolve("emend/package.json")), "utf8");
  const lines = /```js\n([\s\S]*?)```/.exec(readme)[1].trim().split("\n");
  assert.ok(lines.length <= 10, `${lines.length} lines`);
});

test("the first screen names what users of agents ask for most", async () => {
  const readme = await readFile(new URL("README.md", import.meta.resolve("emend/package.json")), "utf8");
  const screen = readme.split("\n").slice(0, 48).join("\n");
  for (const [promise, ...terms] of [
    ["Take part of a change", "hunk", "user's"],
    ["Edits apply exactly or not at all", "refused", "patch"],
    ["Uncommitted work stays", "accepted", "git", "undone"],
    ["Few questions", "always", "reason"],
    ["A run ends", "signal", "five minutes", "maxDurationMs"],
    ["Your page stays calm", "small changes", "cursor"],
  ]) {
    const line = screen.split("\n- ").find((item) => item.startsWith(`**${promise}.**`));
    assert.ok(line !== undefined, promise);
    for (const term of terms) assert.ok(line.includes(term), `${promise}: ${term}`);
  }
});

test("the example of events and hunks prints what it should", async (t) => {
  const stdout = await runExample(
    t,
    'import { Agent } from "emend";\n\nconst agent = await Agent.create({\n  files: {',
  );
  assert.match(stdout, /→ grep\n.*→ read_file\n.*→ edit_file\n/s);
  assert.match(stdout, /Renamed price to cost: 3 places in 2 files\./);
  assert.ok(stdout.includes("-export function price(item) {\n+export function cost(item) {\n"));
  assert.ok(stdout.endsWith("export function cost(item) {\n  return item.cents;\n}\n\n"));
});

test("the example of emend/edit prints what it should", async (t) => {
  const stdout = await runExample(t, "import { isEmendError, load, patchProblem }");
  assert.ok(stdout.startsWith('removed "export const greet = () => \\"hello\\";\\n" [ [ 28, 33 ] ]\n'), stdout);
  assert.ok(stdout.endsWith('// Polite.\nexport const greet = () => "hello";\n\nconflict not_found\n'), stdout);
});

test("the example of emend/service prints what it should", async (t) => {
  const stdout = await runExample(t, "import { createService }");
  assert.equal(stdout, "completed The color of the sky.\n\n");
});

test("the example of checkpoints keeps the review across a reload and rolls it back", async (t) => {
  const stdout = await runExample(t, 'import { memoryStore } from "emend";\nimport { createService }');
  assert.equal(
    stdout,
    [
      "1 hunk waits",
      "The colour of the sea.\nThe colour of the sky.\n The color of the sea.\nThe color of the sky.\n The color of the sea.\nThe color of the sky.\n",
      "[ 2 ] lines rolled back: The colour of the sea.\nThe colour of the sky.\n\n",
    ].join("\n"),
  );
});

test("the example of emend/worker prints what it should", async (t) => {
  const stdout = await runExample(t, "import { WorkerAgent }");
  assert.match(stdout, /^SESSION_START\n[\s\S]*PROCESSING_END\n1 /);
  assert.match(stdout, /^\+The color of the sky\.$/m);
});

/** Some examples are for a page. */
const DOCUMENT = 'import "./dom.mjs";\n';
/** The document has no style sheets of elements. */
const SHEETS = "globalThis.CSSStyleSheet = class { replaceSync() {} };\n";
const END = "\nagent.close();\nprocess.exit();\n";

test("the example of emend/bind prints what it should", async (t) => {
  const stdout = await runExample(t, 'import { Agent } from "emend";\nimport { bindBuffer }', undefined, END, DOCUMENT);
  assert.equal(stdout, "The colour of the sky.\n\n");
});

test("the example of emend/codemirror prints what it should", async (t) => {
  const stdout = await runExample(t, "import { defaultKeymap", undefined, END, DOCUMENT);
  assert.equal(stdout, "let cost = 1;\n\n");
});

test("the example of an environment of one's own edits its files, also in directories", async (t) => {
  const more = `
await agent.run("rename colour to color").result;
await agent.acceptAll();
await agent.files.write("new.txt", "new color");
await agent.files.write("notes/deep/er.txt", "deep color");
console.log(JSON.stringify([...texts]));
const paths = (files) => files.map(({ path }) => path).join(" ");
console.log(paths(await agent.files.list()));
console.log(await agent.files.glob("notes/**"), paths(await agent.files.grep("color", { path: "notes/deep" })));
await agent.files.remove("notes/deep/er.txt");
console.log(paths(await agent.files.list()), await agent.files.glob("notes/*"));
for (const path of ["none.txt", "notes/deep/er.txt", "notes"]) {
  console.log(path, await agent.files.read(path).catch(({ code }) => code));
}
agent.close();
`;
  const stdout = await runExample(t, 'import { Agent } from "emend";\n\nconst texts', undefined, more);
  assert.deepEqual(stdout.split("\n"), [
    '[["notes/sky.md","color\\n"],["new.txt","new color"],["notes/deep/er.txt","deep color"]]',
    "new.txt notes/deep/er.txt notes/sky.md",
    "[ 'notes/deep/er.txt', 'notes/sky.md' ] notes/deep/er.txt",
    "new.txt notes/sky.md [ 'notes/sky.md' ]",
    "none.txt null",
    "notes/deep/er.txt null",
    "notes invalid_argument",
    "",
  ]);
});

test("the example of nodeFs works on the directory it is run in", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "emend-readme-"));
  t.after(() => rm(directory, { recursive: true }));
  const project = join(directory, "project");
  await mkdir(join(project, "src"), { recursive: true });
  await writeFile(join(directory, "outside.txt"), "Price\n");
  await writeFile(join(project, "src/price.js"), "export const Price = 1;\n");
  await writeFile(join(project, "cart.js"), 'import { Price } from "./src/price.js";\n');
  await symlink(directory, join(project, "out"));
  await symlink("src", join(project, "inside"));
  const more = `
const files = await import("node:fs/promises");
await agent.run("rename Price to Cost").result;
console.log((await files.readFile("cart.js", "utf8")).includes("Price"));
await agent.acceptAll();
console.log((await agent.files.read("inside/price.js")).text);
await agent.files.write("new/deep.txt", "deep");
await agent.files.remove("new/deep.txt");
for (const path of ["out/outside.txt", "../outside.txt"]) {
  await agent.files.write(path, "x").catch((error) => console.log(error.code));
}
agent.close();
`;
  const stdout = await runExample(t, 'import { Agent } from "emend";\nimport { nodeFs', project, more);
  assert.equal(stdout, "true\nexport const Cost = 1;\n\npermission_denied\npermission_denied\n");
  assert.equal(await readFile(join(project, "cart.js"), "utf8"), 'import { Cost } from "./src/price.js";\n');
  assert.equal(await readFile(join(directory, "outside.txt"), "utf8"), "Price\n");
  assert.deepEqual(await readdir(join(project, "new")), []);
});

/** A model that makes the calls of each step, and prints the results of the last. */
const SCRIPTED = `
const scripted = (...steps) => ({
  provider: {
    name: "scripted",
    async *stream({ messages }) {
      for (const { content } of messages.at(-1).content) if (content !== undefined) console.log(content);
      const step = steps.shift();
      if (step !== undefined) yield { type: "tool_call", name: step[0], arguments: step[1] };
      else yield { type: "text_delta", delta: "Done." };
      yield { type: "finish" };
    },
  },
});
`;

test("the example of a real model creates an agent, and sends nothing", async (t) => {
  const first =
    'import { Agent } from "emend";\nprocess.env.ANTHROPIC_API_KEY = "k";\nconst files = { "a.txt": "a" };\n';
  const more = "console.log((await agent.files.list()).length);\nagent.close();\n";
  const stdout = await runExample(
    t,
    "const agent = await Agent.create({\n  files,\n  model: {",
    undefined,
    more,
    `globalThis.fetch = () => console.log("sent");\n${first}`,
  );
  assert.equal(stdout, "1\n");
});

test("the example of a tool runs it", async (t) => {
  const first = `
const files = {};
const runTests = async (filter, signal) => ({ failed: filter, aborted: signal.aborted });
${SCRIPTED}`;
  const more = `
agent.configure({ model: scripted(["run_tests", { filter: "cart" }]) });
console.log((await agent.run("test it").result).text);
agent.close();
`;
  const stdout = await runExample(t, 'import { Agent, tool } from "emend";', undefined, more, first);
  assert.equal(stdout, '{"failed":"cart","aborted":false}\nDone.\n');
});

test("the example of approvals asks, and hides the denied files", async (t) => {
  const first = `
import { Agent } from "emend";
const files = { "docs/a.md": "one\\n", "src/b.js": "one\\n", "secrets/c.txt": "one\\n" };
const confirm = (question) => {
  console.log(question.slice(0, 32));
  return !question.includes("src/b.js");
};
`;
  const more = `
const { text } = await agent.run("rename one to two").result;
console.log(agent.review().files.map(({ path }) => path).join(" "));
agent.close();
`;
  const stdout = await runExample(t, "const agent = await Agent.create({\n  files,\n  policy", undefined, more, first);
  // Once refused, the model tries the same call again.
  assert.equal(stdout, `${'edit_file {"file_path":"src/b.js\n'.repeat(2)}docs/a.md\n`);
});

test("the example of saved sessions continues and forks a session", async (t) => {
  const more = `
console.log(again.turns().length > 0, other.sessionId !== again.sessionId);
for (const each of [again, other]) each.close();
`;
  const memory = (example) => example.replaceAll("indexedDbStore", "memoryStore");
  const first = 'const files = { "a.txt": "colour\\n" };\n';
  const stdout = await runExample(t, "import { Agent, indexedDbStore }", undefined, more, first, memory);
  assert.equal(stdout, "true true\n");
});

test("the examples of elements show the review and the conversation", async (t) => {
  const review = await runExample(
    t,
    'import { Agent } from "emend";\nimport { defineReview',
    undefined,
    `
await agent.run("rename price to cost").result;
await new Promise((resolve) => setTimeout(resolve, 50));
for (const button of review.shadowRoot.querySelectorAll("button"))
  if (button.textContent.trim() === "Keep") button.click();
await new Promise((resolve) => setTimeout(resolve, 50));
console.log(await agent.files.readDisk("shop.js"));${END}`,
    DOCUMENT + SHEETS,
  );
  assert.equal(review, "keep 1\nlet cost = 1;\n\n");
  const panel = await runExample(
    t,
    'import { Agent } from "emend";\nimport { defineAgent',
    undefined,
    `
const { text } = await panel.agent.run("hello").result;
await new Promise((resolve) => setTimeout(resolve, 50));
console.log(text !== "" && panel.shadowRoot.textContent.includes(text.slice(0, 20)));
panel.agent.close();
process.exit();`,
    DOCUMENT + SHEETS,
  );
  assert.equal(panel, "true\n");
});

test("the example of import and export reads a folder and writes one", async (t) => {
  const first = `
import { directoryHandle } from "./directory-handles.mjs";
const put = async (folder, name, text) => {
  const stream = await (await folder.getFileHandle(name, { create: true })).createWritable();
  await stream.write(new TextEncoder().encode(text));
  await stream.close();
};
const picked_ = directoryHandle();
const showDirectoryPicker = async () => picked_;
const handle = directoryHandle();
const src = await picked_.getDirectoryHandle("src", { create: true });
await put(src, "a.ts", "// TODO\\n");
await put(await picked_.getDirectoryHandle("node_modules", { create: true }), "b.ts", "// TODO\\n");
`;
  const more = `
console.log(Object.keys(files).join(" "), handle.log.includes("create a.ts"), archive.length > 0);
agent.close();
`;
  const stdout = await runExample(t, "import { Agent, fromDirectory, fromZip", undefined, more, first);
  assert.match(stdout, /^src\/a\.ts \[[\s\S]*\[ 'src\/a\.ts' \]\nsrc\/a\.ts true true\n$/);
});

test("the examples of emend/llm stream a response, and run a tool", async (t) => {
  const first = `
import { answerEvents, sse } from "./fixtures.mjs";
process.env.ANTHROPIC_API_KEY = "k";
for (const name of ["OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"]) delete process.env[name];
let calls = 0;
globalThis.fetch = async (_url, { body }) => {
  calls += 1;
  if (JSON.parse(new TextDecoder().decode(body instanceof Uint8Array ? body : new TextEncoder().encode(body))).tools)
    calls += 10;
  return new Response(sse(answerEvents(calls === 1 ? "Hello." : "Cold.")), { status: 200 });
};
const model = "claude-sonnet-4-5";
const messages = [{ role: "user", content: [{ kind: "text", text: "hi" }] }];
const { signal } = new AbortController();
const schema = { type: "object", properties: { city: { type: "string" } } };
const lookUp = (city) => city;
`;
  const more = `console.log("", text, calls);\nclient.close();\n`;
  const stdout = await runExample(t, 'import { Client } from "emend/llm";\n\nconst client', undefined, more, first);
  assert.equal(stdout, "Hello. Cold. 12\n");
});

test("the example of a provider of one's own is the agent's model", async (t) => {
  const first = `
import { Agent } from "emend";
const myModel = {
  async *generate(messages, signal) {
    yield* ["Hello", signal.aborted ? "?" : "!"];
  },
};
`;
  const more = 'console.log((await agent.run("hi").result).text);\nagent.close();\n';
  const begins = "const agent = await Agent.create({\n  model: {\n    provider: {";
  assert.equal(await runExample(t, begins, undefined, more, first), "Hello!\n");
});

test("the example of an index searches the files of a directory", async (t) => {
  const first = `
import { Agent } from "emend";
import { directoryHandle } from "./directory-handles.mjs";
const handle = directoryHandle();
const writable = await (await handle.getFileHandle("notes.md", { create: true })).createWritable();
await writable.write(new TextEncoder().encode("The colour of the sky.\\n"));
await writable.close();
const storage = { getDirectory: async () => directoryHandle() };
Object.defineProperty(globalThis, "navigator", { value: { storage }, configurable: true });
`;
  const more = 'console.log((await agent.files.grep("colour")).map(({ path }) => path));\nagent.close();\n';
  const begins = 'import { indexed, opfsIndexStore } from "emend/index";';
  assert.equal(await runExample(t, begins, undefined, more, first), "[ 'notes.md' ]\n");
});

test("the example of outlines prints what it says", async (t) => {
  const stdout = await runExample(t, 'import { outlineOf } from "emend/outline";');
  assert.equal(stdout, "[ '1 struct Point', '3 impl Point', '4 fn new' ]\n");
});

test("the example of the outline tool gives the agent the tool", async (t) => {
  const more = 'console.log((await agent.run("rename Point to Place").result).text);\nagent.close();\n';
  const begins = 'import { Agent } from "emend";\nimport { outlineTool }';
  const stdout = await runExample(t, begins, undefined, more);
  assert.match(stdout, /^Renamed Point to Place/);
});

test("every example of the README is run", async () => {
  const readme = await readFile(new URL("README.md", import.meta.resolve("emend/package.json")), "utf8");
  const tests = await readFile(import.meta.filename, "utf8");
  const begins = [...tests.matchAll(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g)]
    .map(([text]) => text.slice(1, -1).replaceAll("\\n", "\n").replaceAll('\\"', '"'))
    .filter((text) => /^(?:import |const agent)/.test(text));
  const examples = [...readme.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, example]) => example);
  const others = examples.filter((example) => !begins.some((text) => example.startsWith(text)));
  assert.deepEqual(others, []);
  // Examples that begin alike would run the first of them only.
  const first = begins.map((text) => examples.find((example) => example.startsWith(text))).filter(Boolean);
  assert.equal(new Set(first).size, examples.length);
});
