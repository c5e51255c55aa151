// The README's examples that need no model are run as they stand.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";

/** Runs the first example of the README that begins so. */
async function runExample(t, begins) {
  const readme = await readFile(new URL("README.md", import.meta.resolve("emend/package.json")), "utf8");
  const start = readme.indexOf(`\`\`\`js\n${begins}`) + 6;
  const example = readme.slice(start, readme.indexOf("```", start));
  const file = join(import.meta.dirname, `readme-example-${example.length}.mjs`);
  t.after(() => rm(file));
  await writeFile(file, example);
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [file]);
  assert.equal(stderr, "");
  return stdout;
}

test("the first example does what it says", async (t) => {
  const stdout = await runExample(t, "import { Agent }");
  assert.match(stdout, /→ grep\n.*→ read_file\n.*→ edit_file\n/s);
  assert.match(stdout, /Renamed price to cost: 3 places in 2 files\./);
  assert.ok(stdout.includes("-export function price(item) {\n+export function cost(item) {\n"));
  assert.ok(stdout.endsWith("export function cost(item) {\n  return item.cents;\n}\n\n"));
});

test("the example of emend/edit does what it says", async (t) => {
  const stdout = await runExample(t, "import { load, patchProblem }");
  assert.ok(stdout.startsWith('removed "export const greet = () => \\"hello\\";\\n" [ [ 28, 33 ] ]\n'), stdout);
  assert.ok(stdout.endsWith('// Polite.\nexport const greet = () => "hello";\n\nconflict not_found\n'), stdout);
});
