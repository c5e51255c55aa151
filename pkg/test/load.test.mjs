// Loading: importing loads nothing, loading can be retried, and a wrong source is reported.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs, { readFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import test from "node:test";
import { Worker } from "node:worker_threads";

// Counts loads from before the package is imported. Node itself reads and compiles during the import.
const counts = { read: 0, fetch: 0, compile: 0 };
const count = (owner, name, key, isOurs) => {
  const original = owner[name];
  owner[name] = function (...args) {
    if (isOurs(args[0])) counts[key] += 1;
    return original.apply(this, args);
  };
};
count(fs, "readFile", "read", (path) => String(path).endsWith(".wasm"));
syncBuiltinESMExports();
count(globalThis, "fetch", "fetch", () => true);
// The package's own calls are those with one of its modules on the stack, wherever the checkout is.
const modules = new URL(".", import.meta.resolve("emend")).href;
const isOurs = () => new Error().stack.includes(modules);
count(WebAssembly, "compile", "compile", isOurs);
count(WebAssembly, "instantiate", "compile", isOurs);

const { Agent, EmendError, init, isEmendError, NotInitializedError } = await import("emend");
const llm = await import("emend/llm");
const { createService } = await import("emend/service");
for (const name of ["bind", "codemirror", "elements", "react"]) await import(`emend/${name}`);
const corePath = new URL(import.meta.resolve("emend/core.wasm"));

test("importing reads, fetches and compiles nothing", () => {
  assert.deepEqual(counts, { read: 0, fetch: 0, compile: 0 });
});

test("an agent cannot be created without `create`", () => {
  assert.throws(
    () => new Agent(),
    (error) => error instanceof NotInitializedError && error.code === "not_initialized",
  );
});

const refused =
  (pattern, retryable = false) =>
  (error) => {
    assert.ok(isEmendError(error, "load_failed"), String(error));
    assert.ok(error instanceof EmendError && error.retryable === retryable);
    assert.deepEqual(error.suggestions, [
      "pass the source of `emend/core.wasm` of this package: `await init({ wasm })`",
    ]);
    assert.match(error.message, pattern);
    return true;
  };

test("a source that is not the core is reported, and loading can be retried", async () => {
  const page = new Response("<!doctype html>", { headers: { "content-type": "text/html" } });
  await assert.rejects(init({ wasm: page }), refused(/an HTML page: the server answers unknown paths with HTML/));
  await assert.rejects(init({ wasm: new Response("", { status: 404 }) }), refused(/status 404/));
  await assert.rejects(init({ wasm: new Response("", { status: 503 }) }), refused(/status 503/, true));
  await assert.rejects(init({ wasm: "http://127.0.0.1:1/core.wasm" }), refused(/the core could not be loaded/, true));
  await assert.rejects(init({ wasm: new Uint8Array([1, 2, 3, 4]) }), refused(/not a wasm module/));
  await assert.rejects(
    init({ wasm: new URL("missing.wasm", corePath) }),
    refused(/could not be loaded.*missing\.wasm/),
  );
  const cut = (await readFile(corePath)).subarray(0, 1000);
  await assert.rejects(init({ wasm: cut }), refused(/not the core that belongs to this package/));
});

test("a wrong module is reported by its name, with the option that takes its source", async () => {
  const missing = new URL("missing.wasm", corePath);
  const offline = new URL(import.meta.resolve("emend/offline.wasm"));
  for (const [work, message, option] of [
    [() => llm.load({ wasm: missing }), /^the module of `emend\/llm` could not be loaded from/, "await load({ wasm })"],
    [() => llm.load({ wasm: offline }), /is not the module of `emend\/llm` that belongs/, "await load({ wasm })"],
    [() => createService({ wasm: missing }), /^the module of `emend\/service` could/, "await createService({ wasm })"],
  ]) {
    await assert.rejects(work, (error) => {
      assert.match(error.message, message);
      return isEmendError(error, "load_failed") && error.suggestions[0].includes(option);
    });
  }
});

test("a bundle without `import.meta.url` is told to pass the source", async () => {
  const { LazyModule } = await import(new URL("wasm/lazy-module.js", modules));
  const name = { name: "the core", option: "await init({ wasm })", file: "emend/core.wasm" };
  const bundled = new LazyModule({}, name, () => new URL("../core_bg.wasm", undefined));
  await assert.rejects(
    bundled.load(),
    refused(/the address of the core is unknown: this bundle has no `import\.meta\.url`/),
  );
});

test("concurrent and later calls load the core once", async () => {
  const before = { ...counts };
  await Promise.all([init(), init(), Agent.create().then((agent) => agent.close())]);
  await init({ wasm: new Uint8Array([1, 2, 3]) });
  assert.equal(counts.read - before.read, 1);
  assert.equal(counts.fetch - before.fetch, 0);
  assert.ok(counts.compile > before.compile, "nothing was counted");
});

test("every kind of source is accepted, each in a separate thread", async () => {
  const source = `
    import { parentPort, workerData } from "node:worker_threads";
    import { readFile } from "node:fs/promises";
    import { Agent, init } from "emend";
    const bytes = await readFile(new URL(workerData.core));
    const type = { headers: { "content-type": "application/wasm" } };
    const sources = {
      url: () => new URL(workerData.core),
      text: () => workerData.core,
      bytes: () => bytes,
      buffer: () => new Uint8Array(bytes).buffer,
      module: () => workerData.module,
      response: () => new Response(bytes),
      typed: () => new Response(bytes, type),
      promise: () => Promise.resolve(new Response(bytes, type)),
    };
    await init({ wasm: sources[workerData.kind]() });
    using agent = await Agent.create({ files: { "a.txt": "hello" } });
    parentPort.postMessage((await agent.files.read("a.txt")).text);
  `.replace("using agent", "const agent");
  const module = await WebAssembly.compile(await readFile(corePath));
  for (const kind of ["url", "text", "bytes", "buffer", "module", "response", "typed", "promise"]) {
    const data = `data:text/javascript,${encodeURIComponent(source.replaceAll('"emend"', JSON.stringify(import.meta.resolve("emend"))))}`;
    const worker = new Worker(new URL(data), { workerData: { kind, core: corePath.href, module } });
    const text = await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
    assert.equal(text, "hello", kind);
    await worker.terminate();
  }
});

test("the core starts without Node's modules for HTTP and compression, which take longer to load than the core", () => {
  const script = `
    const before = new Set(process.moduleLoadList);
    const { Agent } = await import(${JSON.stringify(import.meta.resolve("emend"))});
    const agent = await Agent.create({ files: { "a.txt": "hello" } });
    const text = (await agent.files.read("a.txt")).text;
    agent.close();
    const loaded = () => process.moduleLoadList.filter((name) => !before.has(name) && /undici|http|zlib/.test(name));
    const atStart = loaded();
    new Response();
    console.log(JSON.stringify({ text, atStart, control: loaded().length > 0 }));
  `;
  const printed = execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  assert.deepEqual(JSON.parse(printed), { text: "hello", atStart: [], control: true });
});
