// The types and names of events and messages are those of the core.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import test from "node:test";
import { camel, events, kindsOf, names, namesOf } from "./agent-types.mjs";

/** Returns the repository, a parent folder. */
function repository() {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, "wasm-pack.toml"))) return folder;
  }
  throw new Error("no parent folder is the repository");
}

/** Returns a text without the differences that a formatter makes. */
const squeezed = (text) =>
  text
    .replace(/\s+/g, "")
    .replace(/([:=(<])\|/g, "$1")
    .replace(/[,;](?=})/g, "");

const document = join(repository(), "docs/agent-types.json");
const skip = !existsSync(document) && "no schemas";
const schemas = skip ? {} : JSON.parse(await readFile(document));
const source = (file) => join(repository(), "pkg/src", file);

for (const [file, write] of [
  ["agent/events.ts", events],
  ["names.ts", names],
]) {
  test(`${file} is the text of the generator`, { skip }, async () => {
    const expected = write(schemas);
    if (process.env.UPDATE_EXPECT) {
      await writeFile(source(file), expected);
      return;
    }
    const parts = (text) => text.split(/(?=^export )/m).map(squeezed);
    const [found, wanted] = [parts(await readFile(source(file), "utf8")), parts(expected)];
    for (const part of wanted) assert.ok(found.includes(part), `UPDATE_EXPECT=1 and biome renew the file: ${part}`);
    assert.equal(found.length, wanted.length);
  });
}
void [camel, kindsOf, namesOf];
