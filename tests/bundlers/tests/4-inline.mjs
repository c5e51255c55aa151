// `emend/inline`: the core is a part of the script.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import * as esbuild from "esbuild";
import { serve } from "../../e2e/browser.mjs";
import { builders } from "../builders.mjs";
import { CONSUMER, filesIn, modulesIn, sizeOf } from "../consumer.mjs";
import { assertOutcome, openPage, runPage } from "../pages.mjs";

const APPS = join(CONSUMER, "apps");

export const tests = {
  async "emend/inline: the script has the core once, compressed"() {
    const [script, core] = [await sizeOf("dist/inline-core.js"), await sizeOf("dist/core_bg.wasm")];
    assert.ok(script < 0.6 * core, `${script} bytes for a core of ${core}`);
  },
  async "emend/inline: Node reads no wasm file"() {
    const { stdout } = await promisify(execFile)(process.execPath, [join(APPS, "run-inline.mjs")], { cwd: CONSUMER });
    const { outcome, before, after } = JSON.parse(stdout);
    assertOutcome(outcome);
    assert.deepEqual(before, []);
    assert.equal(after, 1);
  },
  async "emend/inline: esbuild makes one classic script, and a page of one file works under a policy that forbids requests"(
    context,
  ) {
    const out = join(CONSUMER, "built/inline");
    const options = { bundle: true, minify: true, format: "iife", target: "es2022", logLevel: "silent" };
    const { warnings } = await esbuild.build({ ...options, entryPoints: [join(APPS, "inline.mjs")], outdir: out });
    assert.deepEqual(warnings, []);
    assert.deepEqual(await filesIn(out), ["inline.js"]);
    const script = (await readFile(join(out, "inline.js"), "utf8")).replaceAll("</script", "<\\/script");
    const policy = "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'";
    const html = `<!doctype html><meta http-equiv="content-security-policy" content="${policy}"><script>${script}</script>`;
    const served = await serve(out, { "/": html });
    context.later(() => served.close());
    const page = await openPage(context, served.url);
    assertOutcome(await page.evaluate(() => globalThis.start()));
    assert.deepEqual(page.requested, [served.url]);
    assert.deepEqual(page.errors, []);
  },
  ...Object.fromEntries(
    ["Vite", "webpack", "Rollup"].map((bundler) => [
      `emend/inline: ${bundler} emits no core`,
      async (context) => {
        const out = join(CONSUMER, "built", bundler, "inline");
        const html = await builders[bundler]("inline.mjs", out);
        assert.deepEqual(await modulesIn(out), { llm: 1, offline: 1, shell: 1 });
        assertOutcome(await runPage(context, out, html));
      },
    ]),
  ),
  async "emend/inline: a program that also imports emend uses the core in the script"(context) {
    const out = join(CONSUMER, "built/Rollup/inline-mixed");
    const html = await builders.Rollup("inline-mixed.mjs", out);
    const served = await serve(out, { "/": html });
    context.later(() => served.close());
    const page = await openPage(context, served.url);
    await page.waitForFunction(() => globalThis.start !== undefined);
    assertOutcome(await page.evaluate(() => globalThis.start()), { same: true });
    assert.deepEqual(
      page.requested.filter((address) => address.endsWith(".wasm")),
      [],
    );
  },
};
