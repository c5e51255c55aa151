// A provider over HTTP on this machine: requests, and each kind of failure.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import test from "node:test";
import { Agent, ConfigError, isEmendError, ProviderError } from "emend";
import { answerEvents, collect, SHOP, serve, sse } from "./support.mjs";

const KEY = "sk-test-not-a-key";

async function create(t, baseUrl, options) {
  const model = { provider: "anthropic", model: "claude-test", apiKey: KEY, baseUrl };
  const agent = await Agent.create({ files: SHOP, model, ...options });
  t.after(() => agent.close());
  return agent;
}

test("an answer is streamed, and the request is the provider's", async (t) => {
  const server = await serve(t, (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(sse(answerEvents("Hello.")));
  });
  const agent = await create(t, `${server.url}/v1`, { instructions: "Answer in one word." });
  const events = await collect(agent.run("say hello"));
  assert.equal(events[0].data.offline, false);
  assert.equal(events.find((event) => event.kind === "ASSISTANT_TEXT_DELTA").data.delta, "Hello.");
  assert.equal(events.at(-1).data.reason, "natural");

  const [request] = server.requests;
  assert.deepEqual([request.method, request.url], ["POST", "/v1/messages"]);
  assert.equal(request.headers["x-api-key"], KEY);
  const body = JSON.parse(request.body);
  assert.equal(body.model, "claude-test");
  assert.equal(body.stream, true);
  assert.ok(JSON.stringify(body.system).includes("Answer in one word."));
  assert.ok(body.tools.some((tool) => tool.name === "Edit"));
});

test("a custom fetch is used, may call the agent, and keeps its errors", async (t) => {
  const seen = [];
  const agent = await create(t, "https://api.example.test", {
    fetch: (url, options) => {
      seen.push([url, options.method, agent.review().files.length]);
      return new Response(sse(answerEvents("Hi.")), { headers: { "content-type": "text/event-stream" } });
    },
  });
  assert.equal((await agent.run("say hi").result).text, "Hi.");
  assert.deepEqual(seen, [["https://api.example.test/v1/messages", "POST", 0]]);
});

test("a custom fetch may cancel its own run", async (t) => {
  let run;
  const agent = await create(t, "https://api.example.test", {
    fetch: (_url, { signal }) => {
      run.cancel();
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  });
  run = agent.run("say hi");
  assert.equal((await run.result).reason, "aborted");
});

/** Runs one task and returns its error. */
async function failure(agent) {
  const run = agent.run("say hello");
  const events = await collect(run);
  const { error, reason } = await run.result;
  assert.equal(reason, "error");
  assert.equal(events.find((event) => event.kind === "PROCESSING_END").data.reason, "error");
  const event = events.find((event) => event.kind === "ERROR");
  assert.equal(event.data.code, error.code);
  assert.ok(!JSON.stringify(events).includes(KEY), "the key leaked into an event");
  assert.ok(!`${error.message}${error.stack}`.includes(KEY), "the key leaked into an error");
  return error;
}

const apiError = (type, message) => JSON.stringify({ type: "error", error: { type, message } });

test("a wrong key is a ProviderError, and the right key continues the session", async (t) => {
  const server = await serve(t, (request, response) => {
    if (request.headers["x-api-key"] !== KEY) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      return response.end(sse(answerEvents("Welcome.")));
    }
    response.writeHead(401, { "content-type": "application/json" });
    response.end(apiError("authentication_error", "invalid x-api-key"));
  });
  const agent = await create(t, server.url);
  const error = await failure(agent);
  assert.ok(error instanceof ProviderError);
  assert.ok(isEmendError(error, "authentication"));
  assert.match(error.message, /key/i);

  agent.setModel({ provider: "anthropic", model: "claude-test", apiKey: "another", baseUrl: server.url });
  assert.equal((await agent.run("say hello").result).text, "Welcome.");
});

test("a rejected request reports the provider's reason", async (t) => {
  const server = await serve(t, (_, response) => {
    response.writeHead(400, { "content-type": "application/json" });
    response.end(apiError("invalid_request_error", "max_tokens: too large"));
  });
  const error = await failure(await create(t, server.url));
  assert.equal(error.name, "ProviderError");
  assert.equal(error.code, "provider");
  assert.match(error.message, /max_tokens: too large/);
});

test("a truncated stream keeps earlier events and reports the interruption", async (t) => {
  const server = await serve(t, (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(sse(answerEvents("Half an answ").slice(0, 3)), () => response.destroy());
  });
  const agent = await create(t, server.url);
  const error = await failure(agent);
  assert.equal(error.name, "ProviderError");
  assert.equal(error.code, "stream");
});

test("a stream that ends without its last event is a failure", async (t) => {
  const server = await serve(t, (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(sse(answerEvents("Half an answ").slice(0, 3)));
  });
  assert.equal((await failure(await create(t, server.url))).code, "stream");
});

test("a stream that is not an event stream is a failure", async (t) => {
  const server = await serve(t, (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end("event: message_start\ndata: {this is not json\n\n");
  });
  assert.equal((await failure(await create(t, server.url))).code, "stream");
});

test("an unreachable host is named", async (t) => {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  const error = await failure(await create(t, `http://127.0.0.1:${port}`));
  assert.equal(error.code, "network");
  assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${port}.*ECONNREFUSED`));
});

test("a redirect is not followed, because it would carry the key", async (t) => {
  const server = await serve(t, (_, response) => {
    response.writeHead(307, { location: "/elsewhere" });
    response.end();
  });
  const error = await failure(await create(t, server.url));
  assert.equal(error.code, "network");
  assert.ok(server.requests.every((request) => request.url !== "/elsewhere"));
});

test("a missing key and an invalid URL are configuration errors", async (t) => {
  const refused = (pattern) => (error) => error instanceof ConfigError && pattern.test(error.message);
  await assert.rejects(Agent.create({ model: { provider: "anthropic", apiKey: " " } }), refused(/key/i));
  await assert.rejects(create(t, "not a url"), refused(/not a url/));
});

test("cancelling closes the connection", async (t) => {
  let closed;
  const gone = new Promise((resolve) => (closed = resolve));
  const server = await serve(t, (_, response) => {
    response.on("close", closed);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(sse(answerEvents("Half an answ").slice(0, 3)));
  });
  const agent = await create(t, server.url);
  for await (const event of agent.run("say hello")) {
    if (event.kind === "ASSISTANT_TEXT_DELTA") break;
  }
  await gone;
});
