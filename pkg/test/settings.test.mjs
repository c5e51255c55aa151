// The npm options in docs/settings.md: each is accepted, and a wrong value is rejected. Effects of the fallback model and
// others; option-effects.test.mjs says where the rest is tested.

import assert from "node:assert/strict";
import test from "node:test";
import { Agent, ConfigError, memoryStore } from "emend";
import { until } from "./environments.mjs";
import { collect, npmOptions, scripted, serve } from "./support.mjs";

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

test("every npm option of docs/settings.md is accepted, and a wrong value of it is rejected", async () => {
  assert.deepEqual(npmOptions(), Object.keys(SAMPLES).sort());
  for (const [name, [right, wrong]] of Object.entries(SAMPLES)) {
    const agent = await Agent.create(right).catch((error) => assert.fail(`${name}: ${error}`));
    agent.close();
    await assert.rejects(Agent.create(wrong), ConfigError, name);
  }
  await assert.rejects(Agent.create({ maxToolRound: 3 }), ConfigError);
});

test("an option of a fallback model that would have no effect is rejected", async () => {
  for (const [option, value] of Object.entries({
    fallback,
    fallbackAttempts: 2,
    fallbackAfterMs: 2,
    providerOptions: { a: 1 },
    webSearch: true,
    safety: { HARM: "LOW" },
  })) {
    const created = Agent.create(http({ fallback: { ...HTTP, [option]: value } }));
    await assert.rejects(created, (error) => error instanceof ConfigError && error.message.includes(option), option);
  }
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
    assert.equal(denied.isError, true);
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

/** How a first model is silent: nothing arrives, the head of a response only, or pieces without an end. */
const SILENT = {
  nothing: () => {},
  head: (response) => response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders(),
  pieces(response) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const piece = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "First" } }] })}\n\n`;
    const timer = setInterval(() => response.write(piece), 20);
    response.on("close", () => clearInterval(timer));
  },
};

for (const [how, answer] of Object.entries(SILENT)) {
  test(`a model that is not done after fallbackAfterMs is left: ${how}`, { timeout: 60_000 }, async (t) => {
    const AFTER_MS = 200;
    const log = [];
    const server = await serve(t, (_, response) => {
      if (JSON.parse(server.requests.at(-1).body).model === "b")
        return response.writeHead(200, { "content-type": "text/event-stream" }).end(chat("Second."));
      answer(response);
      response.on("close", () => log.push("a is closed"));
    });
    const times = [];
    const send = (url, init) => {
      times.push(performance.now());
      log.push(`${JSON.parse(new TextDecoder().decode(init.body)).model} is asked`);
      return fetch(url, init);
    };
    const one = { provider: "openai_compatible", model: "a", baseUrl: server.url };
    const model = { ...one, fallback: { ...one, model: "b" }, fallbackAttempts: 3, fallbackAfterMs: AFTER_MS };
    const agent = await Agent.create({ model, fetch: send });
    t.after(() => agent.close());
    const run = agent.run("go");
    const events = await collect(run);
    assert.deepEqual([(await run.result).reason, (await run.result).text], ["natural", "Second."]);
    // The text of the first model is not part of the conversation.
    assert.ok(!JSON.stringify(events).includes("First"));
    await until(() => log.length === 3);
    // It gets no second attempt, and its connection is closed.
    assert.deepEqual(log.toSorted(), ["a is asked", "a is closed", "b is asked"]);
    // The time begins a little before the request.
    const waited = times[1] - times[0];
    assert.ok(waited > AFTER_MS / 2, `left after ${waited} ms`);
  });
}

test("a model that responds within fallbackAfterMs is not left", async (t) => {
  const server = await serve(t, (_, response) =>
    response.writeHead(200, { "content-type": "text/event-stream" }).end(chat("First.")),
  );
  const one = { provider: "openai_compatible", model: "a", baseUrl: server.url };
  const agent = await Agent.create({ model: { ...one, fallback: { ...one, model: "b" }, fallbackAfterMs: 60_000 } });
  t.after(() => agent.close());
  assert.equal((await agent.run("go").result).text, "First.");
  assert.equal(server.requests.length, 1);
});

test("the first model gets as many attempts as fallbackAttempts says", async (t) => {
  const call = { index: 0, id: "c", type: "function", function: { name: "no_such_tool", arguments: "{}" } };
  const unknown = { choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: "tool_calls" }] };
  const failures = {
    "a failure": [500, ""],
    "an unknown tool": [200, `data: ${JSON.stringify(unknown)}\n\ndata: [DONE]\n\n`],
  };
  for (const [what, [status, body]] of Object.entries(failures)) {
    for (const [attempts, asked] of [
      [undefined, "aab"],
      [1, "ab"],
      [3, "aaab"],
    ]) {
      const server = await serve(t, (_, response) => {
        const isFirst = JSON.parse(server.requests.at(-1).body).model === "a";
        response.writeHead(isFirst ? status : 200, { "content-type": "text/event-stream" });
        response.end(isFirst ? body : chat("Second."));
      });
      const one = { provider: "openai_compatible", model: "a", baseUrl: server.url };
      const agent = await Agent.create({
        model: { ...one, fallback: { ...one, model: "b" }, fallbackAttempts: attempts },
      });
      t.after(() => agent.close());
      assert.equal((await agent.run("go").result).text, "Second.");
      assert.equal(server.requests.map((request) => JSON.parse(request.body).model).join(""), asked, what);
    }
  }
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
  assert.equal(requests[0].responseFormat.type, "json_schema");
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
