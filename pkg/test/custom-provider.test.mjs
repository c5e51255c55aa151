// Providers written in JavaScript, correct and faulty, in the client and as the agent's model.

import assert from "node:assert/strict";
import test from "node:test";
import { Agent, ProviderError } from "emend";
import { Client, isEmendError, llmProblem } from "emend/llm";
import { collect, SHOP } from "./support.mjs";

const hello = { model: "m", messages: [{ role: "user", content: [{ kind: "text", text: "hi" }] }] };

/** A client whose only provider has this `stream` function. */
const clientOf = (stream, rest = {}) => Client.create({ providers: [{ name: "mine", stream, ...rest }] });

test("a provider may yield text only; the other events are derived", async () => {
  const asked = [];
  const ours = await clientOf(async function* (request) {
    asked.push(request);
    yield { type: "reasoning_delta", delta: "hm" };
    yield { type: "text_delta", delta: "Hel" };
    yield { type: "text_delta", delta: "lo" };
    yield { type: "finish", usage: { inputTokens: 3, outputTokens: 2 } };
    assert.fail("nothing is read after the end");
  });
  const types = [];
  const stream = ours.stream(hello);
  for await (const event of stream) types.push(event.type);
  assert.deepEqual(types, [
    "stream_start",
    "reasoning_start",
    "reasoning_delta",
    "reasoning_end",
    "text_start",
    "text_delta",
    "text_delta",
    "text_end",
    "finish",
  ]);
  const { message, model, provider, finishReason: finish, usage } = await stream.result;
  assert.deepEqual(message.content, [
    { kind: "thinking", text: "hm" },
    { kind: "text", text: "Hello" },
  ]);
  assert.deepEqual([model, provider, finish.reason, usage.outputTokens], ["m", "mine", "stop", 2]);
  assert.deepEqual(asked[0].messages, hello.messages);
  ours.close();
});

test("tool calls run", async () => {
  let round = 0;
  const ours = await clientOf(async function* (request) {
    round += 1;
    if (round === 1) yield { type: "tool_call", name: "add", arguments: '{"a":1,"b":2}' };
    else yield { type: "text_delta", delta: JSON.stringify(request.messages.at(-1).content[0].content) };
    yield { type: "finish" };
  });
  const parameters = { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } };
  const tools = [{ name: "add", description: "Adds", parameters, execute: ({ a, b }) => a + b }];
  assert.equal((await ours.generate({ model: "m", prompt: "1 + 2", tools })).text, "3");
  ours.close();
});

test("failures become the right error, after all events before them", async () => {
  const text = { type: "text_delta", delta: "so far" };
  const cases = [
    [
      "throws at once",
      () => {
        throw new Error("no model");
      },
      [],
      "provider",
      /mine failed: no model/,
    ],
    [
      "throws no error",
      () => {
        throw 7;
      },
      [],
      "provider",
      /mine failed: 7/,
    ],
    ["returns nothing", () => undefined, [], "provider", /must return an async iterable/],
    [
      "throws later",
      async function* () {
        yield text;
        throw new Error("lost it");
      },
      ["so far"],
      "provider",
      /lost it/,
    ],
    [
      "yields garbage",
      async function* () {
        yield text;
        yield { type: "telepathy" };
      },
      ["so far"],
      "stream",
      /invalid event: unknown event type `telepathy`/,
    ],
    [
      "yields nothing at all",
      async function* () {
        yield undefined;
      },
      [],
      "stream",
      /invalid event/,
    ],
    [
      "yields a cycle",
      async function* () {
        yield text;
        const a = {};
        a.a = a;
        yield a;
      },
      ["so far"],
      "provider",
      /circular/i,
    ],
    [
      "stops short",
      async function* () {
        yield text;
      },
      ["so far"],
      "stream",
      /ended without a `finish` event/,
    ],
  ];
  for (const [name, stream, expected, code, pattern] of cases) {
    const ours = await clientOf(stream);
    const seen = [];
    await assert.rejects(
      async () => {
        for await (const event of ours.stream(hello)) if (event.type === "text_delta") seen.push(event.delta);
      },
      (error) => {
        assert.ok(isEmendError(error, code), `${name}: ${error.code} ${error}`);
        assert.match(error.message, pattern, name);
        assert.equal(llmProblem(error).provider, "mine");
        return true;
      },
    );
    assert.deepEqual(seen, expected, name);
    ours.close();
  }
});

test("a failure that is marked as retryable is retried", async () => {
  let n = 0;
  const ours = await clientOf(async function* () {
    n += 1;
    if (n === 1) throw Object.assign(new Error("busy"), { retryable: true });
    yield { type: "text_delta", delta: "now" };
    yield { type: "finish" };
  });
  assert.equal((await ours.generate({ model: "m", prompt: "x", retry: { baseDelayMs: 1 } })).text, "now");
  assert.equal(n, 2);
  ours.close();
});

test("a response that never ends is abandoned, and the provider is notified", async () => {
  const endless = () => {
    const state = { aborted: false, returned: false };
    const stream = (_, { signal }) => {
      signal.addEventListener("abort", () => (state.aborted = true));
      let n = 0;
      return {
        [Symbol.asyncIterator]: () => ({
          next: () =>
            (n += 1) === 1 ? Promise.resolve({ value: { type: "text_delta", delta: "a" } }) : new Promise(() => {}),
          return: async () => ((state.returned = true), { done: true }),
        }),
      };
    };
    return { state, stream };
  };
  const told = async ({ aborted, returned }, name) => {
    for (let turn = 0; turn < 20; turn += 1) await undefined;
    assert.deepEqual({ aborted, returned }, { aborted: true, returned: true }, name);
  };

  const isTimeout = (error) => isEmendError(error, "timeout") && error instanceof ProviderError;
  const silent = endless();
  const impatient = await clientOf(silent.stream, { idleTimeoutMs: 20 });
  await assert.rejects(
    impatient.complete(hello),
    (error) => isTimeout(error) && /sent no event for 20 ms/.test(error.message),
  );
  await new Promise(setImmediate);
  await told(silent.state, "silent");

  const given = endless();
  const ours = await clientOf(given.stream);
  const abort = new AbortController();
  const seen = [];
  await assert.rejects(
    async () => {
      for await (const event of ours.stream(hello, { signal: abort.signal })) {
        if (event.type === "text_delta") seen.push(event.delta), setImmediate(() => abort.abort());
      }
    },
    (error) => isEmendError(error, "aborted"),
  );
  assert.deepEqual(seen, ["a"]);
  await new Promise(setImmediate);
  await told(given.state, "aborted");

  const limited = endless();
  const generator = await clientOf(limited.stream);
  await assert.rejects(generator.generate({ model: "m", prompt: "x", timeout: { totalMs: 20 } }), (error) =>
    isTimeout(error),
  );
  await new Promise(setImmediate);
  await told(limited.state, "limited");
  const agent = await Agent.create({
    model: { provider: { name: "mine", stream: endless().stream, idleTimeoutMs: 20 } },
  });
  const { error } = await agent.run("hi").result;
  agent.close();
  assert.ok(isTimeout(error), String(error));
});

test("the agent works with a custom provider as its model", async () => {
  const provider = {
    name: "mine",
    async *stream(request) {
      const results = request.messages.filter((message) => message.role === "tool").length;
      if (results === 0) {
        yield { type: "tool_call", name: "read_file", arguments: { file_path: "notes.md" } };
      } else if (results === 1) {
        yield {
          type: "tool_call",
          name: "edit_file",
          arguments: { file_path: "notes.md", old_string: "cents", new_string: "öre" },
        };
      } else {
        yield { type: "text_delta", delta: "Done." };
      }
      yield { type: "finish", usage: { inputTokens: 1, outputTokens: 1 } };
    },
  };
  const agent = await Agent.create({ files: SHOP, model: { provider, model: "tiny" } });
  const events = await collect(agent.run("use öre"));
  assert.deepEqual(events[0].data, { model: "tiny", provider: "mine", offline: false });
  assert.equal(events.at(-1).data.reason, "natural");
  assert.match((await agent.files.read("notes.md")).text, /Prices are in öre\./);
  assert.equal(agent.review().files[0].hunks.length, 1);

  agent.setModel({
    provider: {
      name: "broken",
      stream: () => {
        throw new Error("out of memory");
      },
    },
  });
  const { reason, error } = await agent.run("again").result;
  assert.equal(reason, "error");
  assert.ok(error.name === "ProviderError" && /broken failed: out of memory/.test(error.message), String(error));

  let signal;
  agent.setModel({
    provider: {
      name: "slow",
      stream: (_, options) => {
        signal = options.signal;
        return { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) };
      },
    },
  });
  const run = agent.run("wait");
  const ended = run.result;
  while (signal === undefined) await new Promise(setImmediate);
  run.cancel();
  assert.equal((await ended).reason, "aborted");
  while (!signal.aborted) await new Promise(setImmediate);
  assert.match((await agent.files.read("notes.md")).text, /öre/);
  agent.close();
});

test("a provider without a name or a function is rejected", async () => {
  for (const provider of [{ stream() {} }, { name: "x", stream: 7 }, { name: "", stream() {} }, {}]) {
    await assert.rejects(Client.create({ providers: [provider] }), (error) => isEmendError(error, "configuration"));
    await assert.rejects(Agent.create({ model: { provider } }), (error) => isEmendError(error, "configuration"));
  }
  const idle = { name: "x", stream() {}, idleTimeoutMs: "soon" };
  await assert.rejects(Client.create({ providers: [idle] }), (error) => isEmendError(error, "configuration"));
});
