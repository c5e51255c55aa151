// Programs in Node, Bun and Deno: modules, CommonJS and worker threads do the task, and an import alone does no I/O.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { CONSUMER, installed, SUITE } from "../consumer.mjs";
import { assertOutcome } from "../pages.mjs";

const BIN = join(SUITE, "node_modules/.bin");

/** The programs that run scripts, with their arguments. Bun and Deno load the package as Node does. */
const RUNTIMES = {
  Node: [process.execPath],
  Bun: [join(BIN, "bun")],
  // Reading is the only permission that the package needs.
  Deno: [join(BIN, "deno"), "run", "--no-prompt", "--allow-read"],
};

/** Runs a program of `apps/` and returns what it prints as JSON. A warning counts as a failure. */
async function runApp(runtime, name, ...args) {
  const [program, ...options] = RUNTIMES[runtime];
  const app = join(CONSUMER, "apps", name);
  const { stdout, stderr } = await promisify(execFile)(program, [...options, app, ...args], { cwd: CONSUMER });
  assert.equal(stderr, "");
  return JSON.parse(stdout);
}

/** The tests of one runtime. */
const testsOf = (runtime) => ({
  [`${runtime}: import`]: async () => assertOutcome(await runApp(runtime, "run-esm.mjs")),
  [`${runtime}: require`]: async () => assertOutcome(await runApp(runtime, "run-cjs.cjs")),
  async [`${runtime}: worker_threads`]() {
    const outcomes = await runApp(runtime, "run-threads.mjs");
    assert.equal(outcomes.length, 2);
    for (const outcome of outcomes) assertOutcome(outcome);
  },
});

export const tests = {
  ...Object.assign({}, ...Object.keys(RUNTIMES).map(testsOf)),
  async "Node: importing any entry does no I/O and compiles nothing"() {
    const { exports } = JSON.parse(await readFile(installed("package.json"), "utf8"));
    // The extension needs the libraries of CodeMirror, which are optional.
    const entries = Object.keys(exports).filter((name) => !/\.(wasm|json)$|\/(codemirror|elements)$/.test(name));
    assert.ok(entries.length >= 8, `${entries}`);
    for (const entry of entries) {
      const { byImport, byAgent } = await runApp("Node", "watched.mjs", entry.replace(/^\./, "emend"));
      assert.deepEqual(byImport, [], entry);
      // The same watch sees the work of the first agent.
      const reads = byAgent.filter((call) => /readFile\(.*\/core_bg\.wasm\)$/.test(call)).length;
      assert.equal(reads, entry === "./inline" ? 0 : 1, `${entry}: ${byAgent}`);
      assert.ok(
        byAgent.some((call) => call.startsWith("WebAssembly.compile")),
        `${byAgent}`,
      );
    }
  },
};
