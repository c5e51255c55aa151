// The ends of streams: left early, read late, or not read at all.

import assert from "node:assert/strict";
import test from "node:test";
import { Agent, isEmendError, memoryStore } from "emend";
import { Client } from "emend/llm";
import { mapped } from "./environments.mjs";
import { collect, SHOP, scripted, serve } from "./support.mjs";

async function create(t, options) {
  const agent = await Agent.create({ files: SHOP, ...options });
  t.after(() => agent.close());
  return agent;
}

test("a stream that is left while its server is silent ends at once", { timeout: 30_000 }, async (t) => {
  let closed;
  const gone = new Promise((resolve) => (closed = resolve));
  const server = await serve(t, (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    response.on("close", closed);
  });
  const providers = [{ api: "anthropic-messages", apiKey: "k", baseUrl: server.url }];
  const client = await Client.create({ providers });
  t.after(() => client.close());
  const stream = client.stream({ model: "m", messages: [{ role: "user", content: [{ kind: "text", text: "hi" }] }] });
  const events = stream[Symbol.asyncIterator]();
  const pending = events.next().catch((error) => error);
  while (server.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(await events.return(), { done: true, value: undefined });
  await gone;
  assert.ok(isEmendError(await pending, "aborted"));
  await assert.rejects(stream.result, (error) => isEmendError(error, "aborted"));
});

test("a run that is left in the middle of a write is over when the loop is left", async (t) => {
  const environment = mapped({ "notes.md": "one\n" });
  const { write } = environment;
  let began;
  const beginning = new Promise((resolve) => (began = resolve));
  environment.write = async (path, content) => {
    began();
    await new Promise((resolve) => setTimeout(resolve, 30));
    write(path, content);
  };
  const edit = ["edit_file", { file_path: "notes.md", old_string: "one", new_string: "two" }];
  const { model } = scripted([[edit], "Again."]);
  const agent = await create(t, { files: undefined, environment, model, mode: "direct" });
  const events = agent.run("edit")[Symbol.asyncIterator]();
  const reading = (async () => {
    for (let next = await events.next(); !next.done; next = await events.next());
  })();
  await beginning;
  await events.return();
  assert.equal(environment.text("notes.md"), "two\n", "the write was completed");
  assert.equal((await agent.run("go on").result).text, "Again.");
  await reading;
});

test("the result of a run has the whole answer, also if the provider paused in it", async (t) => {
  const answers = [
    [
      { type: "text_delta", delta: "First. " },
      { type: "reasoning_delta", delta: "Hm." },
      { type: "text_delta", delta: "Second. " },
      { type: "finish", reason: "pause" },
    ],
    [{ type: "text_delta", delta: "Third." }, { type: "finish" }],
  ];
  const provider = {
    name: "pauses",
    async *stream() {
      yield* answers.shift();
    },
  };
  const agent = await create(t, { model: { provider, model: "m" } });
  assert.equal((await agent.run("answer").result).text, "First. Second. Third.");
});

test("a feed that was left keeps no events", async (t) => {
  const tools = [{ name: "big", description: "", parameters: { type: "object" }, execute: () => "x".repeat(200_000) }];
  const { model } = scripted([...Array(30).keys()].map(() => [["big", {}]]));
  const agent = await create(t, { model, tools });
  const left = agent.events();
  await left.return();
  const open = agent.events();
  await open.next();
  await open.return();
  await agent.run("fill up").result;
  assert.throws(
    () => agent.events({ after: 1 }),
    (error) => isEmendError(error, "resync_required"),
  );
});

test("a turn that was saved twice is listed once", async () => {
  const store = memoryStore();
  const line = (record) => `${JSON.stringify(record)}\n`;
  const turn = (index, text) =>
    line({
      type: "turn",
      index,
      kind: index % 2 === 0 ? "user" : "assistant",
      at_ms: 10 + index,
      message: { role: index % 2 === 0 ? "user" : "assistant", content: [{ kind: "text", text }] },
    });
  const header = line({ type: "session", version: 1, id: "sess_1", at_ms: 5, provider: "p", model: "m" });
  await store.append("sess_1", header + turn(0, "hello") + turn(1, "Hi.") + turn(1, "Hi.") + turn(2, "bye"));
  const summary = async () => {
    const [{ title, nTurns, lastMs }] = await Agent.sessions(store);
    return { title, nTurns, lastMs };
  };
  assert.deepEqual(await summary(), { title: "hello", nTurns: 3, lastMs: 12 });
  await store.append("sess_1", turn(0, "good morning"));
  assert.deepEqual(await summary(), { title: "good morning", nTurns: 1, lastMs: 10 });
  const agent = await Agent.resume("sess_1", { files: SHOP, store });
  assert.equal(agent.turns().length, 1);
  agent.close();
});

test("events that nobody reads are joined, and no text is lost", async (t) => {
  const n_deltas = 3_000;
  const provider = {
    name: "talks",
    async *stream() {
      for (let n = 0; n < n_deltas; n += 1) yield { type: "text_delta", delta: `${n} ` };
      yield { type: "finish" };
    },
  };
  const agent = await create(t, { model: { provider, model: "m" } });
  const run = agent.run("talk");
  const { text } = await run.result;
  const events = await collect(run);
  const deltas = events.filter((event) => event.kind === "ASSISTANT_TEXT_DELTA");
  assert.equal(deltas.map((event) => event.data.delta).join(""), text);
  assert.ok(text.endsWith(`${n_deltas - 1} `));
  assert.ok(events.length < 300, `${events.length} events were kept`);
});
