// The types of `emend/service-client` are those of the OpenAPI document.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import test from "node:test";
import { bodies } from "./service-bodies.mjs";

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
    .replace(/;(?=})/g, "");

const document = join(repository(), "docs/openapi.json");

test("bodies.ts is the text of the generator", { skip: !existsSync(document) && "no OpenAPI document" }, async () => {
  const [expected, file] = [
    bodies(JSON.parse(await readFile(document))),
    join(repository(), "pkg/src/service/bodies.ts"),
  ];
  if (process.env.UPDATE_EXPECT) {
    await writeFile(file, expected);
    return;
  }
  const parts = (text) => text.split(/(?=^export )/m).map(squeezed);
  const [found, wanted] = [parts(await readFile(file, "utf8")), parts(expected)];
  for (const part of wanted) assert.ok(found.includes(part), `UPDATE_EXPECT=1 and biome renew the file: ${part}`);
  assert.equal(found.length, wanted.length);
});

test("schemas become types", () => {
  const schemas = {
    Timestamp: { type: "string" },
    Job: {
      type: "object",
      description: "A job.",
      required: ["id", "at"],
      properties: {
        id: { type: "string", description: "Id." },
        at: { $ref: "#/components/schemas/Timestamp" },
        next: { oneOf: [{ type: "null" }, { $ref: "#/components/schemas/Job" }] },
        spans: { type: "array", items: { type: "array", prefixItems: [{ type: "integer" }, { type: "integer" }] } },
        state: { type: ["string", "null"] },
      },
    },
    State: { enum: ["on", "off"], type: "string" },
    Request: { type: "object", properties: { text: { type: "string" } } },
  };
  const reference = (name) => ({ "application/json": { schema: { $ref: `#/components/schemas/${name}` } } });
  const path = { name: "job_id", in: "path", required: true, schema: { type: "string" } };
  const paths = {
    "/jobs/{job_id}": {
      post: {
        operationId: "Steer",
        summary: "Steers.",
        parameters: [path],
        requestBody: { content: reference("Request") },
        responses: { 400: {}, 200: { content: reference("Job") } },
      },
    },
    "/stream": { get: { operationId: "Stream", responses: { 200: { content: { "text/event-stream": {} } } } } },
  };
  const found = bodies({ paths, components: { schemas } });
  for (const part of [
    "/** A job. */\nexport interface Job {\n  /** Id. */\n  id: string;\n  at: string;\n  next?: Job | null | undefined;\n",
    "  spans?: [number, number][] | undefined;\n  state?: string | null | undefined;\n}",
    'export type State = "on" | "off";',
    "  /** Steers. */\n  Steer: { input: { job_id: string; body?: Request | undefined }; reply: Job };\n",
    '  Steer: "POST /jobs/{job_id}",\n};',
  ]) {
    assert.ok(found.includes(part), part);
  }
});
