// Bundles for browsers: each has every module exactly once, loads none before the first agent, and does the task.

import assert from "node:assert/strict";
import { join } from "node:path";
import { builders, serveWithVite } from "../builders.mjs";
import { CONSUMER, modulesIn } from "../consumer.mjs";
import { assertOutcome, runPage, startTask } from "../pages.mjs";

/** The modules behind `emend`: the core, and those that it loads when they are needed. */
const OF_AGENT = { core: 1, llm: 1, offline: 1, regex: 1, shell: 1 };

/** A test that builds a program, counts its modules and runs it. */
const built = (bundler, app, modules, more) => async (context) => {
  const out = join(CONSUMER, "built", bundler, app);
  const html = await builders[bundler](app, out);
  assert.deepEqual(await modulesIn(out), modules);
  assertOutcome(await runPage(context, out, html), more);
};

export const tests = {
  "Vite: emend": built("Vite", "agent.mjs", OF_AGENT),
  "Vite: emend and emend/edit": built("Vite", "edit.mjs", { ...OF_AGENT, edit: 1 }, { diff: 1 }),
  "Vite: emend in a worker and in the page": built("Vite", "worker-page.mjs", OF_AGENT, { same: true }),
  "Vite: emend/worker": built("Vite", "worker-agent.mjs", OF_AGENT),
  async "Vite's development server: emend and emend/edit"(context) {
    const server = await serveWithVite("edit.mjs", join(CONSUMER, "built/vite-cache"));
    context.later(() => server.close());
    assertOutcome(await startTask(context, server.url), { diff: 1 });
  },
  "webpack: emend": built("webpack", "agent.mjs", OF_AGENT),
  "webpack: emend and emend/edit": built("webpack", "edit.mjs", { ...OF_AGENT, edit: 1 }, { diff: 1 }),
  "webpack: emend in a worker and in the page": built("webpack", "worker-page.mjs", OF_AGENT, { same: true }),
  "webpack: emend/worker": built("webpack", "worker-agent.mjs", OF_AGENT),
  "Rollup: emend": built("Rollup", "agent.mjs", OF_AGENT),
  "Rollup: emend and emend/edit": built("Rollup", "edit.mjs", { ...OF_AGENT, edit: 1 }, { diff: 1 }),
  // esbuild copies no file that `new URL` names: the program imports the modules' addresses, here four.
  "esbuild: emend and emend/edit with addresses": built(
    "esbuild",
    "addresses.mjs",
    { core: 1, edit: 1, offline: 1, regex: 1 },
    { diff: 1 },
  ),
};
