// `emend/llm`: the client over HTTP, generation with tools, and the wire formats.

import assert from "node:assert/strict";
import test from "node:test";
import { Client, isEmendError, llmProblem, load } from "emend/llm";
import { answerEvents, serve, sse } from "./support.mjs";

const formats = await load();
const KEY = "sk-secret";
const hello = { model: "m", messages: [{ role: "user", content: [{ kind: "text", text: "hi" }] }] };

/** Starts a server that speaks Anthropic's format, and a client for it. */
async function client(t, answer, options = {}) {
  const server = await serve(t, answer);
  const made = await Client.create({
    providers: [{ api: "anthropic-messages", apiKey: KEY, baseUrl: server.url }],
    ...options,
  });
  t.after(() => made.close());
  return { server, client: made };
}

const says = (text) => (_, response) =>
  response.writeHead(200, { "content-type": "text/event-stream" }).end(sse(answerEvents(text)));

test("a response is complete or streamed event by event", async (t) => {
  const { server, client: ours } = await client(t, says("Hello there."));
  assert.deepEqual(ours.providers, ["anthropic"]);
  const answer = await ours.complete(hello);
  assert.deepEqual(answer.message, { role: "assistant", content: [{ kind: "text", text: "Hello there." }] });
  assert.equal(answer.finishReason.reason, "stop");
  assert.equal(answer.usage.inputTokens, 10);
  assert.equal(server.requests[0].headers["x-api-key"], KEY);

  const types = [];
  const stream = ours.stream(hello);
  assert.equal(server.requests.length, 1, "a stream that nobody reads sends nothing");
  for await (const event of stream) types.push(event.type);
  assert.deepEqual(types, ["stream_start", "text_start", "text_delta", "text_end", "finish"]);
  assert.deepEqual((await stream.result).message, answer.message);
  assert.throws(
    () => stream[Symbol.asyncIterator](),
    (error) => isEmendError(error, "busy"),
  );
});

test("every format and every way of configuration reaches its server", async (t) => {
  const server = await serve(t, (_, response) => response.writeHead(404).end("{}"));
  const providers = ["anthropic-messages", "openai-responses", "openai-chat", "gemini"].map((api) => ({
    api,
    name: api,
    apiKey: KEY,
    baseUrl: server.url,
    headers: { "x-team": "blue" },
  }));
  const ours = await Client.create({ providers });
  for (const { name } of providers) {
    await assert.rejects(ours.complete({ ...hello, provider: name }), (error) => llmProblem(error).provider === name);
  }
  assert.deepEqual(
    server.requests.map((request) => request.url.split("?")[0]),
    ["/v1/messages", "/v1/responses", "/v1/chat/completions", "/v1beta/models/m:streamGenerateContent"],
  );
  assert.ok(server.requests.every((request) => request.headers["x-team"] === "blue"));
  ours.close();
  const byEnv = await Client.create({
    env: { ANTHROPIC_API_KEY: KEY, GEMINI_API_KEY: KEY, OTHER: undefined },
    defaultProvider: "gemini",
  });
  assert.deepEqual(byEnv.providers, ["anthropic", "gemini"]);
  byEnv.close();
});

test("failures have classes and details, and contain no key", async (t) => {
  const cases = [
    [401, "authentication", "authentication", false],
    [404, "provider", "model_not_found", false],
    [429, "provider", "rate_limit", true],
    [529, "provider", "server", true],
  ];
  for (const [status, code, kind, retryable] of cases) {
    const body = JSON.stringify({ type: "error", error: { type: "x", message: `no ${KEY}` } });
    const { client: ours } = await client(t, (_, response) =>
      response.writeHead(status, { "retry-after": "7" }).end(body),
    );
    await assert.rejects(ours.complete(hello), (error) => {
      assert.ok(isEmendError(error, code) && error.name === "ProviderError", String(error));
      const problem = llmProblem(error);
      assert.deepEqual([problem.kind, problem.statusCode, error.retryable], [kind, status, retryable]);
      assert.equal(problem.retryAfterMs, retryable ? 7000 : null);
      assert.ok(!JSON.stringify([error.message, error.data]).includes(KEY), "the key is in the error");
      return true;
    });
  }
  const dead = await Client.create({
    providers: [{ api: "openai-chat", baseUrl: "http://127.0.0.1:9" }],
    fetch: () => Promise.reject(new Error("refused")),
  });
  await assert.rejects(
    dead.complete(hello),
    (error) => isEmendError(error, "network") && /refused/.test(error.message),
  );
});

test("a truncated response keeps earlier events", async (t) => {
  const events = answerEvents("so far");
  const { client: ours } = await client(t, (_, response) => response.writeHead(200).end(sse(events.slice(0, 3))));
  const seen = [];
  await assert.rejects(
    async () => {
      for await (const event of ours.stream(hello)) if (event.type === "text_delta") seen.push(event.delta);
    },
    (error) => isEmendError(error, "stream"),
  );
  assert.deepEqual(seen, ["so far"]);
});

test("a signal, leaving the loop and closing end the request", async (t) => {
  let gone;
  const left = new Promise((resolve) => (gone = resolve));
  let n = 0;
  const { client: ours } = await client(t, (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(sse(answerEvents("partly").slice(0, 3)));
    response.on("close", () => (n += 1) === 3 && gone());
  });
  const abort = new AbortController();
  const texts = [];
  await assert.rejects(
    async () => {
      for await (const event of ours.stream(hello, { signal: abort.signal })) {
        if (event.type !== "text_delta") continue;
        texts.push(event.delta);
        abort.abort(new Error("enough"));
      }
    },
    (error) => isEmendError(error, "aborted") && error.name === "AbortError" && error.cause.message === "enough",
  );
  assert.deepEqual(texts, ["partly"]);
  for await (const event of ours.stream(hello)) if (event.type === "text_delta") break;
  const closing = ours.stream(hello);
  const reading = closing[Symbol.asyncIterator]();
  await reading.next();
  const pending = assert.rejects(
    async () => {
      for (;;) await reading.next();
    },
    (error) => isEmendError(error, "closed"),
  );
  ours.close();
  await pending;
  await left;
  await assert.rejects(ours.complete(hello), (error) => isEmendError(error, "closed"));
  await assert.rejects(ours.complete(hello, { signal: AbortSignal.abort() }), (error) => isEmendError(error, "closed"));
});

/** A response that calls a tool. */
function callEvents(name, args) {
  const [start, , , , end, stop] = answerEvents("");
  return [
    start,
    { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "call_1", name, input: {} } },
    { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: args } },
    { type: "content_block_stop", index: 0 },
    { ...end, delta: { ...end.delta, stop_reason: "tool_use" } },
    stop,
  ];
}

const weather = {
  name: "weather",
  description: "Tells the weather",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

test("tools run, and the model gets their results or exceptions", async (t) => {
  for (const [execute, args, content, isError] of [
    [({ city }) => ({ city, degrees: 7 }), '{"city":"Oslo"}', { city: "Oslo", degrees: 7 }, false],
    [
      async () => {
        throw new Error("no station");
      },
      '{"city":"Oslo"}',
      "no station",
      true,
    ],
    [() => undefined, '{"city":"Oslo"}', null, false],
    [() => new Error("no station"), '{"city":"Oslo"}', "no station", true],
    [() => ({ degrees: Number.NaN }), '{"city":"Oslo"}', /returned NaN in `degrees`;/, true],
    [() => new Response("cold"), '{"city":"Oslo"}', /returned a Response;/, true],
    [() => assert.fail("ran"), '{"town":"Oslo"}', /Invalid arguments for weather/, true],
  ]) {
    let round = 0;
    const { client: ours, server } = await client(t, (_, response) => {
      round += 1;
      response.writeHead(200).end(sse(round === 1 ? callEvents("weather", args) : answerEvents("Cold.")));
    });
    const kinds = [];
    const stream = ours.generateStream({
      model: "m",
      prompt: "How is it?",
      system: "Be brief.",
      tools: [{ ...weather, execute }],
    });
    for await (const event of stream)
      if (event.type === "step_finish" || event.type === "tool_call_end") kinds.push(event.type);
    const result = await stream.result;
    assert.deepEqual(kinds, ["tool_call_end", "step_finish", "step_finish"]);
    assert.equal(result.text, "Cold.");
    assert.equal(result.steps.length, 2);
    assert.equal(result.totalUsage.outputTokens, 10);
    const [given] = result.steps[0].toolResults;
    assert.equal(given.isError, isError);
    if (content instanceof RegExp) assert.match(given.content, content);
    else assert.deepEqual(given.content, content);
    assert.match(server.requests[1].body, /tool_result/);
  }
});

test("calls of a tool without `execute` are returned to the caller", async (t) => {
  const { client: ours } = await client(t, (_, response) =>
    response.writeHead(200).end(sse(callEvents("weather", '{"city":"Oslo"}'))),
  );
  const result = await ours.generate({ model: "m", prompt: "How is it?", tools: [weather] });
  assert.deepEqual(
    result.toolCalls.map(({ name, arguments: args }) => [name, args]),
    [["weather", { city: "Oslo" }]],
  );
});

test("failed calls are retried where a retry may help", async (t) => {
  let n = 0;
  const { client: ours } = await client(t, (_, response) => {
    n += 1;
    if (n < 3) response.writeHead(503).end();
    else says("There.")(_, response);
  });
  const retry = { baseDelayMs: 1, jitter: false };
  assert.equal((await ours.generate({ model: "m", prompt: "hi", retry })).text, "There.");
  assert.equal(n, 3);
  n = 0;
  await assert.rejects(
    ours.generate({ model: "m", prompt: "hi", retry: false }),
    (error) => error.retryable && llmProblem(error).kind === "server",
  );
  assert.equal(n, 1);
});

test("a streamed object grows and is validated", async (t) => {
  const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
  const pieces = ['{"n"', ": 4", "2}"];
  const [start, open, , close, end, stop] = answerEvents("");
  const delta = (text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });
  const { client: ours } = await client(t, (_, response) =>
    response.writeHead(200).end(sse([start, open, ...pieces.map(delta), close, end, stop])),
  );
  const seen = [];
  const stream = ours.streamObject({ model: "m", prompt: "a number" }, schema);
  for await (const value of stream) seen.push(value);
  assert.ok(seen.length > 0);
  assert.deepEqual(await stream.result, { n: 42 });
  assert.deepEqual(await ours.generateObject({ model: "m", prompt: "a number" }, schema), { n: 42 });
  const wrong = { ...schema, required: ["m"] };
  await assert.rejects(
    ours.generateObject({ model: "m", prompt: "x" }, wrong),
    (error) => llmProblem(error).kind === "no_object_generated",
  );
});

test("formats encode and decode without a network", () => {
  const http = formats.encode({ api: "openai-chat", apiKey: KEY, baseUrl: "http://host/v1" }, hello);
  assert.equal(http.url, "http://host/v1/chat/completions");
  assert.deepEqual(JSON.parse(http.body).messages, [{ role: "user", content: "hi" }]);
  assert.equal(Object.fromEntries(http.headers).authorization, `Bearer ${KEY}`);

  const bytes = new TextEncoder().encode(sse(answerEvents("🦀 é")));
  const decoder = formats.decoder("anthropic-messages");
  const events = [];
  for (const byte of bytes) events.push(...decoder.push(Uint8Array.of(byte)).events);
  const last = decoder.finish();
  assert.equal(last.error, undefined);
  assert.equal(events.find((event) => event.type === "text_delta").delta, "🦀 é");
  assert.equal(events.at(-1).type, "finish");
  assert.throws(
    () => decoder.push("x"),
    (error) => isEmendError(error, "closed"),
  );

  const [begin, start, delta, ...rest] = answerEvents("🦀");
  const together = formats.decoder("anthropic-messages").push(sse([begin, start, delta, delta, delta, ...rest]));
  const deltas = together.events.filter((event) => event.type === "text_delta");
  assert.deepEqual(
    deltas.map((event) => event.delta),
    ["🦀🦀🦀"],
    "deltas that arrive together are one event",
  );

  const cut = formats.decoder("anthropic-messages");
  cut.push(sse(answerEvents("cut").slice(0, 3)));
  assert.equal(cut.finish().error.code, "stream");
  const refused = formats.decodeError("gemini", { status: 503, body: "{}", headers: [["retry-after", "2"]] });
  assert.deepEqual(
    [refused.code, llmProblem(refused).kind, llmProblem(refused).retryAfterMs],
    ["provider", "server", 2000],
  );
});

test("the catalogue returns known models, and null for others", () => {
  const all = formats.models();
  assert.ok(all.length > 5 && all.every((model) => typeof model.contextWindow === "number"));
  assert.ok(formats.models("anthropic").every((model) => model.provider === "anthropic"));
  assert.equal(formats.modelInfo(all[0].id).id, all[0].id);
  assert.equal(formats.modelInfo("no-such-model"), null);
  assert.equal(formats.latestModel("anthropic", "tools").provider, "anthropic");
  assert.equal(formats.latestModel("nobody"), null);
});

test("a wrong field of a request or of options is an error that names it, and suggests the nearest known name", async (t) => {
  const { client: ours, server } = await client(t, says("never"));
  const request = (fields) => () => ours.complete({ ...hello, ...fields });
  const generation = (fields) => () => ours.generate({ model: "m", prompt: "x", ...fields });
  const provider = (fields) => () =>
    Client.create({ providers: [{ api: "openai-chat", apiKey: KEY, baseUrl: server.url, ...fields }] });
  const custom = (fields) => () => Client.create({ providers: [{ name: "own", async *stream() {}, ...fields }] });
  const message = (fields) => request({ messages: [{ ...hello.messages[0], ...fields }] });
  for (const [call, expected, code = "invalid_argument"] of [
    [request({ maxTokns: 3 }), "unknown field `maxTokns`; did you mean `maxTokens`?"],
    [request({ max_tokens: 3 }), "unknown field `max_tokens`; did you mean `maxTokens`?"],
    [request({ toolchoice: {} }), "unknown field `toolchoice`; did you mean `toolChoice`?"],
    [request({ cache: true }), /^unknown field `cache`, expected one of model, messages, .*providerOptions$/],
    [request({ system: "x" }), 'unknown field `system`; use a message with the role "system"'],
    [request({ constructor: 1 }), /^unknown field `constructor`, expected/],
    [request({ temperature: "hot" }), '`temperature` must be a number, and is "hot"'],
    [request({ model: 3 }), "`model` must be a string, and is 3"],
    [request({ maxTokens: 1.5 }), "`maxTokens` must be a whole number, 0 or more, and is 1.5"],
    [request({ stopSequences: "x" }), '`stopSequences` must be an array of strings, and is "x"'],
    [request({ messages: "hi" }), /^`messages` must be an array, such as .*, and is "hi"$/],
    [request({ messages: ["hi"] }), /^`messages\[0\]` must be an object, such as .*, and is "hi"$/],
    [message({ role: "usr" }), /^`messages\[0\]\.role` must be one of "system", .*, and is "usr"$/],
    [message({ content: "hi" }), /^`messages\[0\]\.content` must be an array, such as .*, and is "hi"$/],
    [message({ content: [{ kind: "txt" }] }), /^`messages\[0\]\.content\[0\]\.kind` must be one of "text", .*"txt"$/],
    [request({ tools: [{ name: "x" }] }), "`tools[0].description` must be a string, and is undefined"],
    [request({ toolChoice: "auto" }), /^`toolChoice` must be an object, such as `\{ mode: "auto" \}`/],
    [request({ toolChoice: { mode: "named", tool: "x" } }), /^unknown field `tool` in `toolChoice`, expected/],
    [generation({ maxRounds: 1 }), "unknown field `maxRounds`; did you mean `maxToolRounds`?"],
    [generation({ retry: { tries: 3 } }), /^unknown field `tries` in `retry`, expected one of maxRetries, /],
    [generation({ timeout: { total: 3 } }), "unknown field `total` in `timeout`; did you mean `totalMs`?"],
    [generation({ messages: [] }), "give either `prompt` or `messages`, not both"],
    [generation({ prompt: undefined }), "give `prompt` or `messages`"],
    [generation({ tools: [{ ...weather, executor() {} }] }), "unknown field `executor`; did you mean `execute`?"],
    [generation({ tools: [{ ...weather, execute: "x" }] }), '`tools[0].execute` must be a function, and is "x"'],
    [provider({ baseURL: "x" }), "unknown field `baseURL`; did you mean `baseUrl`?", "configuration"],
    [provider({ betas: "x" }), '`betas` must be an array of strings, and is "x"', "configuration"],
    [custom({ idleTimeout: 1 }), "unknown field `idleTimeout`; did you mean `idleTimeoutMs`?", "configuration"],
    [() => Client.create({ env: {}, retries: 2 }), /^unknown field `retries`, expected one of/, "configuration"],
    [async () => formats.encode({ api: "gemini", key: KEY }, hello), /^unknown field `key`/, "configuration"],
    [async () => formats.encode({ api: "gemini", apiKey: KEY }, { ...hello, topK: 1 }), /did you mean `topP`\?$/],
  ]) {
    await assert.rejects(call, (error) => {
      assert.ok(isEmendError(error, code), `${error.code}: ${error.message}`);
      const problem = error.message.replace(/^the .*? (?:is|are) wrong: /, "");
      if (typeof expected === "string") assert.equal(problem, expected);
      else assert.match(problem, expected);
      return !error.message.includes(KEY);
    });
  }
  assert.equal(server.requests.length, 0);
  // A provider has fields of its own.
  (await custom({ engine: {}, game: 1, load() {}, constrainedTools: false, idleTimeoutMs: undefined })()).close();
  // Absent fields, and those of a tool for agents, are accepted.
  const tool = { ...weather, effect: "reads", pathParameters: ["city"], execute: () => 7 };
  await ours.generate({ model: "m", prompt: "x", tools: [tool], topP: undefined, timeout: undefined, retry: {} });
  await ours.complete({ ...hello, tools: [tool], maxTokens: 5, metadata: { a: "b" }, toolChoice: { mode: "auto" } });
  assert.equal(server.requests.length, 2);
});

test("wrong arguments are rejected before a request is sent", async (t) => {
  const { client: ours, server } = await client(t, says("never"));
  const bad = [
    () => Client.create(),
    () => Client.create({}),
    () => Client.create({ providers: 7 }),
    () => Client.create({ providers: [{ api: "telnet" }] }),
    () => Client.create({ providers: [{ api: "gemini", apikey: "x" }] }),
    () => Client.create({ providers: [{ api: "gemini" }] }),
    () => Client.create({ providers: [null] }),
    () => Client.create({ env: {}, defaultProvider: "x" }),
    () => Client.create({ fetch: 7 }),
    async () => new Client(),
    () => ours.complete(),
    () => ours.complete({ model: 3 }),
    () => ours.complete({ ...hello, provider: "nobody" }),
    () => ours.generate({ model: "m" }),
    () => ours.generate({ model: "m", prompt: "x", messages: [] }),
    () => ours.generate({ model: "m", prompt: "x", tools: [{ ...weather, name: "no good" }] }),
    () => ours.generate({ model: "m", prompt: "x", tools: 3 }),
    () => ours.generate({ model: "m", prompt: "x", retry: { tries: 3 } }),
    () => ours.generateObject({ model: "m", prompt: "x" }),
    async () => formats.encode({ api: "telnet" }, hello),
    async () => formats.encode({ api: "gemini" }, hello),
    async () => formats.decoder("telnet"),
    async () => formats.decoder("gemini").push(7),
    async () => formats.decodeError("gemini", { status: 7, body: "" }),
    async () => formats.modelInfo(7),
    async () => formats.models(7),
  ];
  for (const call of bad) {
    await assert.rejects(
      call,
      (error) =>
        ["configuration", "invalid_argument", "provider", "not_initialized"].includes(error.code) ||
        assert.fail(`${call}: ${error.code} ${error}`),
      String(call),
    );
  }
  assert.equal(server.requests.length, 0);
});
