// A panic in the core: all pending calls reject, the process survives, and a new agent starts a fresh core.

import assert from "node:assert/strict";
import test from "node:test";
import { Agent, isEmendError, PanicError } from "emend";
import { bindBuffer } from "emend/bind";
import { BufferHost } from "./buffer-host.mjs";
import { collect, glue, SHOP, serve } from "./support.mjs";

const uncaught = [];
process.on("uncaughtException", (error) => uncaught.push(error));
process.on("unhandledRejection", (error) => uncaught.push(error));

/** Makes the next call of `owner`'s method panic inside the core. */
function panicIn(owner, name, message) {
  const original = owner[name];
  owner[name] = () => {
    owner[name] = original;
    glue.panicNow(message);
  };
}

const panicked = (pattern) => (error) => {
  assert.ok(error instanceof PanicError, String(error));
  assert.ok(isEmendError(error, "internal"));
  assert.match(error.message, pattern);
  return true;
};

/** Number of timers that keep the process alive. */
const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

/** Waits until late timers and responses would have arrived. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 50));

test("a panic in a call is thrown there, and everywhere else", async () => {
  const [agent, other] = [await Agent.create({ files: SHOP }), await Agent.create({ files: SHOP })];
  panicIn(glue.AgentHandle.prototype, "review", "boom in review");
  assert.throws(() => agent.review(), panicked(/boom in review/));
  assert.throws(() => agent.review(), panicked(/boom in review/));
  await assert.rejects(other.files.list(), panicked(/boom in review/));
  assert.throws(() => other.run("rename Price to Cost"), panicked(/boom in review/));
  agent.close();
  other.close();

  const fresh = await Agent.create({ files: SHOP });
  assert.equal((await fresh.run("rename Price to Cost").result).reason, "natural");
  fresh.close();
});

test("a panic ends the bindings of all agents", async () => {
  const agent = await Agent.create({ files: { "a.txt": "one\n" } });
  const host = new BufferHost();
  const binding = bindBuffer(agent, "a.txt", host.with({}));
  await binding.flush();
  panicIn(glue.AgentHandle.prototype, "review", "boom in review");
  assert.throws(() => agent.review(), panicked(/boom in review/));
  await settle();
  assert.equal(binding.ended, true);
  assert.equal(host.ends.length, 1);
  panicked(/boom in review/)(host.ends[0]);
  await assert.rejects(binding.flush(), panicked(/boom in review/));
  agent.close();
});

test("a panic rejects all pending calls; late timers and responses have no effect", async (t) => {
  let answer;
  const server = await serve(t, (_, response) => (answer = response));
  const model = { provider: "anthropic", apiKey: "key", baseUrl: server.url };
  const waiting = await Agent.create({ files: SHOP, model });
  const paced = await Agent.create({ files: SHOP, model: { provider: "offline", paceMs: 500 } });
  const agent = await Agent.create({ files: SHOP });

  const onNetwork = collect(waiting.run("say hello"));
  const onTimer = paced.run("rename Price to Cost");
  const onTimerEvents = collect(onTimer);
  while (answer === undefined) await new Promise((resolve) => setTimeout(resolve, 5));

  const timersBefore = timers();
  panicIn(glue.Task.prototype, "poll", "boom in a task");
  await assert.rejects(agent.files.list(), panicked(/boom in a task/));
  assert.ok(timers() < timersBefore, "timers of the dead core go on");
  await assert.rejects(onNetwork, panicked(/boom in a task/));
  await assert.rejects(onTimerEvents, panicked(/boom in a task/));
  await assert.rejects(onTimer.result, panicked(/boom in a task/));

  const fresh = await Agent.create({ files: SHOP });
  const run = fresh.run("rename Price to Cost").result;
  answer.writeHead(500).end("late");
  await settle();
  assert.equal((await run).reason, "natural");
  for (const dead of [waiting, paced, agent]) dead.close();
  assert.equal(fresh.review().files.length, 2);
  fresh.close();
});

test("a panic during a run ends it, and earlier events are kept", async () => {
  const agent = await Agent.create({ files: SHOP });
  const kinds = [];
  await assert.rejects(
    async () => {
      for await (const event of agent.run("rename Price to Cost")) {
        kinds.push(event.kind);
        if (event.kind === "TOOL_CALL_START") panicIn(glue.RunHandle.prototype, "poll", "boom in a run");
      }
    },
    panicked(/boom in a run/),
  );
  assert.equal(kinds.at(-1), "TOOL_CALL_START");
  agent.close();
});

test("a trap that is not a panic also ends the core", async () => {
  const agent = await Agent.create({ files: SHOP });
  const instance = await glue.default();
  const original = glue.AgentHandle.prototype.review;
  glue.AgentHandle.prototype.review = () => {
    glue.AgentHandle.prototype.review = original;
    throw new RangeError("Maximum call stack size exceeded");
  };
  assert.throws(() => agent.review(), panicked(/Maximum call stack size exceeded/));
  await assert.rejects(agent.files.list(), PanicError);
  const fresh = await Agent.create({ files: SHOP });
  assert.equal((await fresh.files.list()).length, 3);
  assert.notEqual(await glue.default(), instance, "the instance that trapped is still in use");
  fresh.close();
});

test("a panic while a run is freed settles that run and all others", async (t) => {
  const server = await serve(t, () => {});
  const model = { provider: "anthropic", apiKey: "key", baseUrl: server.url };
  const [agent, other] = [await Agent.create({ model }), await Agent.create({ model })];
  const [result, pending] = [agent.run("say hello").result, other.run("say hello").result];
  panicIn(glue.RunHandle.prototype, "free", "boom in free");
  agent.close();
  await assert.rejects(result, (error) => isEmendError(error, "closed"));
  await assert.rejects(pending, panicked(/boom in free/));
  other.close();
});

test("a call from inside of a call is refused and harms neither", async () => {
  const agent = await Agent.create({ files: SHOP });
  const original = glue.AgentHandle.prototype.review;
  let refused;
  glue.AgentHandle.prototype.review = function () {
    glue.AgentHandle.prototype.review = original;
    try {
      agent.turns();
    } catch (error) {
      refused = error;
    }
    return original.call(this);
  };
  assert.deepEqual(agent.review().files, []);
  assert.ok(isEmendError(refused, "internal") && !(refused instanceof PanicError), String(refused));
  assert.equal((await agent.run("rename Price to Cost").result).reason, "natural");
  agent.close();
});

test("none of this reached the process", async () => {
  globalThis.gc?.();
  await settle();
  assert.deepEqual(uncaught, []);
});
