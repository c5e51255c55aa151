// The npm options in docs/settings.md: each is accepted, and a wrong value is rejected. The newer ones have an effect.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { Agent, ConfigError, memoryStore } from "emend";
import { collect, scripted, serve } from "./support.mjs";

const PAGE = readFileSync(new URL("../../docs/settings.md", import.meta.url), "utf8");

const HTTP = { provider: "gemini", model: "m", apiKey: "k" };
const http = (fields) => ({ model: { ...HTTP, ...fields } });
const fallback = { provider: "openai", model: "m", apiKey: "k" };
const environment = Object.fromEntries(
  ["stat", "read", "write", "remove", "list"].map((name) => [name, async () => undefined]),
);
const tool = { name: "own", description: "", parameters: { type: "object" }, execute: () => "" };

/** Options that use a setting, and options that misuse it. */
const SAMPLES = {
  model: [{ model: { provider: "offline" } }, { model: { provider: "acme" } }],
  effort: [{ effort: "low" }, { effort: 3 }],
  profile: [{ profile: "gemini" }, { profile: "acme" }],
  edits: [{ profile: "gemini", edits: "edit_lines", ...http({}) }, { edits: "acme" }],
  subagents: [{ subagents: true }, { subagents: 1 }],
  instructions: [{ instructions: "Be brief." }, { instructions: 1 }],
  maxToolRounds: [{ maxToolRounds: 3 }, { maxToolRounds: -1 }],
  maxTokens: [{ maxTokens: 3 }, { maxTokens: 0.5 }],
  maxCostUsd: [{ maxCostUsd: 0.5 }, { maxCostUsd: -1 }],
  maxDurationMs: [{ maxDurationMs: 3 }, { maxDurationMs: "3" }],
  maxTurns: [{ maxTurns: 3 }, { maxTurns: "3" }],
  mode: [{ mode: "direct" }, { mode: "acme" }],
  readOnly: [{ readOnly: true }, { readOnly: 1 }],
  policy: [{ policy: [{ action: "deny", tool: "shell" }] }, { policy: [{ action: "deny", tool: "shel" }] }],
  webFetch: [{ webFetch: true }, { webFetch: 1 }],
  questions: [{ questions: true }, { questions: 1 }],
  tools: [{ tools: [tool] }, { tools: [{ name: "own" }] }],
  shell: [{ shell: true }, { shell: 7 }],
  files: [{ files: { "a.txt": "" } }, { files: 1 }],
  environment: [{ environment }, { environment: {} }],
  quota: [{ quota: { bytes: 5 } }, { quota: { byte: 5 } }],
  store: [{ store: memoryStore() }, { store: {} }],
  approve: [{ approve: () => "allow" }, { approve: 1 }],
  "model.fallback": [http({ fallback }), http({ fallback: { provider: "acme" } })],
  "model.fallbackAttempts": [http({ fallback, fallbackAttempts: 1 }), http({ fallback, fallbackAttempts: "1" })],
  "model.fallbackAfterMs": [http({ fallback, fallbackAfterMs: 1 }), http({ fallbackAfterMs: 1 })],
  "model.constrainedTools": [http({ constrainedTools: true }), http({ constrainedTools: 1 })],
  "model.providerOptions": [http({ providerOptions: { a: 1 } }), http({ providerOptions: [] })],
  "model.webSearch": [http({ webSearch: true }), http({ webSearch: "yes" })],
  "model.betas": [http({ betas: ["b"] }), http({ beta: ["b"] })],
  "model.safety": [http({ safety: { HARM: "LOW" } }), http({ safety: "LOW" })],
  "model.apiKey": [http({ apiKey: "k" }), http({ apiKey: 1 })],
  "model.baseUrl": [http({ baseUrl: "http://127.0.0.1:1" }), http({ baseUrl: 1 })],
  "model.headers": [http({ headers: { a: "b" } }), http({ header: {} })],
  "model.paceMs": [{ model: { provider: "offline", paceMs: 1 } }, { model: { provider: "offline", paceMs: "1" } }],
};

/** The npm options of the page. */
const options = PAGE.split("\n")
  .filter((line) => line.startsWith("| "))
  .slice(1)
  .map((line) => /^`(.*)`$/.exec(line.split(" | ")[7].trim())?.[1])
  .filter((name) => name !== undefined);

test("every npm option of docs/settings.md is accepted, and a wrong value of it is rejected", async () => {
  assert.deepEqual([...new Set(options)].sort(), Object.keys(SAMPLES).sort());
  for (const [name, [right, wrong]] of Object.entries(SAMPLES)) {
    const agent = await Agent.create(right).catch((error) => assert.fail(`${name}: ${error}`));
    agent.close();
    await assert.rejects(Agent.create(wrong), ConfigError, name);
  }
  await assert.rejects(Agent.create({ maxToolRound: 3 }), ConfigError);
});

test("an agent that only reads changes nothing, whatever the policy allows", async () => {
  for (const policy of [undefined, [{ action: "allow", tool: "*" }]]) {
    const calls = [
      ["write_file", { file_path: "a.txt", content: "new" }],
      ["read_file", { file_path: "a.txt" }],
    ];
    const { model, requests } = scripted([calls]);
    const agent = await Agent.create({ model, policy, readOnly: true, files: { "a.txt": "old\n" } });
    await collect(agent.run("go"));
    const [denied, read] = requests[1].messages.at(-1).content;
    assert.equal(denied.is_error, true);
    assert.match(String(read.content), /old/);
    assert.deepEqual(agent.review().files, []);
    agent.configure({ readOnly: false });
    agent.close();
  }
});

const chat = (text) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text }, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`;

test("the fallback model responds if the first fails", async (t) => {
  const server = await serve(t, (_, response) => {
    const failed = JSON.parse(server.requests.at(-1).body).model === "a";
    response.writeHead(failed ? 401 : 200, { "content-type": "text/event-stream" }).end(failed ? "" : chat("Second."));
  });
  const one = { provider: "openai_compatible", model: "a", baseUrl: server.url };
  const model = { ...one, fallback: { ...one, model: "b" }, fallbackAttempts: 1 };
  const agent = await Agent.create({ model });
  t.after(() => agent.close());
  const run = agent.run("go");
  await collect(run);
  assert.equal((await run.result).text, "Second.");
  assert.deepEqual(
    server.requests.map(({ body }) => JSON.parse(body).model),
    ["a", "b"],
  );
});

test("a model without tool calls writes them as objects", async (t) => {
  const requests = [];
  const provider = {
    name: "small",
    async *stream(request) {
      requests.push(request);
      const call = { tool: "read_file", arguments: { file_path: "a.txt" } };
      yield { type: "text_delta", delta: JSON.stringify(requests.length === 1 ? call : { answer: "It says old." }) };
      yield { type: "finish" };
    },
  };
  const agent = await Agent.create({ model: { provider, constrainedTools: true }, files: { "a.txt": "old\n" } });
  t.after(() => agent.close());
  const run = agent.run("go");
  await collect(run);
  assert.equal((await run.result).text, "It says old.");
  assert.equal(requests[0].response_format.type, "json_schema");
  assert.match(JSON.stringify(requests[1].messages.at(-1)), /Result of read_file.*old/);
});

test("parameters, web search and safety filters are sent to the provider", async (t) => {
  const server = await serve(t, (_, response) => response.writeHead(400).end("{}"));
  const model = { ...HTTP, baseUrl: server.url, webSearch: true, safety: { HARM: "LOW" }, providerOptions: { x: 1 } };
  const agent = await Agent.create({ model });
  t.after(() => agent.close());
  await collect(agent.run("go"));
  const sent = JSON.parse(server.requests[0].body);
  assert.equal(sent.x, 1);
  assert.deepEqual(sent.safetySettings, [{ category: "HARM", threshold: "LOW" }]);
  assert.ok(sent.tools.some((tool) => "google_search" in tool));
});
