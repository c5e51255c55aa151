// Functions of the caller that the core uses. None of them can stop the core, and every promise settles.

import assert from "node:assert/strict";
import test from "node:test";
import { Agent, isEmendError } from "emend";
import { Client } from "emend/llm";
import { collect, SHOP, scripted } from "./support.mjs";

const ANTHROPIC = { provider: "anthropic", apiKey: "key" };

/** Fails if `promise` does not settle soon. A promise that never settles would end the test run without a report. */
async function settles(promise) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(reject, 10_000, new Error("it never settles"))));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Checks that an agent that was there before works. */
async function works(agent) {
  assert.equal((await settles(agent.run("rename Price to Cost").result)).reason, "natural");
  agent.close();
}

/** Answers that are not a `Response`, or one whose accessors throw. */
const ANSWERS = {
  "no headers": () => ({ ok: true, status: 200, body: null }),
  nothing: () => undefined,
  "a text": () => "hello",
  "a status that throws": () => ({
    get status() {
      throw new Error("no status");
    },
  }),
  "headers that throw": () => ({
    status: 200,
    headers: {
      get entries() {
        throw new Error("no entries");
      },
      get [Symbol.iterator]() {
        throw new Error("no iterator");
      },
    },
    body: null,
  }),
  "a body that is a text": () => ({ status: 200, headers: {}, body: "hello" }),
  "a reader that throws": () => ({
    status: 200,
    headers: {},
    body: {
      getReader() {
        throw new Error("no reader");
      },
    },
  }),
  "chunks that throw": () => ({
    status: 200,
    headers: new Headers({ "content-type": "text/event-stream" }),
    body: {
      getReader: () => ({
        read: async () => ({
          get done() {
            throw new Error("no chunk");
          },
        }),
      }),
    },
  }),
  "a chunk that is a proxy": () => ({
    status: 200,
    headers: {},
    body: { getReader: () => ({ read: async () => ({ done: false, value: new Proxy(new Uint8Array(3), {}) }) }) },
  }),
  "an exception that throws": () => {
    throw {
      get message() {
        throw new Error("no message");
      },
    };
  },
};

for (const [what, answer] of Object.entries(ANSWERS)) {
  test(`a fetch that gives ${what} fails its own call only`, async () => {
    const options = { files: SHOP, model: ANTHROPIC, fetch: async () => answer(), maxDurationMs: 500 };
    const [agent, other] = [await Agent.create(options), await Agent.create({ files: SHOP })];
    const { reason, error } = await settles(agent.run("hi").result);
    assert.notEqual(reason, "natural");
    assert.notEqual(error?.code, "internal");
    agent.close();
    await works(other);

    const providers = [{ api: "anthropic-messages", apiKey: "key" }];
    const client = await Client.create({ providers, fetch: async () => answer() });
    const request = { model: "m", messages: [{ role: "user", content: [{ kind: "text", text: "hi" }] }] };
    await assert.rejects(settles(client.complete(request)), (thrown) => thrown.code !== "internal");
    assert.equal(client.providers.length, 1);
    client.close();
  });
}

test("the listener of a request's signal may cancel the run or close the agent", async () => {
  for (const react of [(run) => run.cancel(), (_, agent) => agent.close(), (_, agent) => agent.turns()]) {
    let run;
    const other = await Agent.create({ files: SHOP });
    const agent = await Agent.create({
      model: ANTHROPIC,
      fetch: (_url, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            react(run, agent);
            reject(signal.reason);
          });
          setTimeout(() => run.cancel(), 5);
        }),
    });
    run = agent.run("hi");
    const { reason } = await settles(run.result.catch((error) => ({ reason: error.code })));
    assert.ok(["aborted", "closed"].includes(reason), reason);
    agent.close();
    await works(other);
  }
});

test("a stream that a fetch made may call the agent for its next chunk", async () => {
  const other = await Agent.create({ files: SHOP });
  const agent = await Agent.create({
    model: ANTHROPIC,
    fetch: async () =>
      new Response(
        new ReadableStream(
          {
            pull(controller) {
              agent.close();
              controller.close();
            },
          },
          { highWaterMark: 0 },
        ),
      ),
  });
  await assert.rejects(settles(agent.run("hi").result), (error) => isEmendError(error, "closed"));
  await works(other);
});

test("bytes with accessors of the caller are copied or refused", async () => {
  class Strange extends Uint8Array {
    get length() {
      throw new Error("no length");
    }
  }
  const agent = await Agent.create({ files: { "a.txt": new Strange(3).fill(97) } });
  assert.equal(await agent.files.readDisk("a.txt"), "aaa");
  await assert.rejects(Agent.create({ files: { "a.txt": new Proxy(new Uint8Array(3), {}) } }), (error) =>
    isEmendError(error, "configuration"),
  );
  await works(agent);
});

test("a wrong signal is refused before the run begins", async () => {
  const agent = await Agent.create({ files: SHOP });
  const refused = (pattern) => (error) => isEmendError(error, "invalid_argument") && pattern.test(error.message);
  const controller = new AbortController();
  assert.throws(() => agent.run("hi", { signal: controller }), refused(/pass the `signal` of the controller/));
  assert.throws(() => agent.run("hi", { signal: "stop" }), refused(/`signal` must be an AbortSignal/));
  assert.throws(() => agent.run("hi", null), refused(/the options must be an object/));
  const throwing = { aborted: false, addEventListener: () => assert.fail("no listener"), removeEventListener() {} };
  assert.throws(() => agent.run("hi", { signal: throwing }), /no listener/);
  assert.equal((await agent.compact()).tokensAfter, 0);
  const unremovable = { ...throwing, addEventListener() {}, removeEventListener: () => assert.fail("not removed") };
  assert.equal((await settles(agent.run("hi", { signal: unremovable }).result)).reason, "natural");
  await works(agent);

  const client = await Client.create({ providers: [{ name: "mine", async *stream() {} }] });
  assert.throws(() => client.generateStream({ model: "m", prompt: "hi", signal: controller }), refused(/`signal`/));
  client.close();
});

test("closing an agent ends the loops over its events", async () => {
  const agent = await Agent.create({ files: SHOP });
  const kinds = [];
  const reading = (async () => {
    for await (const event of agent.events()) kinds.push(event.kind);
  })();
  const idle = agent.events();
  await agent.run("rename Price to Cost").result;
  agent.close();
  await settles(reading);
  assert.equal(kinds.at(-1), "PROCESSING_END");
  const late = await settles(collect(idle));
  assert.deepEqual([late[0].kind, late.at(-1).kind], ["SESSION_START", "PROCESSING_END"]);
  assert.throws(
    () => agent.events(),
    (error) => isEmendError(error, "closed"),
  );
});

test("a provider and tools that never wait leave turns to the event loop", async () => {
  const LIMIT_MS = 5_000;
  const began = performance.now();
  const provider = {
    name: "eager",
    async *stream() {
      // Without the limit a failure of this test would never end.
      if (performance.now() - began < LIMIT_MS) yield { type: "tool_call", name: "tick", arguments: {} };
      else yield { type: "text_delta", delta: "late" };
      yield { type: "finish" };
    },
  };
  let n = 0;
  const tick = { name: "tick", description: "Counts.", parameters: { type: "object" }, execute: () => String(n++) };
  const abort = new AbortController();
  setTimeout(() => abort.abort(), 100);
  const agent = await Agent.create({ model: { provider }, tools: [tick] });
  const { reason } = await agent.run("count", { signal: abort.signal }).result;
  assert.equal(reason, "aborted");
  assert.ok(performance.now() - began < LIMIT_MS);
  assert.ok(n > 1, "the tool was not called");
  agent.close();

  const again = new AbortController();
  setTimeout(() => again.abort(), 100);
  const client = await Client.create({ providers: [provider] });
  const generated = client.generate({
    model: "m",
    prompt: "count",
    tools: [tick],
    maxToolRounds: 1e6,
    signal: again.signal,
  });
  await assert.rejects(generated, (error) => isEmendError(error, "aborted"));
  client.close();
});

test("null is an error for a new agent, and resets an option of an existing one", async () => {
  const resettable = ["model", "profile", "edits", "tools", "questions", "webFetch", "subagents", "maxTurns"];
  resettable.push("maxToolRounds", "maxTokens", "maxCostUsd", "maxDurationMs", "policy");
  const others = ["files", "environment", "quota", "mode", "store", "fetch", "approve", "shell"];
  for (const name of [...resettable, ...others]) {
    await assert.rejects(Agent.create({ [name]: null }), (error) => isEmendError(error, "configuration"), name);
  }
  const tool = { name: "one", description: "", parameters: { type: "object" }, execute: () => "1" };
  const { model, requests } = scripted([]);
  const agent = await Agent.create({ model, tools: [tool], maxTurns: 1, instructions: null, effort: null });
  await agent.run("hello").result;
  assert.ok(requests[0].tools.some(({ name }) => name === "one"));
  assert.equal((await agent.run("again").result).reason, "turn_limit");
  agent.configure({ tools: null, maxTurns: null });
  await agent.run("again").result;
  assert.ok(requests.at(-1).tools.every(({ name }) => name !== "one"));
  for (const name of resettable) agent.configure({ [name]: null });
  assert.match((await agent.run("what can you do?").result).text, /rename/i);
  assert.throws(
    () => agent.setModel(null),
    (error) => isEmendError(error, "configuration"),
  );
  agent.close();
});

test("wrong options are errors with a name, and none is dropped without a word", async () => {
  const tool = { name: "one", description: "", parameters: { type: "object" }, execute: () => "" };
  const wrong = [
    [null, /the options must be an object/],
    [5, /the options must be an object/],
    [[], /the options must be an object/],
    [{ files: null }, /`files` must be an object/],
    [{ files: new Map([["a", "b"]]) }, /`files` must be a record/],
    [{ files: ["a"] }, /`files` must be an object/],
    [{ tools: [null] }, /each tool must be an object/],
    [
      { tools: [{ ...tool, pathParameter: ["file"] }] },
      /the tool "one" has the unknown field "pathParameter", expected one of/,
    ],
    [{ tools: [tool, { ...tool, name: "two" }, tool] }, /two of your tools have the name "one"/],
    [{ tools: [{ ...tool, parameters: { type: "object", parse: () => 1 } }] }, /`parse` is a function/],
    [{ maxTurns: Number.NaN }, /`maxTurns` is NaN/],
    [{ maxCostUsd: Number.NaN }, /`maxCostUsd` is NaN/],
    [{ instructions: () => "x" }, /`instructions` is a function/],
  ];
  const agent = await Agent.create({ maxTurns: Number.POSITIVE_INFINITY });
  for (const [options, reason] of wrong) {
    const refused = (error) => isEmendError(error, "configuration") && reason.test(error.message);
    await assert.rejects(Agent.create(options), refused, String(reason));
    if (options === null || "tools" in Object(options) || "maxTurns" in Object(options))
      assert.throws(
        () => agent.configure(options),
        (error) => isEmendError(error, "configuration"),
        String(reason),
      );
  }
  const invalid = (error) =>
    isEmendError(error, "invalid_argument") && /the options must be an object/.test(error.message);
  await assert.rejects(agent.accept([], null), invalid);
  await assert.rejects(agent.reject([], null), invalid);
  await assert.rejects(agent.files.write("a", "b", null), invalid);
  await assert.rejects(agent.files.grep("a", null), invalid);
  await assert.rejects(agent.files.glob("a", null), invalid);
  await assert.rejects(agent.files.export(null), invalid);
  assert.throws(() => agent.events(null), invalid);
  await works(agent);
  await assert.rejects(
    Client.create({}),
    (error) => isEmendError(error, "configuration") && /give `providers`/.test(error.message),
  );
});
