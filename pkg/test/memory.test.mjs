// Closed agents free their memory.

import assert from "node:assert/strict";
import test from "node:test";
import { Agent, init } from "emend";
import { glue, SHOP } from "./support.mjs";

test("three hundred closed agents leave no memory in use", async () => {
  await init();
  const { memory } = await glue.default();
  const cycle = async () => {
    const agent = await Agent.create({ files: SHOP });
    await agent.run("rename Price to Cost").result;
    await agent.acceptAll();
    agent.close();
  };
  for (let i = 0; i < 20; i += 1) await cycle();
  const before = memory.buffer.byteLength;
  for (let i = 0; i < 300; i += 1) await cycle();
  // Two pages of tolerance: ids and times differ in length, so the layout of the heap varies.
  assert.ok(memory.buffer.byteLength <= before + 2 * 65_536, `${memory.buffer.byteLength - before} bytes more`);
});
