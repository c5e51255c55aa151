// The folder of a program that uses the packed package: the installed tarball, the programs of `apps/`, the examples, and
// the wasm files that a build emitted.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const path = (url) => fileURLToPath(new URL(url, import.meta.url));

/** The folder of this suite: a program in `consumer/` finds the tools and React in its `node_modules`. */
export const SUITE = path(".");
export const CONSUMER = path("consumer");
const PKG = path("../../pkg");
const INSTALLED = join(CONSUMER, "node_modules/emend");

/** Packs the package and installs the tarball in an empty folder beside the programs that use it. */
export async function installPackage() {
  await rm(CONSUMER, { recursive: true, force: true });
  await mkdir(CONSUMER);
  await writeFile(join(CONSUMER, "package.json"), '{ "private": true, "type": "module" }\n');
  const npm = (folder, ...args) => run("npm", args, { cwd: folder, shell: process.platform === "win32" });
  const { stdout } = await npm(PKG, "pack", "--json", "--ignore-scripts", "--pack-destination", CONSUMER);
  const [{ filename, size, entryCount }] = JSON.parse(stdout);
  const quiet = ["--no-audit", "--no-fund", "--prefer-offline", "--no-package-lock", "--silent"];
  await npm(CONSUMER, "install", ...quiet, `./${filename}`);
  await cp(join(SUITE, "apps"), join(CONSUMER, "apps"), { recursive: true });
  await cp(join(PKG, "examples"), join(CONSUMER, "examples"), { recursive: true });
  return { tarball: join(CONSUMER, filename), bytes: size, files: entryCount };
}

/** Returns the files below `folder`, by their paths with slashes. */
export async function filesIn(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, "/")).sort();
}

/**
 * Returns how often each wasm module of the package is below `folder`, e.g. `{ core: 1, edit: 1 }`. Modules are
 * recognised by their contents; a wasm file that is not one of the package's, and a module as text in a script, is an
 * error.
 */
export async function modulesIn(folder) {
  const known = new Map();
  for (const file of (await readdir(join(INSTALLED, "dist"))).filter((name) => name.endsWith("_bg.wasm"))) {
    known.set(await hashOf(join(INSTALLED, "dist", file)), file.replace(/(-core)?_bg\.wasm$/, ""));
  }
  const found = {};
  for (const file of await filesIn(folder)) {
    if (file.endsWith(".wasm")) {
      const name = known.get(await hashOf(join(folder, file)));
      if (name === undefined) throw new Error(`${file} is not a module of the package`);
      found[name] = (found[name] ?? 0) + 1;
    } else if (/\.[cm]?js$|\.html$/.test(file)) {
      if ((await readFile(join(folder, file), "utf8")).includes(BASE64_OF_MAGIC)) {
        throw new Error(`${file} holds a module as text`);
      }
    }
  }
  return found;
}

/** The beginning of every wasm module, its version included, in base64. */
const BASE64_OF_MAGIC = "AGFzbQEAAAA";

async function hashOf(file) {
  return createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
}

/** Returns the size of a file of the installed package in bytes. */
export async function sizeOf(file) {
  return (await stat(installed(file))).size;
}

/** Returns the path of a file of the installed package. */
export function installed(...file) {
  return join(INSTALLED, ...file);
}
