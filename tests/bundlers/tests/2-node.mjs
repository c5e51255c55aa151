// Programs in Node: modules, CommonJS and worker threads do the task, and an import alone does no I/O.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { CONSUMER, installed } from "../consumer.mjs";
import { assertOutcome } from "../pages.mjs";

/** Runs a program of `apps/` and returns what it prints as JSON. A warning of Node counts as a failure. */
async function runApp(name, ...args) {
  const app = join(CONSUMER, "apps", name);
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [app, ...args], { cwd: CONSUMER });
  assert.equal(stderr, "");
  return JSON.parse(stdout);
}

export const tests = {
  "Node: import": async () => assertOutcome(await runApp("run-esm.mjs")),
  "Node: require": async () => assertOutcome(await runApp("run-cjs.cjs")),
  async "Node: worker_threads"() {
    const outcomes = await runApp("run-threads.mjs");
    assert.equal(outcomes.length, 2);
    for (const outcome of outcomes) assertOutcome(outcome);
  },
  async "Node: importing any entry does no I/O and compiles nothing"() {
    const { exports } = JSON.parse(await readFile(installed("package.json"), "utf8"));
    // The extension needs the libraries of CodeMirror, which are optional.
    const entries = Object.keys(exports).filter((name) => !/\.(wasm|json)$|\/(codemirror|elements)$/.test(name));
    assert.ok(entries.length >= 8, `${entries}`);
    for (const entry of entries) {
      const { byImport, byAgent } = await runApp("watched.mjs", entry.replace(/^\./, "emend"));
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
