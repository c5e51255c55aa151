// The contract of the review service over `emend/service`, and through `emend/service-client` over HTTP: the steps of
// tests/service/contract.json and conflict.json get the replies of the Rust runner.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import test from "node:test";
import { createService } from "emend/service";
import { createClient, isEmendError } from "emend/service-client";
import { mapped } from "./environments.mjs";

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

/** Maximum number of characters of a text that is kept as a whole, and of the start of a longer one. */
const [LONG, START] = [2_000, 100];

/** Replaces ids and times, and shortens long texts, as the Rust runner does. `ids` has the ids so far. */
function normal(value, ids) {
  if (typeof value === "string") {
    const text = value.replace(
      /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|(\.[0-9a-f]{16})/gi,
      (_, id, random) => {
        // The last part of the name of an output.
        if (random !== undefined) return ".<random>";
        if (id === undefined) return "<time>";
        if (!ids.includes(id)) ids.push(id);
        return `<${ids.indexOf(id) + 1}>`;
      },
    );
    const rest = text.replace(/(?<=_(?:ms|tokens)(?:=|":))\d+|\d+(?= ms)/g, "0");
    const chars = [...rest];
    return chars.length <= LONG ? rest : `${chars.slice(0, START).join("")}… <${chars.length} characters>`;
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

/** Sends requests to a service in this program. Returns status and reply. */
const within = (service) => async (method, path, body, n) => {
  const headers = { "content-type": "application/json" };
  const init = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
  const response = await service.fetch(`http://any.example${path}`, init);
  const isStream = response.headers.get("content-type") === "text/event-stream";
  return [response.status, isStream ? await messages(response, n) : await response.json()];
};

/** Sends requests through a client over sockets. The client returns no status of success, and throws failed replies. */
const through = (client) => async (method, path, body, n) => {
  try {
    if (n === undefined) return [undefined, await client.request(method, path, body)];
    const job = /\/jobs\/([^/]+)\//.exec(path)?.[1];
    const after = Number(new URL(path, "http://any.example").searchParams.get("after") ?? 0);
    const found = [];
    for await (const message of client.events({ job, after })) if (found.push(message) === n) break;
    return [undefined, found];
  } catch (error) {
    if (!isEmendError(error)) throw error;
    const { code, message, suggestions, data } = error;
    return [undefined, { ok: false, error: { code, message, suggestions, ...(data !== undefined && { data }) } }];
  }
};

/** Serves a service on a free port. Returns its address. */
async function served(t, service) {
  const server = createServer(async (request, response) => {
    const body = request.method === "GET" ? undefined : Readable.toWeb(request);
    const { method, headers } = request;
    const reply = await service.fetch(request.url, { method, headers, body, duplex: "half" });
    response.writeHead(reply.status, Object.fromEntries(reply.headers));
    const reading = reply.body?.getReader();
    response.on("close", () => reading?.cancel().catch(() => {}));
    for (;;) {
      const { done, value } = (await reading?.read()) ?? { done: true };
      if (done) return response.end();
      response.write(value);
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

/** Returns the text of a file: as it stands, or a text, the number of its repetitions and the end. */
const written = (text) => (Array.isArray(text) ? text[0].repeat(text[1]) + text[2] : text);

async function waitFor(send, { job, status }) {
  for (;;) {
    const [, found] = await send("GET", `/api/agent/jobs/${job}`);
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

/** Runs all steps and compares their replies. */
async function run(t, transport) {
  const contract = await read("contract.json");
  const script = { provider: scriptOf(contract), model: "script" };
  const service = await createService({ files: contract.files, models: { script } });
  await runSteps(t, transport, service, contract, await read("replies.json"));
}

/** The same for the story in which another program changes the files of the environment. */
async function runConflict(t, transport) {
  const contract = await read("conflict.json");
  const environment = mapped(contract.files);
  const service = await createService({ environment });
  const write = (path, text) => environment.files.set(path, text);
  await runSteps(t, transport, service, contract, await read("conflict-replies.json"), write);
}

async function runSteps(t, transport, service, contract, expected, write) {
  t.after(() => service.close());
  const send = await transport(service);
  const [saved, ids] = [new Map(), []];
  for (const step of contract.steps) {
    const { name, method, path, body, status, save = {}, wait, disk = {}, messages: n } = filled(step, saved);
    if (wait !== undefined) await waitFor(send, wait);
    for (const [file, text] of Object.entries(disk)) write(file, written(text));
    const [given, reply] = await send(method, path, body, n);
    assert.equal(given ?? status, status, `${name}: ${JSON.stringify(reply)}`);
    for (const [key, pointer] of Object.entries(save)) saved.set(key, at(reply, pointer));
    assert.deepEqual(normal(reply, ids), expected[name], name);
  }
}

test("every step gets the reply of the Rust runner", { timeout: 120_000 }, async (t) => {
  await run(t, within);
});

test("every step gets the same reply through a client over HTTP", { timeout: 120_000 }, async (t) => {
  await run(t, async (service) => through(createClient({ baseUrl: await served(t, service) })));
});

test("a change on disk is a conflict with the reply of the Rust runner", { timeout: 120_000 }, async (t) => {
  await runConflict(t, within);
});

test("a change on disk is the same conflict through a client over HTTP", { timeout: 120_000 }, async (t) => {
  await runConflict(t, async (service) => through(createClient({ baseUrl: await served(t, service) })));
});
