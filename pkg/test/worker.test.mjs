// An agent in a worker: the API of `Agent`, with what the page provides called by messages.

import assert from "node:assert/strict";
import test from "node:test";
import { Worker } from "node:worker_threads";
import { Agent, memoryStore } from "emend";
import { memoryFs } from "emend/fs";
import {
  AbortError,
  BusyError,
  ClosedError,
  ConfigError,
  ConflictError,
  isEmendError,
  NotInitializedError,
  PanicError,
  WorkerAgent,
} from "emend/worker";
import { until } from "./environments.mjs";
import { collect, hunkIds, results, SHOP, scripted, sse } from "./support.mjs";

const text = (content) => new TextDecoder().decode(content);

async function create(t, options) {
  const agent = await WorkerAgent.create(options);
  t.after(() => agent.close());
  return agent;
}

test("an agent in a worker does what an agent in the page does", async (t) => {
  const [inWorker, inPage] = [await create(t, { files: SHOP }), await Agent.create({ files: SHOP })];
  t.after(() => inPage.close());
  const story = async (agent) => {
    const events = await collect(agent.run("rename Price to Cost"));
    const review = await agent.review();
    const [first, ...others] = hunkIds(review);
    await agent.accept([first]);
    await agent.reject(others);
    await agent.undo();
    return {
      kinds: events.map(({ kind }) => kind),
      files: review.files.map(({ path }) => path),
      left: hunkIds(await agent.review()).length,
      diff: await agent.files.diff(),
      found: await agent.files.grep("Cost"),
      exported: await agent.files.export({ pending: true }),
      turns: (await agent.turns()).map(({ kind }) => kind),
      canvas: (await agent.canvas.open("notes.md")).path,
    };
  };
  assert.deepEqual(await story(inWorker), await story(inPage));
  assert.equal(typeof (await inWorker.sessionId()), "string");
});

test("the worker has the core, and the page has none", async (t) => {
  const agent = await create(t, { files: SHOP });
  // A call that keeps the core busy leaves the event loop of the page free.
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  await agent.files.write("large.txt", "line of a long file\n".repeat(400_000));
  await agent.files.grep("no such line", {});
  clearInterval(timer);
  assert.ok(turns > 3, `${turns} turns`);
});

test("tools, approvals, environment, store and provider of the page are called in the page", async (t) => {
  class Disk {
    #fs = memoryFs({ "notes.md": "colour\n" });
    read = (path) => this.#fs.read(path);
    write(path, content, { signal }) {
      assert.ok(signal instanceof AbortSignal && content instanceof Uint8Array);
      return this.#fs.write(path, content);
    }
    remove(path) {
      return this.#fs.remove(path);
    }
    async stat(path) {
      return this.#fs.stat(path);
    }
    async *list(path) {
      yield* await this.#fs.list(path);
    }
  }
  const environment = new Disk();
  const store = memoryStore();
  const asked = [];
  const called = [];
  // A schema has functions and cycles, as those of zod.
  const schema = { "~standard": { version: 1, vendor: "test", validate: ({ n }) => ({ value: { n: n * 2 } }) } };
  schema.self = schema;
  schema.toJSONSchema = () => ({ type: "object", properties: { n: { type: "number" } } });
  const { model, requests } = scripted([
    [
      ["count", { n: 2 }],
      ["edit_file", { file_path: "notes.md", old_string: "colour", new_string: "color" }],
    ],
    [["fail", { "emend:packed": { type: "function", id: 1 } }]],
    "Done.",
  ]);
  const agent = await create(t, {
    environment,
    store,
    model,
    approve: (request) => (asked.push(request.toolName), "allow"),
    tools: [
      {
        name: "count",
        description: "Counts.",
        parameters: schema,
        execute(args, { signal, toolCallId }) {
          called.push([args, signal.aborted, typeof toolCallId]);
          return `${args.n}`;
        },
      },
      {
        name: "fail",
        description: "Fails.",
        parameters: { type: "object" },
        execute(args) {
          called.push(args);
          throw Object.assign(new RangeError("out of range"), { code: "E_RANGE" });
        },
      },
    ],
  });
  const { reason, text: answer } = await agent.run("go").result;
  assert.deepEqual([reason, answer], ["natural", "Done."]);
  assert.deepEqual(called, [[{ n: 4 }, false, "string"], { "emend:packed": { type: "function", id: 1 } }]);
  assert.equal(results(requests[1])[0], "4");
  assert.match(results(requests[2])[0], /out of range/);
  assert.deepEqual(asked, ["count", "edit_file", "fail"]);
  await agent.acceptAll();
  assert.equal(text(await environment.read("notes.md")), "color\n");
  const id = await agent.sessionId();
  agent.close();
  const resumed = await WorkerAgent.resume(id, { environment, store, model });
  t.after(() => resumed.close());
  assert.equal((await resumed.turns()).filter(({ kind }) => kind === "user").length, 1);
});

test("a run advances as far as its events are read, and ends when its loop is left", async (t) => {
  let calls = 0;
  const { model } = scripted([[["count", {}]], "Done."]);
  const count = {
    name: "count",
    description: "Counts.",
    parameters: { type: "object" },
    execute: () => String((calls += 1)),
  };
  const agent = await create(t, { model, tools: [count] });
  for await (const { kind } of agent.run("go")) {
    if (kind !== "TOOL_CALL_START") continue;
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(calls, 0);
    break;
  }
  assert.equal(calls, 0);
  assert.equal((await agent.run("again").result).reason, "natural");
});

test("leaving a loop or a signal ends a stream of the page's provider", async (t) => {
  const seen = [];
  const provider = {
    name: "endless",
    async *stream(_request, { signal }) {
      try {
        for (let i = 0; !signal.aborted; i += 1) {
          yield { type: "text_delta", delta: `${i} ` };
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        seen.push("aborted");
      } finally {
        seen.push("ended");
      }
    },
  };
  const agent = await create(t, { model: { provider } });
  for await (const { kind } of agent.run("go")) if (kind === "ASSISTANT_TEXT_DELTA") break;
  await until(() => seen.includes("ended"));
});

test("a signal cancels a run, with the reason that the page gave", async (t) => {
  const aborted = [];
  const { model } = scripted([
    ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => (aborted.push("provider"), reject(signal.reason)));
        setTimeout(() => controller.abort(reason));
      }),
  ]);
  const agent = await create(t, { model });
  const controller = new AbortController();
  const reason = new Error("enough");
  const run = agent.run("go", { signal: controller.signal });
  await assert.rejects(collect(run), (error) => error instanceof AbortError && error.cause === reason);
  assert.equal((await run.result).reason, "aborted");
  assert.deepEqual(aborted, ["provider"]);
  assert.equal((await agent.run("again").result).reason, "natural");
  assert.throws(
    () => agent.run("x", { signal: controller }),
    (error) => isEmendError(error, "invalid_argument"),
  );
});

test("errors keep their class, code, data and suggestions", async (t) => {
  const agent = await create(t, { files: SHOP });
  const fails = async (promise, type, code) => {
    const error = await promise.then(
      () => assert.fail("it succeeded"),
      (thrown) => thrown,
    );
    assert.ok(error instanceof type && isEmendError(error, code), String(error));
    return error;
  };
  await fails(agent.accept(["gone"]), Error, "not_found");
  const base = (await agent.files.read("notes.md")).revision;
  assert.equal(typeof base, "number");
  const run = agent.run("rename Price to Cost");
  const busy = await fails(agent.run("another").result, BusyError, "busy");
  assert.equal(busy.suggestions.length, 1);
  await run.result;
  await fails(run.steer("late"), ConflictError, "conflict");
  await fails(agent.configure({ maxTurns: "x" }), ConfigError, "configuration");
  await fails(agent.files.nonsense(), Error, "unsupported");
  await fails(WorkerAgent.create({ maxTurns: "x" }), ConfigError, "configuration");
  await fails(WorkerAgent.create({ telemetry: {} }), ConfigError, "configuration");
  await fails(WorkerAgent.create({ instructions: Symbol("x") }), ConfigError, "configuration");
  assert.throws(() => new WorkerAgent(), NotInitializedError);
});

test("events and changes reach all readers, whose loops end with the agent", async (t) => {
  const agent = await create(t, { files: SHOP });
  const changes = [];
  const stop = agent.subscribe(({ kind }) => changes.push(kind));
  const kinds = [];
  const feed = (async () => {
    for await (const { kind } of agent.events()) kinds.push(kind);
  })();
  await agent.run("rename Price to Cost").result;
  await agent.acceptAll();
  assert.ok(changes.includes("edit") && changes.includes("run") && changes.at(-1) === "decision", `${changes}`);
  stop();
  const before = changes.length;
  await agent.undo();
  assert.equal(changes.length, before);
  const last = [];
  for await (const event of agent.events({ after: 0 })) {
    last.push(event.kind);
    if (event.kind === "PROCESSING_END") break;
  }
  await until(() => kinds.includes("PROCESSING_END"));
  agent.close();
  await feed;
  // A slow reader gets deltas joined.
  const whole = (list) => list.filter((kind) => kind !== "ASSISTANT_TEXT_DELTA");
  assert.deepEqual(whole(kinds).slice(0, whole(last).length), whole(last));
});

test("closing ends the worker and every pending call", async () => {
  const worker = new Worker(new URL("worker-host.js", import.meta.resolve("emend/worker")));
  const ended = new Promise((resolve) => worker.once("exit", resolve));
  const { model } = scripted([() => new Promise(() => {})]);
  const agent = await WorkerAgent.create({ worker, model });
  const run = agent.run("go");
  const result = run.result;
  const review = agent.review();
  agent.close();
  agent.close();
  await assert.rejects(result, ClosedError);
  await assert.rejects(review, ClosedError);
  await assert.rejects(agent.review(), ClosedError);
  await ended;
});

test("a worker that cannot start, or stops, is an error of each call", async () => {
  const broken = () => new Worker("throw new Error('no core')", { eval: true });
  await assert.rejects(WorkerAgent.create({ worker: broken }), (error) => {
    assert.match(error.message, /no core/);
    return isEmendError(error, "load_failed");
  });
  const worker = new Worker(new URL("worker-host.js", import.meta.resolve("emend/worker")));
  const agent = await WorkerAgent.create({ worker, files: SHOP });
  const { model } = scripted([() => new Promise(() => {})]);
  await agent.configure({ model });
  const { result } = agent.run("go");
  await worker.terminate();
  await assert.rejects(result, PanicError);
  await assert.rejects(agent.review(), PanicError);
  agent.close();
});

test("the page's `fetch` sends the requests, and its response is read as it arrives", async (t) => {
  const urls = [];
  const events = [
    { type: "message_start", message: { id: "m", model: "x", usage: { input_tokens: 1, output_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello." } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
    { type: "message_stop" },
  ];
  const agent = await create(t, {
    model: { provider: "anthropic", apiKey: "k" },
    fetch: async (url, { headers, signal }) => {
      urls.push([url, new Headers(headers).get("x-api-key"), signal.aborted]);
      return new Response(sse(events), { headers: { "content-type": "text/event-stream" } });
    },
  });
  assert.equal((await agent.run("hi").result).text, "Hello.");
  assert.deepEqual(urls, [["https://api.anthropic.com/v1/messages", "k", false]]);
});
