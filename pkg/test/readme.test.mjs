// Runs the README's examples that need no model, unchanged.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";

/** Runs the first example of the README that begins with a text, in a directory, between `first` and `more`. */
async function runExample(t, begins, directory = process.cwd(), more = "", first = "") {
  const readme = await readFile(new URL("README.md", import.meta.resolve("emend/package.json")), "utf8");
  const start = readme.indexOf(`\`\`\`js\n${begins}`) + 6;
  const example = readme.slice(start, readme.indexOf("```", start));
  const file = join(import.meta.dirname, `readme-example-${example.length}.mjs`);
  t.after(() => rm(file));
  await writeFile(file, first + example + more);
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
      "2 lines rolled back: The colour of the sea.\nThe colour of the sky.\n\n",
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
const END = "\nagent.close();\nprocess.exit();\n";

test("the example of emend/bind prints what it should", async (t) => {
  const stdout = await runExample(t, 'import { Agent } from "emend";\nimport { bindBuffer }', undefined, END, DOCUMENT);
  assert.equal(stdout, "The colour of the sky.\n\n");
});

test("the example of emend/codemirror prints what it should", async (t) => {
  const stdout = await runExample(t, "import { defaultKeymap", undefined, END, DOCUMENT);
  assert.equal(stdout, "let cost = 1;\n\n");
});

test("the example of an environment of one's own edits its files", async (t) => {
  const more = `
await agent.run("rename colour to color").result;
await agent.acceptAll();
await agent.files.write("new.txt", "new");
console.log(JSON.stringify([...texts]));
agent.close();
`;
  const stdout = await runExample(t, 'import { Agent } from "emend";\n\nconst texts', undefined, more);
  assert.equal(stdout, '[["notes.md","color\\n"],["new.txt","new"]]\n');
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
