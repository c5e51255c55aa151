// The end-to-end tests: drive the built page in Chromium as a user would.
//
// `node run.mjs [URL]` prints one line per test and the totals. Without a URL it serves web/dist. `ONLY=word` runs only the
// tests whose name contains that word, and `FILE=prefix` only the files whose name begins with it. A test without what it needs
// calls `skip(reason)`: it prints a line and counts as skipped.
//
// `WORKERS=2` runs two tests at a time, each in a browser of its own. Most of a test is waiting. A file can export `alone`, the names
// of tests that measure times: these run one by one after all others. With `limitMs` its tests have another limit than a minute.
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { launch, serve } from "./browser.mjs";

/** Ends a test that lacks what it needs. */
class Skipped extends Error {}

const TEST_MS = 60_000;
/** The wait for the state of a page whose test failed. */
const STATE_MS = 5_000;

const served =
  process.argv[2] === undefined ? await serve(fileURLToPath(new URL("../../web/dist", import.meta.url))) : null;
const url = process.argv[2] ?? served.url;
const totals = { passed: 0, failed: 0, skipped: 0 };

const together = [];
const alone = [];
for (const file of (await readdir(new URL("./tests", import.meta.url))).sort()) {
  if (!file.startsWith(process.env.FILE ?? "")) continue;
  const module = await import(`./tests/${file}`);
  for (const [name, test] of Object.entries(module.tests)) {
    const number = together.length + alone.length + 1;
    (module.alone?.includes(name) ? alone : together).push({ number, name, test, ms: module.limitMs ?? TEST_MS });
  }
  for (const name of module.alone ?? [])
    if (!Object.hasOwn(module.tests, name)) throw new Error(`${file}: no test "${name}"`);
}

const browsers = await Promise.all(Array.from({ length: Number(process.env.WORKERS ?? 1) }, () => launch()));
await Promise.all(browsers.map((browser) => runAll(browser, together)));
await runAll(browsers[0], alone);
for (const browser of browsers) await browser.close();
await served?.close();
console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exitCode = totals.failed === 0 && totals.passed > 0 ? 0 : 1;

/** Takes tests from the list until it is empty. */
async function runAll(browser, tests) {
  for (let next = tests.shift(); next !== undefined; next = tests.shift()) {
    const { number, name, test, ms } = next;
    if (process.env.ONLY !== undefined && !name.includes(process.env.ONLY)) {
      totals.skipped += 1;
      continue;
    }
    const problem = await attempt(browser, test, ms);
    if (problem instanceof Skipped) {
      totals.skipped += 1;
      console.log(`skip ${number} ${name}: ${problem.message}`);
      continue;
    }
    totals[problem === null ? "passed" : "failed"] += 1;
    console.log(problem === null ? `ok ${number} ${name}` : `not ok ${number} ${name}\n${indent(problem)}`);
  }
}

/** Runs one test in a separate browser profile. Returns its error, null, or why it was skipped. */
async function attempt(browser, test, ms) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: "reduce",
    // A service worker would answer requests that tests intercept. One test uses a context of its own.
    serviceWorkers: "block",
  });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const unexpected = [];
  // The browser logs failed requests itself. Tests that provoke them check the page instead.
  let expected = /^Failed to load resource/;
  const expectErrors = (pattern) => {
    expected = pattern;
  };
  page.on("pageerror", (error) => unexpected.push(`uncaught on the page: ${error.stack ?? error}`));
  page.on("console", (message) => {
    if (message.type() === "error" && !expected.test(message.text())) unexpected.push(`console: ${message.text()}`);
  });
  let timer;
  try {
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not done after ${ms} ms`)), ms);
    });
    await Promise.race([test({ page, url, expectErrors, browser, skip }), late]);
    return unexpected.length === 0 ? null : unexpected.join("\n");
  } catch (error) {
    if (error instanceof Skipped) return error;
    return [error.stack ?? String(error), ...unexpected, await stateOf(page)].join("\n");
  } finally {
    clearTimeout(timer);
    await context.close();
  }
}

/** Describes the page of a failed test: its message, the element with the focus, and the marks of the editor. */
async function stateOf(page) {
  const read = page.evaluate(() => ({
    message: document.querySelector(".toast")?.textContent ?? null,
    focus: document.activeElement?.outerHTML.slice(0, 160) ?? null,
    file: document.querySelector(".cm-content")?.ariaLabel ?? null,
    place: document.querySelector(".status-bar")?.textContent ?? null,
    hunks: [...document.querySelectorAll(".hunk-bar")].map((bar) => bar.dataset.hunk),
    lastEntry: [...document.querySelectorAll(".entry")].at(-1)?.textContent.slice(0, 160) ?? null,
  }));
  const late = new Promise((done) => setTimeout(done, STATE_MS, "not read: the page does not answer"));
  const state = await Promise.race([read.catch((error) => `not read: ${error.message}`), late]);
  return `page: ${JSON.stringify(state, null, 2)}`;
}

function skip(reason) {
  throw new Skipped(reason);
}

function indent(text) {
  return text.replace(/^/gm, "  ");
}
