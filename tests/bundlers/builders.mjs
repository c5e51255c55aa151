// One function for each bundler: builds a script of `apps/` for browsers into a folder and returns the HTML that loads it.

import { readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { nodeResolve } from "@rollup/plugin-node-resolve";
import { importMetaAssets } from "@web/rollup-plugin-import-meta-assets";
import * as esbuild from "esbuild";
import { rollup } from "rollup";
import * as vite from "vite";
import webpack from "webpack";
import { CONSUMER } from "./consumer.mjs";

const APPS = join(CONSUMER, "apps");

// The policy that pkg/README.md states: a bundle must not need more.
const HEAD = `<meta http-equiv="content-security-policy" content="script-src 'self' 'wasm-unsafe-eval'">`;

/** Returns a page that loads one script. */
export const pageOf = (script, type = "module") =>
  `<!doctype html><meta charset="utf-8">${HEAD}<script defer type="${type}" src="${script}"></script>`;

/** Writes the page that Vite begins with beside a script, and returns its path. */
async function htmlFor(app) {
  const html = join(APPS, `${basename(app, ".mjs")}.html`);
  await writeFile(html, pageOf(`./${app}`));
  return html;
}

const VITE = { root: APPS, base: "./", configFile: false, logLevel: "error", clearScreen: false };

export const builders = {
  async Vite(app, out) {
    const input = await htmlFor(app);
    await vite.build({
      ...VITE,
      worker: { format: "es" },
      build: { outDir: out, emptyOutDir: true, rollupOptions: { input } },
    });
    return readFile(join(out, basename(input)), "utf8");
  },

  async webpack(app, out) {
    const compiler = webpack({
      mode: "production",
      context: APPS,
      entry: `./${app}`,
      output: { path: out, filename: "main.js" },
      performance: { hints: false },
    });
    const stats = await promisify(compiler.run.bind(compiler))();
    await promisify(compiler.close.bind(compiler))();
    const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true });
    const [problem] = [...errors, ...warnings];
    if (problem !== undefined) throw new Error(`webpack: ${problem.message}`);
    return pageOf("./main.js", "text/javascript");
  },

  async Rollup(app, out) {
    const strict = (warning) => {
      throw new Error(`Rollup: ${warning.message}`);
    };
    const bundle = await rollup({
      input: join(APPS, app),
      plugins: [nodeResolve({ browser: true }), importMetaAssets()],
      onwarn: strict,
    });
    await bundle.write({ dir: out, format: "es", entryFileNames: "main.js" });
    await bundle.close();
    return pageOf("./main.js");
  },

  async esbuild(app, out) {
    const { warnings } = await esbuild.build({
      entryPoints: { main: join(APPS, app) },
      outdir: out,
      bundle: true,
      minify: true,
      splitting: true,
      format: "esm",
      target: "es2022",
      loader: { ".wasm": "file" },
      logLevel: "silent",
    });
    if (warnings.length > 0) throw new Error(`esbuild: ${warnings[0].text}`);
    return pageOf("./main.js");
  },
};

/** Starts Vite's development server, which prepares the package for the browser by itself. Returns the page's address. */
export async function serveWithVite(app, cacheDir) {
  const html = await htmlFor(app);
  const server = await vite.createServer({
    ...VITE,
    base: "/",
    cacheDir,
    server: { host: "127.0.0.1", port: 0, hmr: false },
  });
  await server.listen();
  return { url: `${server.resolvedUrls.local[0]}${basename(html)}`, close: () => server.close() };
}
