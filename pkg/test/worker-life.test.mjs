// The start and the end of a worker: scripts that fail or never answer, and a process that ends by itself.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import test from "node:test";
import { Worker } from "node:worker_threads";
import { isEmendError } from "emend";
import { ConfigError, PanicError, WorkerAgent } from "emend/worker";

/** Runs a program until it ends, and returns its output and its exit code. */
async function ended(t, script) {
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    cwd: import.meta.dirname,
    stdio: ["ignore", "pipe", "pipe"],
  });
  t.after(() => child.kill("SIGKILL"));
  const said = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => said.push(String(data)));
  const [code] = await once(child, "close", { signal: AbortSignal.timeout(60_000) });
  return [said.join(""), code];
}

/** A worker that is an object of this thread. `tell` calls its listeners. */
function fakeWorker() {
  const listeners = {};
  const sent = [];
  return {
    sent,
    isEnded: false,
    postMessage: (message) => sent.push(message),
    addEventListener: (type, listener) => (listeners[type] = listener),
    terminate() {
      this.isEnded = true;
    },
    tell: (type, event) => listeners[type](event),
  };
}

async function fails(creating) {
  return creating.then(
    () => assert.fail("it succeeded"),
    (error) => error,
  );
}

test("a program that forgets to close its agents ends", async (t) => {
  const script = `
    import { WorkerAgent } from "emend/worker";
    const agents = [];
    for (let n = 0; n < 2; n += 1) agents.push(await WorkerAgent.create({ files: { "a.txt": "colour" } }));
    const [agent] = agents;
    agent.subscribe(() => {});
    (async () => { for await (const { kind } of agent.events()) if (kind === "PROCESSING_END") console.log(kind); })();
    const { reason } = await agent.run("rename colour to color").result;
    for await (const _ of agents[1].run("rename colour to color"));
    await agent.acceptAll();
    // A run that is begun and not read.
    await agent.run("rename color to colour")[Symbol.asyncIterator]().next();
    console.log(reason, await agent.files.readDisk("a.txt"));`;
  assert.deepEqual(await ended(t, script), ["PROCESSING_END\nnatural color\n", 0]);
});

test("calls and events that are there keep the process alive", async (t) => {
  const script = `
    import { WorkerAgent } from "emend/worker";
    const agent = await WorkerAgent.create({ files: { "a.txt": "colour", "b.txt": "x\\n".repeat(300_000) } });
    console.log((await agent.files.grep("no such text")).length);
    await agent.run("rename colour to color").result;
    let last;
    for await (const { kind } of agent.events({ after: 0 })) if ((last = kind) === "PROCESSING_END") break;
    console.log(last);`;
  assert.deepEqual(await ended(t, script), ["0\nPROCESSING_END\n", 0]);
});

test("a script that never answers is an error after the time that the options give", async () => {
  const silent = [
    "setInterval(() => {}, 1_000)",
    "const { parentPort } = require('node:worker_threads'); for (const each of [null, 'ready', { kind: 'x' }]) parentPort.postMessage(each); parentPort.on('message', () => {})",
  ];
  for (const script of silent) {
    const worker = new Worker(script, { eval: true });
    const exit = once(worker, "exit");
    const error = await fails(WorkerAgent.create({ worker, startTimeoutMs: 300 }));
    assert.ok(isEmendError(error, "load_failed"), String(error));
    assert.match(error.message, /not answered within 300 ms.*emend\/worker-host/);
    await exit;
  }
});

test("a script that fails or ends is an error at once", async () => {
  const begins = performance.now();
  const ends = async (script) => {
    const worker = new Worker(script, { eval: true });
    await once(worker, "exit");
    return worker;
  };
  const starts = (script) => () => new Worker(script, { eval: true });
  const workers = [
    [starts("throw new Error('no core')"), /no core/],
    [starts("process.exit(3)"), /code 3/],
    [starts("setTimeout(() => process.exit(4), 200)"), /code 4/],
    [await ends("0"), /has ended/],
  ];
  for (const [worker, message] of workers) {
    const error = await fails(WorkerAgent.create({ worker, startTimeoutMs: Infinity }));
    assert.ok(isEmendError(error, "load_failed"), String(error));
    assert.match(error.message, message);
  }
  assert.ok(performance.now() - begins < 25_000);
});

test("the time to start ends with the answer of the script, however long the creation takes", async () => {
  const worker = fakeWorker();
  const creating = fails(WorkerAgent.create({ worker, startTimeoutMs: 30 }));
  worker.tell("message", { data: { kind: "begun" } });
  let error;
  creating.then((thrown) => (error = thrown));
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.deepEqual([worker.sent.length, error, worker.isEnded], [1, undefined, false]);
  worker.tell("error", { message: "out of memory" });
  error = await creating;
  assert.ok(isEmendError(error, "load_failed") && !(error instanceof PanicError), String(error));
  assert.match(error.message, /out of memory/);
  assert.ok(worker.isEnded);
});

test("a message that cannot be read is an error", async () => {
  const worker = fakeWorker();
  const creating = fails(WorkerAgent.create({ worker }));
  worker.tell("messageerror", {});
  assert.match((await creating).message, /cannot be read/);
});

test("a wrong worker and a wrong time are refused", async () => {
  for (const worker of [5, "x", {}, { on() {} }, () => null]) {
    const error = await fails(WorkerAgent.create({ worker }));
    assert.ok(isEmendError(error, "invalid_argument"), String(error));
  }
  for (const startTimeoutMs of [0, -1, Number.NaN, "5", null]) {
    const error = await fails(WorkerAgent.create({ startTimeoutMs, worker: () => assert.fail("it was started") }));
    assert.ok(error instanceof ConfigError, String(error));
  }
});
