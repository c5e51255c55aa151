// The declarations: a consumer's program compiles against them under every module resolution, without `skipLibCheck`.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
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

/** The files that need the types of a page. */
const PAGE = ["../types.bind.mts"];
const PROGRAM = [
  "../types.consumer.mts",
  "../types.edit.mts",
  "../types.llm.mts",
  "../types.service.mts",
  "../types.tools.mts",
];

/** Compiles the consumer's program, or other files: `texts` by name. */
async function check(t, options, texts) {
  const folder = await mkdtemp(join(import.meta.dirname, "types-"));
  t.after(() => rm(folder, { recursive: true }));
  for (const [name, text] of Object.entries(texts ?? {})) await writeFile(join(folder, name), text);
  const strict = {
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    target: "ES2022",
  };
  const settings = {
    compilerOptions: { ...strict, types: [], ...options },
    files: texts === undefined ? [...PROGRAM, ...(options.lib.includes("DOM") ? PAGE : [])] : Object.keys(texts),
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

/** The names that the README's examples use and do not declare. */
const GLOBALS = `
type Handle = import("emend").DirectoryHandle;
declare const Agent: typeof import("emend").Agent;
declare const Client: typeof import("emend/llm").Client;
declare const files: Record<string, string>;
declare function runTests(filter: string, signal: AbortSignal): Promise<string>;
declare function showDirectoryPicker(): Promise<Handle>;
declare const handle: Handle;
declare const model: string;
declare const messages: import("emend/llm").Message[];
declare const signal: AbortSignal;
declare const schema: object;
declare function lookUp(city: string): string;
declare const myModel: { generate(messages: unknown, signal: AbortSignal): AsyncIterable<string> };
`;

test("the guide's recipes compile as TypeScript", async (t) => {
  const guide = await readFile(new URL("GUIDE.md", import.meta.resolve("emend/package.json")), "utf8");
  const recipes = [...guide.matchAll(/^```js\n(.*?)^```$/gms)].map(([, recipe], index) => [
    `recipe-${index + 1}.mts`,
    recipe,
  ]);
  assert.equal(recipes.length, 5);
  await check(t, { lib: DOM, module: "NodeNext" }, Object.fromEntries(recipes));
});

test("the README's examples compile as strict TypeScript", async (t) => {
  const readme = await readFile(new URL("README.md", import.meta.resolve("emend/package.json")), "utf8");
  const examples = [...readme.matchAll(/^```js\n(.*?)^```$/gms)].map(([, example], index) => [
    `example-${index + 1}.mts`,
    `${example}\nexport {};\n`,
  ]);
  assert.ok(examples.length >= 9, `${examples.length} examples`);
  const components = [...readme.matchAll(/^```jsx\n(.*?)^```$/gms)].map(([, example]) => ["component.tsx", example]);
  assert.equal(components.length, 1);
  const noUncheckedIndexedAccess = true;
  const types = { types: ["node"], typeRoots: [join(toolbox(), "@types")] };
  await check(
    t,
    { lib: DOM, module: "NodeNext", jsx: "react-jsx", noUncheckedIndexedAccess, ...types },
    { ...Object.fromEntries([...examples, ...components]), "globals.d.ts": GLOBALS },
  );
});
