// Builds a worker as Wrangler does, and runs it in workerd.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import * as esbuild from "esbuild";
import workerd from "workerd";

/** As Wrangler sets them. */
const CONDITIONS = ["workerd", "worker", "browser"];

/** Bundles a worker: one script, and each wasm file that it imports as a module beside it. Returns their names. */
export async function buildWorker(entry, out) {
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const modules = new Set();
  const wasmModules = {
    name: "wasm-modules",
    setup(build) {
      build.onResolve({ filter: /\.wasm$/ }, async ({ path, importer, kind, resolveDir, pluginData }) => {
        if (pluginData === "resolved") return undefined;
        const found = await build.resolve(path, { importer, kind, resolveDir, pluginData: "resolved" });
        if (found.errors.length > 0) return { errors: found.errors };
        const name = basename(found.path);
        modules.add(name);
        await cp(found.path, join(out, name));
        return { path: `./${name}`, external: true };
      });
    },
  };
  const { warnings } = await esbuild.build({
    entryPoints: [entry],
    outfile: join(out, "worker.js"),
    bundle: true,
    format: "esm",
    target: "es2022",
    conditions: CONDITIONS,
    plugins: [wasmModules],
    logLevel: "silent",
  });
  if (warnings.length > 0) throw new Error(`esbuild: ${warnings[0].text}`);
  return [...modules].sort();
}

/** Runs a built worker in workerd, with the features of a date, on a free local port. Returns its address. */
export async function startWorker({ later }, out, modules, compatibilityDate) {
  const config = join(out, "config.capnp");
  const files = modules.map((name) => `(name = "${name}", wasm = embed "${name}")`);
  await writeFile(
    config,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    compatibilityDate = "${compatibilityDate}",
    modules = [(name = "worker.js", esModule = embed "worker.js"), ${files.join(", ")}],
  ))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`,
  );
  // The fourth stream tells the port.
  const server = spawn(workerd.default, ["serve", resolve(config), "--control-fd=3"], {
    cwd: dirname(config),
    stdio: ["ignore", "inherit", "pipe", "pipe"],
  });
  let errors = "";
  server.stderr.on("data", (text) => (errors += text));
  const ended = once(server, "exit");
  later(async () => {
    server.kill("SIGTERM");
    await ended;
  });
  const port = await new Promise((done, fail) => {
    server.stdio[3].on("data", (text) => {
      for (const line of String(text).trim().split("\n")) {
        const { event, port } = JSON.parse(line);
        if (event === "listen") done(port);
      }
    });
    ended.then(() => fail(new Error(`workerd ended: ${errors}`)));
  });
  return { url: `http://127.0.0.1:${port}/`, errors: () => errors };
}
