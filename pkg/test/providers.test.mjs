// Agents with the models of every provider: OpenAI, servers compatible with it, Gemini, and Anthropic with headers.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import test from "node:test";
import { Agent, ConfigError, ProviderError } from "emend";
import { Client, load } from "emend/llm";
import { answerEvents, collect, serve, sse } from "./support.mjs";

const KEY = "sk-test-not-a-key";

const lines = (events) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

/** A tool that the scripted responses call. */
const LOOKUP = {
  name: "lookup",
  description: "Looks a word up.",
  parameters: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
  execute: ({ word }) => `${word} means sea`,
};

/** Responses of each provider: a call of `lookup`, whose opaque data must be sent back, and the final text. */
const PROVIDERS = {
  openai: {
    path: "/responses",
    key: "authorization",
    opaque: "c2VjcmV0LXJlYXNvbmluZw",
    call: (opaque) => {
      const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: opaque };
      const call = {
        type: "function_call",
        id: "fc_1",
        call_id: "call_1",
        name: "lookup",
        arguments: '{"word":"mare"}',
      };
      return lines([
        { type: "response.created", response: { id: "resp_1", model: "gpt-5", output: [] } },
        { type: "response.output_item.added", output_index: 0, item: { ...reasoning, encrypted_content: null } },
        { type: "response.output_item.done", output_index: 0, item: reasoning },
        { type: "response.output_item.added", output_index: 1, item: { ...call, arguments: "" } },
        { type: "response.function_call_arguments.delta", output_index: 1, item_id: "fc_1", delta: call.arguments },
        { type: "response.output_item.done", output_index: 1, item: call },
        completed([reasoning, call]),
      ]);
    },
    text: (text) => {
      const message = { type: "message", id: "m_1", role: "assistant", content: [{ type: "output_text", text }] };
      return lines([
        { type: "response.created", response: { id: "resp_2", model: "gpt-5", output: [] } },
        { type: "response.output_item.added", output_index: 0, item: { ...message, content: [] } },
        { type: "response.output_text.delta", output_index: 0, content_index: 0, item_id: "m_1", delta: text },
        { type: "response.output_item.done", output_index: 0, item: message },
        completed([message]),
      ]);
    },
  },
  openai_compatible: {
    path: "/chat/completions",
    key: "authorization",
    opaque: "call_77",
    call: (opaque) =>
      chunks(
        [
          { tool_calls: [{ index: 0, id: opaque, type: "function", function: { name: "lookup", arguments: "" } }] },
          { tool_calls: [{ index: 0, function: { arguments: '{"word":"mare"}' } }] },
        ],
        "tool_calls",
      ),
    text: (text) => chunks([{ content: text }], "stop"),
  },
  gemini: {
    path: "/models/m:streamGenerateContent?alt=sse",
    key: "x-goog-api-key",
    opaque: "c2lnbmF0dXJl",
    call: (opaque) => parts([{ functionCall: { name: "lookup", args: { word: "mare" } }, thoughtSignature: opaque }]),
    text: (text) => parts([{ text }]),
  },
  anthropic: {
    path: "/messages",
    key: "x-api-key",
    opaque: "c2lnbmVkLXRob3VnaHQ=",
    options: { headers: { "x-team": "sea" }, betas: ["some-beta"] },
    call: (opaque) => sse(anthropicCall(opaque)),
    text: (text) => sse(answerEvents(text)),
  },
};

function completed(output) {
  const usage = { input_tokens: 20, output_tokens: 5, total_tokens: 25 };
  return { type: "response.completed", response: { id: "resp_1", model: "gpt-5", status: "completed", output, usage } };
}

function chunks(deltas, reason) {
  const head = { id: "c_1", object: "chat.completion.chunk", model: "m" };
  const events = deltas.map((delta) => ({ ...head, choices: [{ index: 0, delta, finish_reason: null }] }));
  events.push({ ...head, choices: [{ index: 0, delta: {}, finish_reason: reason }] });
  events.push({ ...head, choices: [], usage: { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 } });
  return `${lines(events)}data: [DONE]\n\n`;
}

function parts(content) {
  const usageMetadata = { promptTokenCount: 20, candidatesTokenCount: 5, totalTokenCount: 25 };
  return lines([
    { candidates: [{ content: { role: "model", parts: content }, finishReason: "STOP", index: 0 }], usageMetadata },
  ]);
}

function anthropicCall(signature) {
  const block = (index, content_block, ...deltas) => [
    { type: "content_block_start", index, content_block },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
  return [
    {
      type: "message_start",
      message: {
        id: "m",
        type: "message",
        role: "assistant",
        model: "m",
        content: [],
        usage: { input_tokens: 20, output_tokens: 1 },
      },
    },
    ...block(
      0,
      { type: "thinking", thinking: "" },
      { type: "thinking_delta", thinking: "hm" },
      { type: "signature_delta", signature },
    ),
    ...block(
      1,
      { type: "tool_use", id: "t_1", name: "lookup", input: {} },
      { type: "input_json_delta", partial_json: '{"word":"mare"}' },
    ),
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 5 } },
    { type: "message_stop" },
  ];
}

/** Starts a server that answers with `bodies` in turn. */
function answering(t, bodies) {
  let number = 0;
  return serve(t, (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(bodies[number++] ?? "");
  });
}

for (const [provider, { path, key, opaque, call, text, options }] of Object.entries(PROVIDERS)) {
  test(`an agent works with the provider ${provider} and returns its opaque data`, async (t) => {
    const server = await answering(t, [call(opaque), text("It means sea.")]);
    const model = { provider, model: "m", apiKey: KEY, baseUrl: server.url, ...options };
    const agent = await Agent.create({ model, tools: [LOOKUP] });
    t.after(() => agent.close());
    const events = await collect(agent.run("what does mare mean?"));
    const end = events.find((event) => event.kind === "TOOL_CALL_END").data;
    assert.deepEqual([end.toolName, end.ok, end.output], ["lookup", true, "mare means sea"]);
    assert.equal(events.at(-1).data.reason, "natural");
    assert.equal(events.findLast((event) => event.kind === "ASSISTANT_TEXT_END").data.text, "It means sea.");
    assert.ok(events.at(-1).data.usage.inputTokens > 0);

    assert.equal(server.requests.length, 2);
    for (const request of server.requests) {
      assert.ok(request.url.endsWith(path), request.url);
      assert.equal(request.headers[key].replace("Bearer ", ""), KEY);
      for (const [name, value] of Object.entries(options?.headers ?? {})) assert.equal(request.headers[name], value);
    }
    assert.ok(!server.requests[0].body.includes(opaque));
    assert.ok(server.requests[1].body.includes(opaque), server.requests[1].body);
    assert.ok(server.requests[1].body.includes("mare means sea"));
  });
}

test("the betas of a model are in a header of each of its requests, and of no other model's", async (t) => {
  const { anthropic, openai } = PROVIDERS;
  /** Returns the betas of each request. The core adds one of its own for the cache. */
  const betas = async (model, bodies) => {
    const server = await answering(t, bodies);
    const known = { provider: "anthropic", model: "m", apiKey: KEY, baseUrl: server.url };
    const fallback = model.fallback && { ...known, ...model.fallback };
    const agent = await Agent.create({ model: { ...known, ...model, ...(fallback && { fallback }) }, tools: [LOOKUP] });
    t.after(() => agent.close());
    assert.equal((await agent.run("what does mare mean?").result).text, "It means sea.");
    return server.requests.map(({ headers }) =>
      headers["anthropic-beta"]?.split(",").filter((name) => !name.startsWith("prompt-caching")),
    );
  };
  const answers = [anthropic.call(anthropic.opaque), anthropic.text("It means sea.")];
  assert.deepEqual(await betas({}, answers), [[], []]);
  assert.deepEqual(await betas({ betas: [] }, answers), [[], []]);
  assert.deepEqual(await betas({ betas: ["one-2025-01-01", "two"] }, answers), [
    ["one-2025-01-01", "two"],
    ["one-2025-01-01", "two"],
  ]);
  // The first model's response has no end.
  const fallback = { betas: ["three"] };
  assert.deepEqual(await betas({ betas: ["one"], fallback, fallbackAttempts: 1 }, ["", answers[1]]), [
    ["one"],
    ["three"],
  ]);
  assert.deepEqual(await betas({ provider: "openai", betas: ["one"] }, [openai.text("It means sea.")]), [undefined]);
});

test("a failure of a provider keeps its class, status and advice", async (t) => {
  const server = await serve(t, (_, response) => {
    response.writeHead(401, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: "Incorrect API key provided", code: "invalid_api_key" } }));
  });
  const model = { provider: "openai", model: "gpt-5", apiKey: KEY, baseUrl: server.url };
  const agent = await Agent.create({ model });
  t.after(() => agent.close());
  const { reason, error } = await agent.run("hello").result;
  assert.equal(reason, "error");
  assert.ok(error instanceof ProviderError, String(error));
  assert.equal(error.code, "authentication");
  assert.ok(!error.message.includes(KEY) && error.message.includes("Incorrect API key"), error.message);
  assert.equal(server.requests.length, 1, "a wrong key is not tried again");
});

test("a cancelled run closes the connection", async (t) => {
  let close;
  const closed = new Promise((resolve) => {
    close = resolve;
  });
  const server = await serve(t, (_, response) => {
    response.on("close", close);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(lines([{ type: "response.created", response: { id: "r", model: "gpt-5", output: [] } }]));
    setTimeout(() => run.cancel(), 20);
  });
  const agent = await Agent.create({ model: { provider: "openai", model: "gpt-5", apiKey: KEY, baseUrl: server.url } });
  t.after(() => agent.close());
  const run = agent.run("hello");
  assert.equal((await run.result).reason, "aborted");
  await closed;
});

test("wrong options of a model are refused by name", async () => {
  const check = (model, reason) =>
    assert.rejects(Agent.create({ model }), (error) => error instanceof ConfigError && error.message.includes(reason));
  await check({ provider: "openai", model: "gpt-5" }, "missing field `apiKey`");
  await check({ provider: "openai", apiKey: KEY }, "`model` of the provider openai is missing");
  await check({ provider: "openai_compatible", model: "m" }, "missing field `baseUrl`");
  await check({ provider: "gemini", model: "m", apiKey: KEY, url: "x" }, "unknown field `url`");
  await check({ provider: "opanai", model: "m", apiKey: KEY }, "unknown variant `opanai`");
  await check(
    { provider: "open" },
    "expected one of `offline`, `anthropic`, `openai`, `openai_compatible`, `gemini`, or an object with",
  );
  await check({ provider: "custom", name: "x" }, "unknown variant `custom`");
  await check({ provider: "anthropic", apiKey: KEY, headers: { a: "b" } }, "it is required with `headers`");
  await check({ provider: "anthropic", apiKey: KEY, webSearch: true }, "it is required with `webSearch`");
  await check({ provider: { name: "x", stream() {} }, modle: "m" }, "unknown field `modle` in `model`");
  await check("openai", "`model` must be an object");
});

test("a key, a header or an address that no request can carry is refused before a request", async () => {
  const APIS = {
    anthropic: "anthropic-messages",
    openai: "openai-responses",
    openai_compatible: "openai-chat",
    gemini: "gemini",
  };
  const check = async (settings, reason) => {
    const refused = (error) => error instanceof ConfigError && reason.test(error.message);
    for (const [provider, api] of Object.entries(APIS)) {
      const usual = provider === "openai_compatible" ? { baseUrl: "https://a.test/v1" } : {};
      const model = { provider, model: "m", apiKey: KEY, ...usual, ...settings };
      await assert.rejects(Agent.create({ model }), refused, `${provider} ${reason}`);
      const { provider: _, model: __, ...rest } = model;
      await assert.rejects(Client.create({ providers: [{ api, ...rest }] }), refused, `${api} ${reason}`);
    }
  };
  await check({ apiKey: "sk-one\ntwo" }, /`apiKey` contains a character .* line break$/);
  await check({ apiKey: "sk-ключ" }, /`apiKey` contains a character/);
  await check({ apiKey: 7 }, /`apiKey` is not a string$/);
  await check({ headers: { "bad header": "b" } }, /"bad header" in `headers` cannot name a header$/);
  await check({ headers: { a: "b\nc" } }, /the value of a contains a character that a header cannot have$/);
  await check({ headers: { a: 7 } }, /the value of a is not a string$/);
  await check({ headers: [["a", "b"]] }, /`headers` must be an object$/);
  await check({ headers: new Headers({ a: "b" }) }, /`headers` must be an object with properties$/);
  for (const baseUrl of ["nope", "", "ftp://x", "//x", "localhost:1234"])
    await check({ baseUrl }, /must be a URL that begins with https:\/\/ or http:\/\/$/);
  await check({ baseUrl: "https://me:secret@a.test" }, /user name or a password, .* use `headers`$/);
  await check(
    { baseUrl: "https://a.test/v1/chat/completions" },
    /ends with the endpoint \/chat\/completions, .*leave it out$/,
  );
  await check({ baseUrl: "https://a.test/v1/responses/" }, /ends with the endpoint \/responses/);
  await check({ baseUrl: "https://a.test/v1/messages?key=1" }, /ends with the endpoint \/messages/);
  await check({ baseUrl: "https://a.test/v1/models/m:generateContent" }, /ends with the endpoint :generateContent/);
});

test("an empty key is refused, except where a server behind an address of one's own may need none", async () => {
  for (const provider of ["anthropic", "openai", "gemini"]) {
    for (const apiKey of ["", " "]) {
      await assert.rejects(
        Agent.create({ model: { provider, model: "m", apiKey } }),
        (error) => error instanceof ConfigError && /`apiKey` is empty; pass a valid key$/.test(error.message),
      );
    }
    for (const key of [{}, { apiKey: undefined }, { apiKey: "" }]) {
      const model = { provider, model: "m", baseUrl: "https://proxy.test", ...key };
      (await Agent.create({ model })).close();
    }
  }
});

test("an option of a model that is undefined is as if it were absent", async () => {
  const further = { headers: undefined, betas: undefined, webSearch: undefined, fallback: undefined };
  (await Agent.create({ model: { provider: "anthropic", apiKey: KEY, ...further } })).close();
});

test("a rejected key is reported with the name of the option", async () => {
  for (const provider of ["anthropic", "openai", "openai_compatible", "gemini"]) {
    const model = { provider, model: "m", apiKey: KEY, baseUrl: "https://a.test" };
    const fetch = () => new Response(JSON.stringify({ error: { message: "no such key" } }), { status: 401 });
    const agent = await Agent.create({ model, fetch });
    const { error } = await agent.run("hello").result;
    agent.close();
    assert.equal(error.code, "authentication");
    assert.match(error.message, /rejected the key: set `apiKey` to a valid key/);
  }
});

const RECORDED = {
  "anthropic-messages": "anthropic",
  "openai-responses": "openai",
  "openai-chat": "openai_compatible",
  gemini: "gemini",
};

test("recorded streams of every provider arrive in an agent as their decoder reads them", async (t) => {
  const directory = process.env.EMEND_WIRE;
  if (directory === undefined) return t.skip("EMEND_WIRE does not name the recordings");
  const formats = await load();
  let bodies = [];
  const server = await serve(t, (_, answer) => {
    answer.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of (bodies.shift() ?? "").split(/(?<=\r?\n\r?\n)/)) answer.write(event);
    answer.end();
  });
  const seen = {};
  for (const name of readdirSync(`${directory}/recordings`)) {
    const { api, streaming, response } = JSON.parse(readFileSync(`${directory}/recordings/${name}`, "utf8"));
    const provider = RECORDED[api];
    if (provider === undefined || !streaming || response.status !== 200 || response.sse === undefined) continue;
    const decoder = formats.decoder(api);
    const pieces = [decoder.push(new TextEncoder().encode(response.sse)), decoder.finish()];
    const finish = pieces.flatMap((piece) => piece.events).findLast((event) => event.type === "finish");
    // Streams that fail in the middle are the decoders' own tests.
    if (finish === undefined || pieces.some((piece) => piece.error)) continue;
    const { message } = finish.response;
    const text = message.content.filter((part) => part.kind === "text").map((part) => part.text);
    const calls = message.content.filter((part) => part.kind === "tool_call").map((part) => part.name);
    const { text: last } = PROVIDERS[provider];
    bodies = [response.sse, last("Done.")];
    const agent = await Agent.create({ model: { provider, model: "m", apiKey: KEY, baseUrl: server.url } });
    const events = await collect(agent.run("go on"));
    agent.close();
    const first = events.find((event) => event.kind === "ASSISTANT_TEXT_END")?.data.text ?? "";
    if (text.join("") !== "") assert.equal(first, text.join(""), name);
    const called = events.filter((event) => event.kind === "TOOL_CALL_START").map((event) => event.data.toolName);
    assert.deepEqual(called, calls, name);
    seen[provider] = (seen[provider] ?? 0) + 1;
  }
  console.log(`recorded streams replayed: ${JSON.stringify(seen)}`);
  for (const provider of Object.values(RECORDED)) assert.ok(seen[provider] >= 10, provider);
});
