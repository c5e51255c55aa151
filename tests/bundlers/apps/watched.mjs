// A program in Node that imports an entry of the package, given as an argument, and prints what the import did besides
// reading scripts, and what the first agent did. It watches files, requests, and the compilation of wasm.

import fs from "node:fs";
import http from "node:http";
import https from "node:https";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import { renameColour } from "./task.mjs";

const seen = [];

function watch(object, name, place) {
  const original = object[name];
  const report = (given) => seen.push(`${place}.${name}(${given instanceof Uint8Array ? "bytes" : given})`);
  object[name] = new Proxy(original, {
    apply: (target, self, args) => (report(args[0]), Reflect.apply(target, self, args)),
    construct: (target, args) => (report(args[0]), Reflect.construct(target, args)),
  });
}

for (const name of ["readFile", "open", "readdir", "stat", "lstat"]) watch(fs.promises, name, "fs/promises");
for (const name of ["readFile", "readFileSync", "open", "openSync", "createReadStream"]) watch(fs, name, "fs");
for (const name of ["request", "get"]) [http, https].forEach((module) => watch(module, name, "http"));
for (const name of ["connect", "createConnection"]) watch(net, name, "net");
syncBuiltinESMExports();
watch(globalThis, "fetch", "globalThis");
const ASYNC = ["compile", "instantiate", "compileStreaming", "instantiateStreaming"];
for (const name of [...ASYNC, "Module", "Instance", "Memory"]) watch(WebAssembly, name, "WebAssembly");

// Node's own loader reads the scripts of the package.
const besidesScripts = () => seen.filter((entry) => !/\.(m?js|json)\)$/.test(entry));
await import(process.argv[2]);
const byImport = besidesScripts();
const { Agent } = await import("emend");
await renameColour(Agent);
console.log(JSON.stringify({ byImport, byAgent: besidesScripts().slice(byImport.length) }));
