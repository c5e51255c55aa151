// The contract of the review service over `emend/service`: the steps of tests/service/contract.json get the replies of the
// Rust runner.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import test from "node:test";
import { createService } from "emend/service";

/** Returns the folder of the contract, in a parent folder. */
function contractFolder() {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const found = join(folder, "tests/service");
    if (existsSync(join(found, "contract.json"))) return found;
  }
  throw new Error("tests/service/contract.json is not in a parent folder");
}

const read = async (name) => JSON.parse(await readFile(join(contractFolder(), name), "utf8"));

/** Names of numbers that differ between runs and hosts. */
const MEASURES = [
  "at_ms",
  "cost_usd",
  "duration_ms",
  "expires_at",
  "input_tokens",
  "latency_ms",
  "ms",
  "output_tokens",
  "total_tokens",
  "reasoning_tokens",
];

/** Replaces ids and times as the Rust runner does. `ids` has the ids so far. */
function normal(value, ids) {
  if (typeof value === "string") {
    const text = value.replace(
      /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/gi,
      (_, id) => {
        if (id === undefined) return "<time>";
        if (!ids.includes(id)) ids.push(id);
        return `<${ids.indexOf(id) + 1}>`;
      },
    );
    return text.replace(/(?<=_(?:ms|tokens)(?:=|":))\d+|\d+(?= ms)/g, "0");
  }
  if (Array.isArray(value)) return value.map((item) => normal(item, ids));
  if (typeof value !== "object" || value === null) return value;
  const field = (name) => (MEASURES.includes(name) && typeof value[name] === "number" ? 0 : normal(value[name], ids));
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, field(name)]),
  );
}

/** A model that answers from the script. */
function scriptOf(contract) {
  const script = [...contract.script];
  return {
    name: "script",
    async *stream() {
      const { text, tool, arguments: args } = script.shift();
      yield { type: "stream_start", model: "script" };
      if (tool === undefined) yield { type: "text_delta", delta: text };
      else yield { type: "tool_call", id: "call_1", name: tool, arguments: args };
      yield { type: "finish" };
    },
  };
}

/** Puts saved values into the texts of a step. */
const filled = (step, saved) =>
  JSON.parse(JSON.stringify(step).replace(/\$\{(\w+)\}/g, (_, name) => saved.get(name) ?? assert.fail(name)));

const at = (value, pointer) =>
  pointer
    .split("/")
    .slice(1)
    .reduce((found, name) => found?.[name], value);

async function send(service, method, path, body) {
  const headers = { "content-type": "application/json" };
  const init = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
  return service.fetch(`http://any.example${path}`, init);
}

async function waitFor(service, { job, status }) {
  for (;;) {
    const found = await (await send(service, "GET", `/api/agent/jobs/${job}`)).json();
    if (found.status === status) return;
    assert.ok(!["completed", "failed", "cancelled"].includes(found.status), JSON.stringify(found));
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Returns the first messages of a stream, without heartbeats. */
async function messages(response, n) {
  const found = [];
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of response.body) {
    text += decoder.decode(bytes, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const data = JSON.parse(/^data: (.*)$/m.exec(block)[1]);
      if (data.type !== "heartbeat") found.push(data);
      if (found.length === n) return found;
    }
  }
  return found;
}

test("every step gets the reply of the Rust runner", { timeout: 120_000 }, async () => {
  const [contract, expected] = [await read("contract.json"), await read("replies.json")];
  const script = { provider: scriptOf(contract), model: "script" };
  const service = await createService({ files: contract.files, models: { script } });
  const [saved, ids] = [new Map(), []];
  for (const step of contract.steps) {
    const { name, method, path, body, status, save = {}, wait, messages: n } = filled(step, saved);
    if (wait !== undefined) await waitFor(service, wait);
    const response = await send(service, method, path, body);
    const isStream = response.headers.get("content-type") === "text/event-stream";
    const reply = isStream ? await messages(response, n) : await response.json();
    assert.equal(response.status, status, `${name}: ${JSON.stringify(reply)}`);
    for (const [key, pointer] of Object.entries(save)) saved.set(key, at(reply, pointer));
    assert.deepEqual(normal(reply, ids), expected[name], name);
  }
  await service.close();
});
