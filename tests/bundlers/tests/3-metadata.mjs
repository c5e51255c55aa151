// The package's metadata and declarations: what publint, Are the types wrong and the TypeScript compiler find.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { CONSUMER, installed, SUITE } from "../consumer.mjs";

/**
 * The resolutions whose problems count: the profile "esm-only" of Are the types wrong. The package has no CommonJS:
 * `require` of it works in Node 20.19 and later, which load ECMAScript modules, but no older tool can do that. The other
 * two are TypeScript's "node10", which does not know `exports`, and "node16" in CommonJS files.
 */
const RESOLUTIONS = ["node16-esm", "bundler"];

const TSC = createRequire(import.meta.url)
  .resolve("typescript/package.json")
  .replace("package.json", "bin/tsc");

/** Compiles a program that uses all entries with the strictest options, all declarations included. */
const compiles = (name, options, lib) => async () => {
  const config = join(CONSUMER, "apps", `tsconfig.${name}.json`);
  const strict = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
  };
  const types = { types: ["node"], typeRoots: [join(SUITE, "node_modules/@types")] };
  const compilerOptions = { ...strict, ...types, noEmit: true, target: "ES2022", lib, ...options };
  await writeFile(config, JSON.stringify({ compilerOptions, files: ["typed.mts"] }));
  const { stdout } = await promisify(execFile)(process.execPath, [TSC, "-p", config]).catch((error) => error);
  assert.equal(stdout, "");
};

const DOM = ["ES2022", "DOM", "DOM.Iterable"];

export const tests = {
  async "publint finds no errors, warnings or suggestions"({ packed }) {
    const data = await readFile(packed.tarball);
    const tarball = data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
    const { messages } = await publint({ pack: { tarball }, level: "suggestion", strict: true });
    assert.deepEqual(messages, []);
  },
  async "Are the types wrong? finds no problems for node16-esm and bundler"({ packed }) {
    const subject = createPackageFromTarballData(new Uint8Array(await readFile(packed.tarball)));
    const { types, problems, entrypoints } = await checkPackage(subject, { excludeEntrypoints: [/\.wasm$/] });
    assert.ok(types, "no declarations were found");
    assert.ok(Object.keys(entrypoints).length >= 11, `${Object.keys(entrypoints)}`);
    const counted = problems.filter(({ resolutionKind: kind }) => kind === undefined || RESOLUTIONS.includes(kind));
    assert.deepEqual(counted, []);
  },
  "tsc: strict with nodenext": compiles("nodenext", { module: "nodenext" }, DOM),
  "tsc: strict with bundler": compiles("bundler", { module: "esnext", moduleResolution: "bundler" }, DOM),
  async "the compiler sees a wrong program"() {
    const { exports } = JSON.parse(await readFile(installed("package.json"), "utf8"));
    const program = await readFile(join(CONSUMER, "apps/typed.mts"), "utf8");
    // Every entry with declarations is used, but the extension of an editor that is not installed here.
    const typed = Object.keys(exports).filter((name) => exports[name].types && name !== "./codemirror");
    for (const name of typed) assert.ok(program.includes(`"${name.replace(/^\./, "emend")}"`), name);
    await writeFile(join(CONSUMER, "apps/typed.mts"), `${program}\nconst wrong: number = agent.review();\n`);
    const check = compiles("wrong", { module: "nodenext" }, DOM);
    await assert.rejects(check, /typed\.mts.*error TS2322/);
    await writeFile(join(CONSUMER, "apps/typed.mts"), program);
  },
};
