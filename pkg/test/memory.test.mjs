// Closed agents free their memory, that of the core and that of JavaScript.

import assert from "node:assert/strict";
import test from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Agent, init } from "emend";
import { memoryFs } from "emend/fs";
import { glue, SHOP, scripted } from "./support.mjs";

// The flag holds for contexts that are made later.
setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc");

const HEAP_GROWTH_MAX = 5 * 1024 * 1024;

/** A session over files in memory with the offline model, which searches and edits. */
async function offline() {
  const agent = await Agent.create({ files: SHOP });
  await agent.run("rename Price to Cost").result;
  await agent.acceptAll();
  agent.close();
}

/** A session with a provider, a tool and an environment in JavaScript, and with a listener and a feed. */
async function hosted() {
  const { model } = scripted([
    [
      ["note", {}],
      ["edit_file", { file_path: "notes.md", old_string: "# Shop", new_string: "# Store" }],
    ],
  ]);
  const note = { name: "note", description: "Notes.", parameters: { type: "object" }, execute: () => "noted" };
  const agent = await Agent.create({ environment: memoryFs(SHOP), model, tools: [note] });
  const feed = agent.events();
  agent.subscribe(() => {});
  await agent.run("go").result;
  await agent.acceptAll();
  await feed.next();
  agent.close();
}

test("a thousand closed agents leave no memory in use", async (t) => {
  await init();
  const { memory } = await glue.default();
  const cycles = async (count) => {
    for (let i = 0; i < count; i += 1) await (i % 3 === 0 ? offline : hosted)();
  };
  const heapUsed = async () => {
    // Objects of finalizers are free after a turn of the event loop.
    for (let i = 0; i < 3; i += 1) await new Promise((resolve) => setImmediate(resolve, collectGarbage()));
    return process.memoryUsage().heapUsed;
  };
  await cycles(60);
  const before = { heap: await heapUsed(), buffer: memory.buffer.byteLength };
  await cycles(1_000);
  const heap = (await heapUsed()) - before.heap;
  const buffer = memory.buffer.byteLength - before.buffer;
  t.diagnostic(`heap: ${heap} bytes more, memory.buffer: ${buffer} bytes more`);
  // Two pages of tolerance: ids and times differ in length, so the layout of the heap varies.
  assert.ok(buffer <= 2 * 65_536, `memory.buffer: ${buffer} bytes more`);
  assert.ok(heap < HEAP_GROWTH_MAX, `heap: ${heap} bytes more`);
});
