// The storm of hostile embedders in a page; `pkg/test/hostile.test.mjs` runs it in Node. The variables `HOSTILE_SEED` and
// `HOSTILE_COUNT` select other seeds.
import assert from "node:assert/strict";
import { servePackage } from "../browser.mjs";

const FIRST = Number(process.env.HOSTILE_SEED ?? 1);
const COUNT = Number(process.env.HOSTILE_COUNT ?? (process.env.EMEND_STORM === undefined ? 150 : 1_000));

/** Runs one storm in a page of the package and prints its outcomes. */
async function storm(page, name, count) {
  const served = await servePackage();
  try {
    await page.goto(served.url);
    const { lines, broken } = await page.evaluate(
      async ([name, first, count]) => (await import("/test/hostile-storm.mjs"))[name](first, count),
      [name, FIRST, count],
    );
    for (const line of lines) console.log(`# ${name}: ${line}`);
    assert.deepEqual(broken, []);
  } finally {
    await served.close();
  }
}

export const tests = {
  async "hostile embedders harm nobody but themselves"({ page }) {
    await storm(page, "agentStorm", COUNT);
  },

  async "hostile embedders of a client harm nobody but themselves"({ page }) {
    await storm(page, "clientStorm", Math.ceil(COUNT / 3));
  },
};
