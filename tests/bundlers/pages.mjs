// Runs a built page in Chromium and checks what it does.

import assert from "node:assert/strict";
import { serve } from "../e2e/browser.mjs";

/** The outcome of the task in `apps/task.mjs`. */
export const OUTCOME = {
  hunks: 1,
  before: "The colour of the sky.\n",
  proposed: "The color of the sky.\n",
  accepted: "The color of the sky.\n",
};

/** Checks the outcome of the task. `more` is what the program adds to it. */
export function assertOutcome({ text, ...outcome }, more = {}) {
  assert.match(text, /^Renamed colour to color: 1 place in 1 file/);
  assert.deepEqual(outcome, { ...OUTCOME, ...more });
}

/** Serves a folder with a page, and runs the task of the page in Chromium. Returns the outcome. */
export async function runPage({ browser, later }, folder, html) {
  const served = await serve(folder, { "/": html });
  later(() => served.close());
  return startTask({ browser, later }, served.url);
}

/** Opens a page, checks that it loads no module by itself, and runs its task. Returns the outcome. */
export async function startTask({ browser, later }, url) {
  const page = await openPage({ browser, later }, url);
  await page.waitForFunction(() => globalThis.start !== undefined);
  // A module that is loaded by mistake would have been asked for by now: importing it is synchronous with `start`.
  const early = page.requested.filter((address) => !/\.m?js\b|\.html$|\/$|@vite|@id/.test(new URL(address).pathname));
  assert.deepEqual(early, [], "the import alone asked for files");
  const outcome = await page.evaluate(() => globalThis.start());
  assert.deepEqual(page.errors, []);
  return outcome;
}

/** Opens a page in a profile of its own. The page collects the addresses that it asks for, and its errors. */
export async function openPage({ browser, later }, url) {
  const context = await browser.newContext();
  later(() => context.close());
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  page.requested = [];
  page.errors = [];
  page.on("request", (request) => page.requested.push(request.url()));
  page.on("pageerror", (error) => page.errors.push(String(error)));
  page.on("console", (message) => {
    // A browser asks for an icon that these pages do not have.
    if (message.type() === "error" && !message.location().url.endsWith("favicon.ico")) {
      page.errors.push(`${message.text()} (${message.location().url})`);
    }
  });
  await page.goto(url);
  return page;
}
