// The storm of hostile embedders in Node. `HOSTILE_SEED` and `HOSTILE_COUNT` select other seeds; `tests/e2e` runs it in
// Chromium.

import assert from "node:assert/strict";
import test from "node:test";
import { agentStorm, clientStorm } from "./hostile-storm.mjs";

const FIRST = Number(process.env.HOSTILE_SEED ?? 1);
const COUNT = Number(process.env.HOSTILE_COUNT ?? 1_000);

const uncaught = [];
process.on("uncaughtException", (error) => uncaught.push(error));
process.on("unhandledRejection", (error) => uncaught.push(error));

/** Prints the outcomes of a storm and fails if a rule was broken. */
function conclude(t, { lines, broken }) {
  for (const line of lines) t.diagnostic(line);
  assert.deepEqual(broken, []);
  assert.deepEqual(uncaught, []);
}

test("hostile embedders harm nobody but themselves", async (t) => {
  conclude(t, await agentStorm(FIRST, COUNT));
});

test("hostile embedders of a client harm nobody but themselves", async (t) => {
  conclude(t, await clientStorm(FIRST, Math.ceil(COUNT / 3)));
});
