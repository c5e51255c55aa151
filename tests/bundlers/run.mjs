// Builds programs with the packed npm package in the bundlers that embedders use, and runs what comes out.
//
// `node run.mjs` packs pkg/, which must have been built, installs the tarball in `consumer/` and prints one line per test
// and the totals. `ONLY=word` runs only the tests whose name contains that word, and `FILE=prefix` only the files whose
// name begins with it.

import { readdir } from "node:fs/promises";
import { launch } from "../e2e/browser.mjs";
import { installPackage } from "./consumer.mjs";

const TEST_MS = 180_000;
/** Longest report of a failure: a comparison of bundles would fill the log. */
const PROBLEM_CHARS = 4_000;

const began = Date.now();
const packed = await installPackage();
console.log(`# packed ${packed.bytes} bytes, installed after ${secondsSince(began)} s`);
const browser = await launch();
const totals = { passed: 0, failed: 0, skipped: 0 };
let number = 0;

for (const file of (await readdir(new URL("./tests", import.meta.url))).sort()) {
  if (!file.startsWith(process.env.FILE ?? "")) continue;
  const { tests } = await import(`./tests/${file}`);
  for (const [name, test] of Object.entries(tests)) {
    number += 1;
    if (process.env.ONLY !== undefined && !name.includes(process.env.ONLY)) {
      totals.skipped += 1;
      continue;
    }
    const start = Date.now();
    const problem = await attempt(test);
    totals[problem === null ? "passed" : "failed"] += 1;
    const line = `${number} ${name} (${secondsSince(start)} s)`;
    console.log(
      problem === null ? `ok ${line}` : `not ok ${line}\n${problem.slice(0, PROBLEM_CHARS).replace(/^/gm, "  ")}`,
    );
  }
}

await browser.close();
console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
// Bundlers leave workers behind that would keep this process alive.
process.exit(totals.failed === 0 && totals.passed > 0 ? 0 : 1);

/** Runs one test. Its `later` gets functions that end what it started. Returns its error, or null. */
async function attempt(test) {
  const endings = [];
  let timer;
  try {
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not done after ${TEST_MS} ms`)), TEST_MS);
    });
    await Promise.race([test({ browser, packed, later: (end) => endings.push(end) }), late]);
    return null;
  } catch (error) {
    return error.stack ?? String(error);
  } finally {
    clearTimeout(timer);
    for (const end of endings.reverse()) await end();
  }
}

function secondsSince(start) {
  return ((Date.now() - start) / 1000).toFixed(1);
}
