// Names: JavaScript gets and gives camelCase, and names inside of the user's values stay.

import assert from "node:assert/strict";
import test from "node:test";
import { Agent, init, memoryStore } from "emend";
import { Client, load } from "emend/llm";
import { collect, eventSamples, SHOP, scripted } from "./support.mjs";

const internal = (file) => import(new URL(file, import.meta.resolve("emend")));

/** Fields whose values belong to the user or to a provider. */
const USERS = ["arguments", "parameters", "raw", "providerData", "providerOptions", "metadata", "jsonSchema", "detail"];

/** Returns the paths of the library's own names that have an underscore. */
function snakeNames(value, path = "") {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => {
    const where = `${path}.${name}`;
    const isUsers = USERS.includes(name) || isResult(value, name);
    return [...(name.includes("_") ? [where] : []), ...(isUsers ? [] : snakeNames(item, where))];
  });
}

/** Whether a field holds the result of a tool. */
const isResult = (owner, name) =>
  (name === "content" && owner.kind === "tool_result") ||
  (name === "content" && "isError" in owner) ||
  (name === "data" && "callId" in owner);

/** A handle that returns texts, then the end. */
function handleOf(texts) {
  const left = [...texts, ""];
  return { id: 1, poll: () => left.shift(), cancel() {}, free() {} };
}

const wasm = { call: (work) => work(), drive: (_, driver) => driver.step(), release() {}, isDead: false };

test("each kind of event has the names of JavaScript, in a run and in a subscription", async () => {
  const [{ Run }, { EventFeed }, { readEvent }] = await Promise.all(
    ["agent/run.js", "agent/event-feed.js", "agent/read-event.js"].map(internal),
  );
  const samples = eventSamples();
  const texts = samples.map((sample) => JSON.stringify(sample));
  const control = { polling: (_, poll) => poll(), steer() {}, cancelled() {} };
  const run = new Run(wasm, () => handleOf(texts), new Set(), undefined, control);
  const feed = new EventFeed(wasm, () => handleOf(texts), new Set(), readEvent);
  // The last sample is an error, whose class the core knows.
  await init();
  const [ofRun, ofFeed] = [await collect(run), await collect(feed)];
  assert.deepEqual(ofRun, ofFeed);
  assert.equal(ofRun.length, samples.length);
  for (const event of ofRun) assert.deepEqual(snakeNames(event), [], event.kind);
  const dataOf = (kind) => ofRun.find((event) => event.kind === kind).data;
  const users = { users_key: { users_key: [{ users_key: 1 }] } };
  const ended = dataOf("TOOL_CALL_END");
  assert.deepEqual([ended.data, dataOf("TOOL_CALL_START").arguments], [users, users]);
  assert.equal(ended.errorInfo.data.latestFileState.filePath, "a.md");
  assert.deepEqual(dataOf("SUBAGENT_EVENT").event, { kind: "TOOL_CALL_END", data: ended });
  assert.deepEqual(dataOf("PROCESSING_END").usage.raw, { users_key: 1 });
  assert.deepEqual((await run.result).usage, dataOf("PROCESSING_END").usage);
  assert.equal((await run.result).error.data.latestFileState.filePath, "a.md");
});

/** A tool whose arguments and results have names with underscores. */
const lookup = {
  name: "look_up",
  description: "Looks a word up.",
  parameters: { type: "object", properties: { the_word: { type: "string" } } },
  effect: "reads",
  execute: ({ the_word }) => ({ the_word, n_found: 1 }),
};

test("requests, history, approvals and sessions have the names of JavaScript", async (t) => {
  const store = memoryStore();
  const asked = [];
  const { model, requests } = scripted([
    [["look_up", { the_word: "mare" }]],
    [["read_file", { file_path: "notes.md" }]],
    [["edit_file", EDIT]],
    "Done.",
  ]);
  const options = { files: SHOP, model, tools: [lookup], store, profile: "none" };
  const agent = await Agent.create({
    ...options,
    approve: (request) => (asked.push(request), "allow"),
    policy: [
      { action: "allow", tool: "read" },
      { action: "ask", tool: "edit" },
    ],
  });
  t.after(() => agent.close());
  const events = await collect(agent.run("look"));
  const fork = await Agent.fork(agent.sessionId, options);
  t.after(() => fork.close());
  const sessions = await Agent.sessions(store);
  const given = { requests, events, turns: agent.turns(), asked, sessions, compaction: await agent.compact() };
  assert.deepEqual(snakeNames(given), []);
  assert.equal(sessions.find(({ id }) => id === fork.sessionId).forkedFrom.id, agent.sessionId);
  assert.deepEqual(
    asked.map(({ toolName }) => toolName),
    ["edit_file"],
  );
  const [, called, answered] = given.turns;
  assert.deepEqual(called.message.content[0].arguments, { the_word: "mare" });
  assert.deepEqual(JSON.parse(answered.message.content[0].content), { the_word: "mare", n_found: 1 });
  assert.equal(answered.message.content[0].toolCallId, called.message.content[0].id);
  assert.deepEqual(requests[0].tools.find(({ name }) => name === "look_up").parameters, lookup.parameters);
  assert.deepEqual(
    Object.keys(agent.review().files[0].hunks[0]).filter((name) => name.includes("_")),
    [],
  );
});

const EDIT = { file_path: "notes.md", old_string: "cents", new_string: "euros" };

test("saved sessions keep the names of their format", async (t) => {
  const store = memoryStore();
  const line = (record) => `${JSON.stringify(record)}\n`;
  const call = { kind: "tool_call", id: "c1", name: "look_up", arguments: { the_word: "a" }, raw_arguments: "{}" };
  const result = { kind: "tool_result", tool_call_id: "c1", name: "look_up", content: { n_found: 1 }, is_error: false };
  const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
  const turns = [
    { kind: "user", message: { role: "user", content: [{ kind: "text", text: "hello" }] } },
    { kind: "assistant", message: { role: "assistant", content: [call] }, usage, response_id: "r1" },
    { kind: "tool_results", message: { role: "tool", content: [result] } },
    { kind: "assistant", message: { role: "assistant", content: [{ kind: "text", text: "One." }] } },
  ];
  const header = { type: "session", version: 1, id: "sess_1", at_ms: 5, provider: "p", model: "m" };
  const saved = turns.map((turn, index) => line({ type: "turn", index, at_ms: 10 + index, ...turn })).join("");
  await store.append("sess_1", line(header) + saved);

  const { model, requests } = scripted(["Two."]);
  const agent = await Agent.resume("sess_1", { files: SHOP, store, model });
  t.after(() => agent.close());
  const [, called, answered] = agent.turns();
  assert.deepEqual([called.atMs, called.responseId, called.usage.inputTokens], [11, "r1", 1]);
  assert.equal(called.message.content[0].rawArguments, "{}");
  assert.deepEqual([answered.message.content[0].toolCallId, answered.message.content[0].isError], ["c1", false]);
  assert.deepEqual(answered.message.content[0].content, { n_found: 1 });
  await agent.run("again").result;
  assert.equal(requests[0].messages.find(({ role }) => role === "tool").content[0].toolCallId, "c1");
  const added = (await store.load("sess_1")).slice((line(header) + saved).length);
  assert.match(added, /"at_ms":/);
  assert.doesNotMatch(added, /"(?:atMs|toolCallId|inputTokens)":/);
});

test("a client takes and gives the names of JavaScript, and passes the user's names on", async (t) => {
  const requests = [];
  const provider = {
    name: "own",
    async *stream(request) {
      requests.push(request);
      if (requests.length === 1) {
        const toolCall = {
          id: "c1",
          name: "look_up",
          arguments: { the_word: "mare" },
          rawArguments: '{"the_word":"mare"}',
        };
        yield { type: "tool_call_end", toolCall };
      } else yield { type: "text_delta", delta: "sea" };
      yield { type: "finish", usage: { inputTokens: 3, outputTokens: 2, cacheReadTokens: 1 } };
    },
  };
  const client = await Client.create({ providers: [provider] });
  t.after(() => client.close());
  const options = {
    model: "m",
    prompt: "go",
    tools: [lookup],
    maxToolRounds: 2,
    maxTokens: 9,
    topP: 0.5,
    stopSequences: ["x"],
    reasoningEffort: "low",
    toolChoice: { mode: "named", toolName: "look_up" },
    responseFormat: { type: "json_schema", jsonSchema: { properties: { the_word: {} } } },
    providerOptions: { own: { service_tier: "flex" } },
    metadata: { user_id: "u" },
  };
  const stream = client.generateStream(options);
  const events = [];
  for await (const event of stream) events.push(event);
  const result = await stream.result;
  assert.deepEqual(snakeNames({ requests, events, result }), []);
  const { maxTokens, topP, stopSequences, reasoningEffort, toolChoice, responseFormat, providerOptions, metadata } =
    options;
  const [{ model: _, messages: __, tools: ___, provider: ____, ...sent }, second] = requests;
  assert.deepEqual(sent, {
    maxTokens,
    topP,
    stopSequences,
    reasoningEffort,
    toolChoice,
    responseFormat: { ...responseFormat, strict: false },
    providerOptions,
    metadata,
  });
  assert.equal(second.messages.at(-1).content[0].toolCallId, "c1");
  assert.deepEqual([result.totalUsage.inputTokens, result.totalUsage.cacheReadTokens], [6, 2]);
  assert.equal(result.response.finishReason.reason, "stop");

  const formats = await load();
  assert.deepEqual(snakeNames(formats.models()), []);
  const body = JSON.parse(
    formats.encode({ api: "openai-chat", apiKey: "k" }, { model: "m", messages: [], maxTokens: 7 }).body,
  );
  assert.equal(body.max_completion_tokens ?? body.max_tokens, 7);
});
