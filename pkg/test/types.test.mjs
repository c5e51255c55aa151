// The declarations: a consumer's program compiles against them under every module resolution, without `skipLibCheck`.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import test from "node:test";

/** Returns the `node_modules` of the package's checkout, from a parent folder. */
function toolbox() {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const modules = join(folder, "pkg/node_modules");
    if (existsSync(join(modules, "typescript"))) return modules;
  }
  throw new Error("typescript is not installed: run `npm ci` in pkg");
}

async function check(t, options) {
  const folder = await mkdtemp(join(import.meta.dirname, "types-"));
  t.after(() => rm(folder, { recursive: true }));
  const strict = {
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    target: "ES2022",
  };
  const settings = {
    compilerOptions: { ...strict, types: [], ...options },
    files: ["../types.consumer.mts", "../types.edit.mts", "../types.llm.mts"],
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(settings));
  const tsc = join(toolbox(), "typescript/bin/tsc");
  const output = await new Promise((resolve) => {
    execFile(process.execPath, [tsc, "-p", folder], (error, stdout, stderr) =>
      resolve(error ? `${stdout}${stderr}` : ""),
    );
  });
  assert.equal(output, "");
}

const DOM = ["ES2022", "DOM", "DOM.Iterable"];

test("a browser's program compiles as bundlers resolve it", (t) =>
  check(t, { lib: DOM, module: "ESNext", moduleResolution: "bundler" }));
test("a browser's program compiles as Node resolves it", (t) => check(t, { lib: DOM, module: "NodeNext" }));
test("a Node program without the DOM's types compiles", (t) =>
  check(t, { lib: ["ES2022"], module: "NodeNext", types: ["node"], typeRoots: [join(toolbox(), "@types")] }));
