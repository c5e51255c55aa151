// The examples with frameworks, built and used as their readers would: the app of Vite and React, and that of Next.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import * as vite from "vite";
import { serve } from "../../e2e/browser.mjs";
import { CONSUMER, modulesIn } from "../consumer.mjs";
import { openPage } from "../pages.mjs";

const EXAMPLES = join(CONSUMER, "examples");
const MODULES = { core: 1, llm: 1, offline: 1, regex: 1, shell: 1 };

const require = createRequire(import.meta.url);
const TSC = require.resolve("typescript/package.json").replace("package.json", "bin/tsc");
const NEXT = require.resolve("next/dist/bin/next");
const ENVIRONMENT = { ...process.env, NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production" };

/** Checks that the page had no errors and asked its own server only. */
function assertQuiet(page, url) {
  assert.deepEqual(page.errors, []);
  assert.deepEqual(
    page.requested.filter((address) => !address.startsWith(url) && !address.startsWith("data:")),
    [],
  );
}

/** Builds the example in a folder of its own with one of Next's bundlers, and runs it. `route` is another route. */
const next = (bundler, route) => async (context) => {
  const folder = join(EXAMPLES, `next-${bundler}`);
  await cp(join(EXAMPLES, "next"), folder, { recursive: true });
  if (route !== undefined) await cp(join(CONSUMER, "apps", route), join(folder, "app/api/rename/route.js"));
  const options = { cwd: folder, env: ENVIRONMENT };
  await promisify(execFile)(process.execPath, [NEXT, "build", `--${bundler}`], options);
  // Once for browsers, and once for the route, whose list of files for deployments has them.
  assert.deepEqual(await modulesIn(join(folder, ".next/static")), MODULES);
  assert.deepEqual(await modulesIn(join(folder, ".next/server")), MODULES);
  if (route === undefined) {
    const { files } = JSON.parse(await readFile(join(folder, ".next/server/app/api/rename/route.js.nft.json"), "utf8"));
    assert.equal(files.filter((file) => /\/core_bg\..*wasm$/.test(file)).length, 1);
  }

  const server = spawn(process.execPath, [NEXT, "start", "--hostname", "127.0.0.1", "--port", "0"], options);
  let output = "";
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (text) => (output += text));
  const ended = once(server, "exit");
  context.later(async () => {
    server.kill("SIGTERM");
    await ended;
  });
  const url = await new Promise((done, fail) => {
    server.stdout.on("data", () => {
      const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? [];
      if (found !== undefined && output.includes("Ready")) done(found);
    });
    ended.then(() => fail(new Error(output)));
  });

  const page = await openPage(context, url);
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("listitem").getByText("notes.md, line 1").waitFor();
  await page.getByRole("button", { name: "Keep" }).click();
  await page.getByRole("listitem").waitFor({ state: "detached" });
  assert.match(await page.getByRole("status").textContent(), /^Renamed colour to color/);
  assertQuiet(page, url);

  const body = { files: { "notes.md": "The colour of the sea.\n" }, task: "rename colour to color in notes.md" };
  const response = await fetch(`${url}/api/rename`, { method: "POST", body: JSON.stringify(body) });
  assert.equal(response.status, 200, output);
  assert.match((await response.json()).diff, /^-The colour of the sea\.\n\+The color of the sea\.$/m);
};

export const tests = {
  async "the example of Vite and React: compiles, and its buttons decide"(context) {
    const root = join(EXAMPLES, "vite-react");
    const { stdout } = await promisify(execFile)(process.execPath, [TSC, "-p", root]).catch((error) => error);
    assert.equal(stdout, "");
    const out = join(CONSUMER, "built/vite-react");
    const configFile = join(root, "vite.config.mjs");
    await vite.build({ root, configFile, logLevel: "error", build: { outDir: out, emptyOutDir: true } });
    assert.deepEqual(await modulesIn(out), MODULES);

    const served = await serve(out);
    context.later(() => served.close());
    const page = await openPage(context, served.url);
    await page.getByText("No changes wait for you.").waitFor();
    await page.getByRole("button", { name: "Run" }).click();
    const hunks = page.getByRole("listitem");
    await hunks.nth(1).waitFor();
    assert.equal(await hunks.count(), 2);
    assert.match(await hunks.first().textContent(), /-The colour of the sky\.\n\+The color of the sky\./);
    await hunks.first().getByRole("button", { name: "Keep" }).click();
    await hunks.nth(1).waitFor({ state: "detached" });
    await hunks.first().getByRole("button", { name: "Discard" }).click();
    await page.getByText("No changes wait for you.").waitFor();
    const saved = page.locator("h2 + pre");
    await page.waitForFunction(() => document.querySelector("h2 + pre").textContent.startsWith("The color"));
    assert.match(await saved.textContent(), /^The color of the sky\.\n[^]*\nthe colour of the sea\.\n$/);
    assertQuiet(page, served.url);
  },
  "the example of Next with Turbopack: a page and a route": next("turbopack"),
  "the example of Next with webpack: a page and a route": next("webpack", "next-webpack-route.js"),
};
