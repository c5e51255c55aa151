// The example of a worker runs in workerd, which compiles no bytes: the wasm files are modules of the worker.

import assert from "node:assert/strict";
import { join } from "node:path";
import { CONSUMER, modulesIn } from "../consumer.mjs";
import { buildWorker, startWorker } from "../workers.mjs";

const OUT = join(CONSUMER, "built/workerd");
const TEXT = "The colour of the sky.\n";
const TASK = new URLSearchParams({ task: "rename colour to color in notes.md" });

/** Runs the example with the features that workerd had at a date. */
const example = (date) => async (context) => {
  const modules = await buildWorker(join(CONSUMER, "examples/worker/worker.mjs"), OUT);
  assert.deepEqual(await modulesIn(OUT), { core: 1, llm: 1, offline: 1, regex: 1, shell: 1 });
  const worker = await startWorker(context, OUT, modules, date);
  const edit = (text) => fetch(`${worker.url}?${TASK}`, { method: "POST", body: text });
  // The first requests arrive together and share the core that one of them starts.
  const lines = ["one", "two", "three"];
  const responses = await Promise.all(lines.map((line) => edit(`${TEXT}${line}\n`)));
  for (const [index, response] of responses.entries()) {
    const text = await response.text();
    assert.equal(response.status, 200, `${text}${worker.errors()}`);
    assert.match(text, /^-The colour of the sky\.\n\+The color of the sky\.\n/m);
    assert.match(text, new RegExp(`^ ${lines[index]}$`, "m"));
  }
  const later = await edit(TEXT);
  assert.match(await later.text(), /^\+The color of the sky\.$/m);
  assert.equal((await fetch(worker.url)).status, 400);
  assert.equal(worker.errors(), "");
};

export const tests = {
  // Before it had `MessageChannel` and `setImmediate`, and now.
  "workerd of 2025: the example of a worker": example("2025-01-01"),
  "workerd of 2026: the example of a worker": example("2026-11-01"),
  async "workerd: every module of the package"(context) {
    const out = join(CONSUMER, "built/workerd-all");
    const modules = await buildWorker(join(CONSUMER, "apps/all-modules.mjs"), out);
    assert.deepEqual(await modulesIn(out), { core: 1, edit: 1, llm: 1, offline: 1, regex: 1, service: 1, shell: 1 });
    const worker = await startWorker(context, out, modules, "2025-01-01");
    const response = await fetch(worker.url);
    const text = await response.text();
    assert.equal(response.status, 200, `${text}${worker.errors()}`);
    const { hunks, models, command, service } = JSON.parse(text);
    assert.deepEqual({ hunks, service }, { hunks: 1, service: 200 });
    assert.ok(models > 0);
    assert.match(command, /colour/);
  },
};
