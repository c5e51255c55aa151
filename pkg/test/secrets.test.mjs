// A key that is in memory: no event, error, saved session, log or property of an agent shows it, nor what else an address
// may hold. What all wire formats do with what a provider sends back is tested with the core.

import assert from "node:assert/strict";
import test from "node:test";
import { inspect } from "node:util";
import { Agent, memoryStore } from "emend";
import { answerEvents, SHOP, sse } from "./support.mjs";

const KEY = "Zq7KxWpJ2m-93bTtR1v9";
const QUERY = "Qs9FwGz4Td-27hPpX3k8";
const PASSWORD = "Pw5MjCk6Vn-84rSsB2f7";
const SECRETS = { KEY, QUERY, PASSWORD };
/** What is expected at every outlet. */
const CONTROL = "plain-control";

const ECHO = `${CONTROL} ${KEY} ${QUERY} Zq7KxWpJ****R1v9`;

/** Everything that can be seen of a value, whatever hides it. */
function all(value) {
  const json = (() => {
    try {
      return JSON.stringify(value);
    } catch (error) {
      return String(error);
    }
  })();
  return [
    inspect(value, { depth: 12, showHidden: true, getters: true, maxStringLength: null }),
    String(value),
    value?.stack,
    json,
  ].join("\n");
}

function assertClean(where, text) {
  assert.ok(text.includes(CONTROL), `${where} lacks the control: ${text}`);
  for (const [name, secret] of Object.entries(SECRETS))
    assert.ok(!text.includes(secret.slice(0, 8)), `${where} holds the ${name}: ${text}`);
}

/** Listens to all of the console while a test runs. */
function listen(t) {
  const lines = [];
  for (const method of ["debug", "error", "info", "log", "trace", "warn"]) {
    t.mock.method(console, method, (...values) => lines.push(values.map(all).join(" ")));
  }
  return lines;
}

const stream = (text) => new Response(text, { headers: { "content-type": "text/event-stream", "x-echo": ECHO } });
const refusal = (status) =>
  new Response(JSON.stringify({ error: { type: KEY, message: ECHO, [KEY]: 1 } }), {
    status,
    headers: { "x-echo": ECHO },
  });
const rejected = (url) => {
  throw new TypeError(`fetch failed for ${url}`, { cause: new Error(`${ECHO} at ${url}`) });
};

/** What the network does, and whether the run fails of it. */
const NETWORKS = {
  "an answer": [() => stream(sse(answerEvents(`Said ${CONTROL}.`))), false],
  400: [() => refusal(400), true],
  401: [() => refusal(401), true],
  "403 in plain text": [() => new Response(ECHO, { status: 403 }), true],
  "an error in the stream": [
    () => stream(sse([{ type: "error", error: { type: "invalid_request_error", message: ECHO } }])),
    true,
  ],
  // The answer has begun, so nothing is tried again, which would take its time.
  "a stream that breaks off": [
    () =>
      stream(
        new ReadableStream({
          start: (controller) =>
            controller.enqueue(new TextEncoder().encode(sse(answerEvents(`Said ${CONTROL}.`).slice(0, 3)))),
          pull: (controller) => controller.error(new Error(ECHO)),
        }),
      ),
    true,
  ],
};

for (const [name, [network, fails]] of Object.entries(NETWORKS)) {
  test(`no outlet shows what was sent: ${name}`, async (t) => {
    const logged = listen(t);
    const store = memoryStore();
    const sent = [];
    const model = {
      provider: "anthropic",
      model: "claude-test",
      apiKey: KEY,
      baseUrl: `https://api.test/v1?sig=${QUERY}`,
    };
    const fetch = async (url, options) => {
      sent.push(url, new Headers(options.headers).get("x-api-key"));
      return network(url);
    };
    const options = { files: SHOP, model, fetch, store };
    const agent = await Agent.create(options);
    t.after(() => agent.close());
    const run = agent.run(`look at ${CONTROL}`);
    const seen = [];
    for await (const event of run) seen.push(event);
    const { error: failure = null } = await run.result;
    assert.deepEqual(sent, [`https://api.test/v1/messages?sig=${QUERY}`, KEY], "the control: they were sent");
    assert.equal(failure !== null, fails, inspect(failure));
    if (fails) assertClean("the error", CONTROL + all(failure) + all(failure.cause));
    // The control: what the provider says is quoted.
    if (name === "400") assert.match(failure.message, /plain-control \[redacted\]/);
    assertClean("events", all(seen));
    assertClean("the saved session", await store.load(agent.sessionId));
    assertClean("the list of sessions", all(await Agent.sessions(store)));
    assertClean("the console", [CONTROL, ...logged].join("\n"));
    assertClean(
      "the agent",
      CONTROL +
        all(agent) +
        all(run) +
        all(agent.turns()) +
        all(await Agent.resume(agent.sessionId, options).then((again) => again.close())),
    );
  });
}

test("an address that cannot be asked is told without what it holds", async (t) => {
  for (const baseUrl of [`https://me:${PASSWORD}@api.test/v1?sig=${QUERY}`, `api test/?sig=${QUERY}`]) {
    const model = { provider: "anthropic", model: "claude-test", apiKey: KEY, baseUrl };
    const agent = await Agent.create({ files: SHOP, model, fetch: rejected });
    t.after(() => agent.close());
    const { error: failure } = await agent.run("look").result;
    assert.equal(failure?.code, "configuration", inspect(failure));
    assertClean(baseUrl, CONTROL + all(failure));
  }
});

test("a fetch that names the address as it fails is quoted without what it holds", async (t) => {
  const model = {
    provider: "anthropic",
    model: "claude-test",
    apiKey: KEY,
    baseUrl: `https://api.test/v1?sig=${QUERY}`,
  };
  const agent = await Agent.create({ files: SHOP, model, fetch: rejected });
  t.after(() => agent.close());
  const run = agent.run("look");
  for await (const event of run) {
    // The first failure is told before it is tried again.
    if (event.kind !== "WARNING") continue;
    assert.match(event.data.message, /fetch failed for https:\/\/api\.test\/v1\/messages\?sig=\[redacted\]/);
    assertClean("the warning", all(event));
    break;
  }
});
