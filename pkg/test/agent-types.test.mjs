// The types and names of events and messages are those of the core.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import test from "node:test";
import { camel, events, kindsOf, modelNames, names, namesOf } from "./agent-types.mjs";
import { eventSamples } from "./support.mjs";

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
  ["model-names.ts", modelNames],
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

/** The files that declare by hand the types of schemas, and those schemas. */
const DECLARED = {
  "llm/types.ts": [
    "ToolCall",
    "ToolResult",
    "ThinkingData",
    "MediaData",
    "Message",
    "Request",
    "Response",
    "ModelInfo",
  ],
  "host/types.ts": ["ApprovalRequest"],
  "sessions/types.ts": ["HistoryEntry", "Usage"],
  "agent/types.ts": ["Compaction"],
};

test("types that are written by hand have every field", { skip }, async () => {
  for (const [file, declared] of Object.entries(DECLARED)) {
    const text = await readFile(source(file), "utf8");
    for (const schema of declared) {
      for (const field of Object.keys(schemas[schema].properties)) {
        // Only a request's own usage has the provider's counts.
        if (schema === "Usage" && field === "raw") continue;
        assert.match(text, new RegExp(`^ *${camel(field)}\\??:`, "m"), `${schema}.${field} in ${file}`);
      }
    }
  }
});

test("the samples have every kind of event with every field", { skip }, () => {
  const samples = eventSamples();
  assert.deepEqual(
    samples.map(({ kind }) => kind).sort(),
    kindsOf(schemas)
      .map(({ kind }) => kind)
      .sort(),
  );
  for (const { kind, data } of kindsOf(schemas)) {
    const schema = data.$ref === undefined ? data : schemas[data.$ref.split("/").at(-1)];
    const sample = samples.find((one) => one.kind === kind);
    assert.deepEqual(Object.keys(sample.data).sort(), Object.keys(schema.properties ?? {}).sort(), kind);
  }
  const { usage } = samples.find(({ kind }) => kind === "PROCESSING_END").data;
  assert.deepEqual(Object.keys(usage).sort(), Object.keys(schemas.Usage.properties).sort());
});

test("a new field changes both generated files", { skip }, () => {
  const field = { type: "integer" };
  const document = (properties) => ({
    ...Object.fromEntries(Object.entries(schemas)),
    Compaction: { ...schemas.Compaction, properties: { ...schemas.Compaction.properties, ...properties } },
    ErrorInfo: { ...schemas.ErrorInfo, properties: { ...schemas.ErrorInfo.properties, ...properties } },
  });
  const [before, after] = [document({}), document({ new_field: field })];
  assert.ok(events(after).includes("newField?: number;") && !events(before).includes("newField"));
  assert.ok(names(after).includes("tokens_before: 0, new_field: 0") && !names(before).includes("new_field"));
});

test("a field that is the user's in one part of a union has no names in another", () => {
  const part = (value) => ({ properties: { value } });
  const own = part({ properties: { file_path: {} } });
  assert.deepEqual(namesOf({ oneOf: [own, { properties: { other_field: {} } }] }, {}), {
    value: { file_path: 0 },
    other_field: 0,
  });
  assert.throws(() => namesOf({ oneOf: [own, part({})] }, {}), /`value` has other names in another part/);
});
