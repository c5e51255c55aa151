// No event, error, saved session, log or property of an agent contains the key or other secrets of a URL. The tests of the
// core cover what the wire formats do with a provider's response.

import assert from "node:assert/strict";
import test from "node:test";
import { inspect } from "node:util";
import { Agent, memoryStore } from "emend";
import { answerEvents, SHOP, sse } from "./support.mjs";

const KEY = "Zq7KxWpJ2m-93bTtR1v9";
const QUERY = "Qs9FwGz4Td-27hPpX3k8";
const PASSWORD = "Pw5MjCk6Vn-84rSsB2f7";
const SECRETS = { KEY, QUERY, PASSWORD };
/** The secrets that no output may contain. */
const CONTROL = "plain-control";

const ECHO = `${CONTROL} ${KEY} ${QUERY} Zq7KxWpJ****R1v9`;

/** Returns all text that can be read from a value, hidden properties included. */
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

/** Records all console output during a test. */
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

/** Behaviours of the network, and whether the run fails. */
const NETWORKS = {
  "an answer": [() => stream(sse(answerEvents(`Said ${CONTROL}.`))), false],
  400: [() => refusal(400), true],
  401: [() => refusal(401), true],
  "403 in plain text": [() => new Response(ECHO, { status: 403 }), true],
  "an error in the stream": [
    () => stream(sse([{ type: "error", error: { type: "invalid_request_error", message: ECHO } }])),
    true,
  ],
  // After the response has begun there is no retry, which would take long.
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
  test(`no output contains a secret that was sent: ${name}`, async (t) => {
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
    // Control: the provider's own text is quoted.
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

test("an invalid URL is reported without its secrets", async () => {
  for (const baseUrl of [`https://me:${PASSWORD}@api.test/v1?sig=${QUERY}`, `api test/?sig=${QUERY}`]) {
    const model = { provider: "anthropic", model: "claude-test", apiKey: KEY, baseUrl };
    const failure = await Agent.create({ files: SHOP, model, fetch: rejected }).catch((error) => error);
    assert.equal(failure?.code, "configuration", inspect(failure));
    assertClean(baseUrl, CONTROL + all(failure));
  }
});

test("a fetch error that contains the URL is reported without its secrets", async (t) => {
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
    // The first failure is reported before the retry.
    if (event.kind !== "WARNING") continue;
    assert.match(event.data.message, /fetch failed for https:\/\/api\.test\/v1\/messages\?sig=\[redacted\]/);
    assertClean("the warning", all(event));
    break;
  }
});
