// The offline model: a separate module that the first request loads, from a given source.

import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import test from "node:test";
import { Worker } from "node:worker_threads";

const modulePath = new URL(import.meta.resolve("emend/offline.wasm"));
const reads = [];
const { readFile } = fs;
fs.readFile = (path, ...rest) => {
  reads.push(String(path));
  return readFile(path, ...rest);
};
syncBuiltinESMExports();

const { Agent } = await import("emend");
const nReads = () => reads.filter((path) => path.endsWith("/offline-core_bg.wasm")).length;
const ask = async (model) => {
  const agent = await Agent.create({ files: { "a.txt": "Price\n" }, ...(model && { model }) });
  const run = agent.run("rename Price to Cost");
  const warnings = [];
  for await (const event of run)
    if (event.kind === "WARNING" || event.kind === "ERROR") warnings.push(event.data.message);
  const { reason } = await run.result;
  const { text } = await agent.files.read("a.txt");
  agent.close();
  return { reason, text, warnings };
};

test("a module that fails to load is an error of the run, and the next run can load it", async () => {
  const { reason, text, warnings } = await ask({ provider: "offline", wasm: new URL("missing.wasm", modulePath) });
  assert.deepEqual([reason, text], ["error", "Price\n"]);
  assert.match(warnings.at(-1), /could not be loaded from .*missing\.wasm/);
});

test("only the first request loads the module", async () => {
  (await Agent.create()).close();
  assert.equal(nReads(), 0);
  for (const model of [undefined, { provider: "offline" }]) {
    assert.deepEqual(await ask(model), { reason: "natural", text: "Cost\n", warnings: [] });
    assert.equal(nReads(), 1);
  }
});

test("`init` loads the module in advance if asked to", async () => {
  const source = `
    import fs from "node:fs/promises";
    import { syncBuiltinESMExports } from "node:module";
    import { parentPort } from "node:worker_threads";
    let reads = 0;
    const { readFile } = fs;
    fs.readFile = (path, ...rest) => {
      if (String(path).endsWith("/offline-core_bg.wasm")) reads += 1;
      return readFile(path, ...rest);
    };
    syncBuiltinESMExports();
    const { init } = await import("emend");
    await init();
    const counts = [reads];
    await init({ offline: true });
    counts.push(reads);
    const wrong = await init({ offline: 1 }).catch((error) => error.code);
    parentPort.postMessage([...counts, wrong]);
  `.replace('"emend"', JSON.stringify(import.meta.resolve("emend")));
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`));
  const counts = await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
  await worker.terminate();
  assert.deepEqual(counts, [0, 1, "invalid_argument"]);
});

test("the module is loaded from the given source", async () => {
  const source = `
    import { parentPort, workerData } from "node:worker_threads";
    import { Agent } from "emend";
    const agent = await Agent.create({ files: { "a.txt": "Price" }, model: { provider: "offline", wasm: workerData } });
    await agent.run("rename Price to Cost").result;
    parentPort.postMessage((await agent.files.read("a.txt")).text);
  `.replace('"emend"', JSON.stringify(import.meta.resolve("emend")));
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`), {
    workerData: await readFile(modulePath),
  });
  const text = await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
  await worker.terminate();
  assert.equal(text, "Cost");
});
