// The regex engine: a separate module that the first pattern other than plain text loads.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import test from "node:test";
import { promisify } from "node:util";
import { results, scripted } from "./support.mjs";

const modulePath = new URL(import.meta.resolve("emend/regex.wasm"));
const reads = [];
const { readFile } = fs;
fs.readFile = (path, ...rest) => {
  reads.push(String(path));
  return readFile(path, ...rest);
};
syncBuiltinESMExports();

const { Agent, init, isEmendError } = await import("emend");
const nReads = () => reads.filter((path) => path.endsWith("/regex-core_bg.wasm")).length;
const FILES = { "a.txt": "one\r\n\r\nneedle <b>\nTask\n", "src/b.md": "Needle.\n" };

async function agentFor(t, options) {
  const agent = await Agent.create({ files: FILES, ...options });
  t.after(() => agent.close());
  return agent;
}

/** Returns the lines that match, as `path:line`. */
const found = async (agent, pattern, options) =>
  (await agent.files.grep(pattern, options)).flatMap(({ path, lines }) => lines.map(({ line }) => `${path}:${line}`));

test("plain text and globs load nothing", async (t) => {
  const agent = await agentFor(t);
  assert.deepEqual(await found(agent, "needle"), ["a.txt:3"]);
  assert.deepEqual(await found(agent, "NEED", { ignoreCase: true }), ["a.txt:3", "src/b.md:1"]);
  assert.deepEqual(await found(agent, "needle <b>"), ["a.txt:3"]);
  assert.deepEqual(await found(agent, "e\\.", { glob: "**/*.{md,[t-v]xt}" }), ["src/b.md:1"]);
  assert.deepEqual((await agent.files.glob("{src/,}[!c].?*")).length, 2);
  assert.equal(nReads(), 0);
});

test("an engine that fails to load is an error of the search, and a later search can load it", async (t) => {
  await init({ regex: new URL("missing.wasm", modulePath) });
  const { model, requests } = scripted([
    [
      ["grep", { pattern: "ne+dle" }],
      ["grep", { pattern: "needle" }],
    ],
  ]);
  const agent = await agentFor(t, { model });
  await assert.rejects(found(agent, "ne+dle"), (error) => {
    assert.match(error.message, /^the regex engine could not be loaded from .*missing\.wasm/);
    return isEmendError(error, "io_error");
  });
  assert.equal((await agent.run("search").result).text, "Done.");
  const [failed, plain] = results(requests[1]);
  assert.match(failed, /^error: Tool error \(grep\): \[io_error\] the regex engine could not be loaded from/);
  assert.equal(plain, "a.txt:3:needle <b>");
  await init({ regex: modulePath });
  assert.deepEqual(await found(agent, "ne+dle"), ["a.txt:3"]);
});

test("only the first pattern loads the engine", async (t) => {
  const agent = await agentFor(t);
  assert.equal(nReads(), 1);
  assert.deepEqual(await found(agent, "task", { ignoreCase: true }), ["a.txt:4"]);
  assert.deepEqual(await found(agent, "^$"), ["a.txt:2"]);
  assert.deepEqual(await found(agent, "(?i)\\bn\\w+"), ["a.txt:3", "src/b.md:1"]);
  assert.deepEqual(await found(agent, "^", { maxResults: 2 }), ["a.txt:1", "a.txt:2"]);
  assert.equal(nReads(), 1);
});

test("a pattern that does not compile is refused", async (t) => {
  const agent = await agentFor(t);
  for (const [pattern, reason] of [
    ["(", /not a valid regular expression: .*unclosed group/s],
    ["a\nb", /match nothing within one line/],
  ]) {
    await assert.rejects(found(agent, pattern), (error) => {
      assert.match(error.message, reason);
      return isEmendError(error, "invalid_argument");
    });
  }
});

test("a panic in the engine is an error of its search, and the next search has a fresh engine", async (t) => {
  const agent = await agentFor(t);
  const glue = await import(new URL("regex-core.js", import.meta.resolve("emend")));
  const { matchStarts } = glue.PatternHandle.prototype;
  glue.PatternHandle.prototype.matchStarts = () => {
    glue.PatternHandle.prototype.matchStarts = matchStarts;
    glue.panicNow("boom in the engine");
  };
  await assert.rejects(found(agent, "ne+dle"), (error) => {
    assert.match(error.message, /boom in the engine/);
    return isEmendError(error, "internal");
  });
  assert.deepEqual(await found(agent, "ne+dle"), ["a.txt:3"]);
});

test("`emend/inline` has the engine in its script", async () => {
  const source = `
    import fs from "node:fs/promises";
    import { syncBuiltinESMExports } from "node:module";
    let reads = 0;
    const { readFile } = fs;
    fs.readFile = (path, ...rest) => {
      if (String(path).endsWith(".wasm")) reads += 1;
      return readFile(path, ...rest);
    };
    syncBuiltinESMExports();
    const { Agent } = await import(${JSON.stringify(import.meta.resolve("emend/inline"))});
    const agent = await Agent.create({ files: { "a.txt": "needle" } });
    const found = await agent.files.grep("ne+dle");
    agent.close();
    console.log(found.length, reads);
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", source]);
  assert.equal(stdout, "1 0\n");
});

// The last test: the loading that it begins never ends.
test("an engine that never arrives ends the search all the same", async () => {
  const source = `
    import { mock } from "node:test";
    const { Agent, init } = await import(${JSON.stringify(import.meta.resolve("emend"))});
    await init({ regex: new Promise(() => {}) });
    const agent = await Agent.create({ files: { "a.txt": "needle" } });
    mock.timers.enable({ apis: ["setTimeout"] });
    const search = agent.files.grep("ne+dle").catch((error) => error);
    const ticks = setInterval(() => mock.timers.tick(10_000), 10);
    const { code, message } = await search;
    clearInterval(ticks);
    agent.close();
    console.log(code, message);
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", source]);
  assert.match(stdout, /^timeout the regex engine has not been loaded in time/);
});
