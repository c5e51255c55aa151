// A failure that a repetition does not mend: the agent goes on in the same session.

import assert from "node:assert/strict";
import test from "node:test";
import { Agent, memoryStore } from "emend";
import { SHOP } from "./support.mjs";

test("a run after a refused key has the session's id and cursors, and the loops over its events go on", async (t) => {
  let key = "wrong";
  const provider = {
    name: "own",
    async *stream() {
      if (key === "wrong") throw new Error("no such key");
      yield { type: "text_delta", delta: "Welcome." };
      yield { type: "finish" };
    },
  };
  const store = memoryStore();
  const agent = await Agent.create({ model: { provider, model: "m" }, files: SHOP, store });
  t.after(() => agent.close());
  const { sessionId } = agent;
  const told = [];
  const stop = agent.subscribe(({ kind }) => told.push(kind));
  const seen = [];
  const loop = (async () => {
    for await (const event of agent.events()) seen.push(event);
  })();
  assert.equal((await agent.run("one").result).reason, "error");
  agent.followUp("two");
  key = "right";
  const result = await agent.run("three").result;
  assert.deepEqual([result.reason, result.text], ["natural", "Welcome."]);
  assert.equal(agent.sessionId, sessionId);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(
    seen.map(({ cursor }) => cursor),
    seen.map((_, index) => index + 1),
  );
  assert.deepEqual(new Set(seen.map((event) => event.sessionId)), new Set([sessionId]));
  const kinds = seen.map(({ kind }) => kind).filter((kind) => /^(SESSION|USER|PROCESSING)_/.test(kind));
  const run = ["USER_INPUT", "PROCESSING_END"];
  assert.deepEqual(kinds, [
    "SESSION_START",
    ...run,
    "SESSION_END",
    "SESSION_START",
    "USER_INPUT",
    ...run.slice(0, 1),
    run[1],
  ]);
  assert.equal(told.filter((kind) => kind === "run").length, 5);
  const again = await Agent.resume(sessionId, { model: { provider, model: "m" }, store });
  t.after(() => again.close());
  assert.deepEqual(
    again.turns().map(({ kind }) => kind),
    agent.turns().map(({ kind }) => kind),
  );
  stop();
  agent.close();
  await loop;
});
