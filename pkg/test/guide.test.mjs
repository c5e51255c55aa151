// Runs the recipes of the guide, unchanged.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";

const guide = await readFile(new URL("GUIDE.md", import.meta.resolve("emend/package.json")), "utf8");
const recipes = [...guide.matchAll(/^## \d\. (.*)\n[\s\S]*?```js\n([\s\S]*?)```/gm)];

/** Runs a recipe to its end. Returns its output, or the error of a process that failed. */
async function run(t, number) {
  const [, , code] = recipes[number - 1];
  const file = join(import.meta.dirname, `guide-recipe-${number}.mjs`);
  t.after(() => rm(file));
  await writeFile(file, `${code}\nprocess.exit();\n`);
  return promisify(execFile)(process.execPath, [file]).catch((error) => error);
}

test("the guide has five recipes", () => {
  assert.equal(recipes.length, 5);
});

test("recipe 1: each change is decided on, and a decision is undone", async (t) => {
  const { stdout, stderr } = await run(t, 1);
  assert.equal(stderr, "");
  assert.match(stdout, /^sea\.md \[ 'removed: The colour of the sea\.', 'added: The color of the sea\.' \]\n/);
  assert.match(stdout, /\nThe color of the sky\.\n The colour of the sea\.\n\n/);
  assert.match(stdout, /\n\[ 'sky\.md' \]\n$/);
});

test("recipe 2: the call is asked about, and the denied file is hidden", async (t) => {
  const { stdout, stderr } = await run(t, 2);
  assert.equal(stderr, "");
  assert.match(stdout, /^edit_file .*-one\n\+two\n/s);
  assert.match(stdout, /Renamed one to two: 1 place in 1 file\./);
  assert.ok(stdout.endsWith("one\n\n"), stdout);
});

test("recipe 3: the model calls the tool", async (t) => {
  const { stdout, stderr } = await run(t, 3);
  assert.deepEqual([stdout, stderr], ["Tea costs 3.\n", ""]);
});

test("recipe 4: the conversation continues", async (t) => {
  const { stdout, stderr } = await run(t, 4);
  assert.equal(stderr, "");
  assert.match(stdout, /^\[\s+'user',\s+'assistant',\s+'tool_results',/);
  assert.ok(stdout.endsWith("[ 'rename colour to color' ]\n"), stdout);
});

test("recipe 5: limits and the signal end runs", async (t) => {
  const { stdout, stderr } = await run(t, 5);
  assert.deepEqual([stdout, stderr], ["turn_limit true\naborted Error: not grep\n", ""]);
});
