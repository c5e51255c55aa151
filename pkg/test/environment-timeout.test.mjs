// The time limit of the calls of an environment: methods that never answer, and slow ones.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";
import { Agent, ConfigError, isEmendError } from "emend";
import { WorkerAgent } from "emend/worker";
import { create, mapped, never } from "./environments.mjs";
import { collect, SHOP, scripted } from "./support.mjs";

const MS = 60;

/** A method that never answers, and the signals that its calls got. */
function silent() {
  const signals = [];
  const method = (...given) => {
    signals.push(given.at(-1).signal);
    return never;
  };
  return { signals, method };
}

const isTimeout = (method) => (error) => {
  assert.ok(isEmendError(error, "timeout"), `${error.code}: ${error.message}`);
  assert.match(error.message, new RegExp(`\`${method}\` of the environment did not answer within 0\\.06 s`));
  return error.retryable && error.suggestions.some((each) => each.includes("timeoutMs"));
};

for (const [method, name, call] of [
  ["read", "files.read", (agent) => agent.files.read("notes.md")],
  ["read", "files.readDisk", (agent) => agent.files.readDisk("notes.md")],
  ["read", "files.grep", (agent) => agent.files.grep("cents")],
  ["read", "files.write", (agent) => agent.files.write("notes.md", "new\n")],
  ["stat", "files.read", (agent) => agent.files.read("notes.md")],
  ["list", "files.list", (agent) => agent.files.list()],
  ["list", "files.glob", (agent) => agent.files.glob("**")],
  ["write", "files.write", (agent) => agent.files.write("notes.md", "new\n")],
  ["write", "acceptAll", (agent) => agent.acceptAll()],
  ["remove", "files.remove", (agent) => agent.files.remove("notes.md")],
]) {
  test(`${name} fails if \`${method}\` of the environment never answers`, { timeout: 60_000 }, async (t) => {
    const { method: wait, signals } = silent();
    const environment = mapped(SHOP, { timeoutMs: MS });
    const agent = await create(t, environment);
    await agent.run("rename Price to Cost in src/price.js").result;
    const good = environment[method];
    environment[method] = wait;
    await assert.rejects(call(agent), isTimeout(method));
    assert.ok(signals.length > 0 && signals.every((signal) => signal.aborted));
    // A later call finds the files as they are.
    environment[method] = good;
    assert.equal((await agent.files.read("notes.md")).text, SHOP["notes.md"]);
    await agent.acceptAll();
    assert.match(environment.text("src/price.js"), /Cost/);
  });
}

test("a method that is slow but alive is not given up", { timeout: 60_000 }, async (t) => {
  const environment = mapped(SHOP, { timeoutMs: 400 });
  const pause = () => new Promise((resolve) => setTimeout(resolve, 100));
  const slow = { timeoutMs: environment.timeoutMs };
  for (const method of ["read", "write", "remove", "stat"]) {
    slow[method] = async (...given) => {
      await pause();
      return environment[method](...given);
    };
  }
  // The listing of the root takes longer than the limit, but each entry less.
  slow.list = async function* (path) {
    for (const name of [...environment.list(path), ...(path === "" ? ["a", "b", "c", "d"] : [])]) {
      await pause();
      yield name;
    }
  };
  const agent = await create(t, slow);
  assert.equal((await agent.files.list()).length, Object.keys(SHOP).length);
  await agent.files.write("notes.md", "new\n");
  assert.equal(environment.text("notes.md"), "new\n");
});

test("a list that stops half-way is given up", { timeout: 60_000 }, async (t) => {
  let isEnded = false;
  const list = () => ({
    [Symbol.asyncIterator]: () => ({
      next: () => never,
      return: async () => ({ done: (isEnded = true) }),
    }),
  });
  const agent = await create(t, mapped(SHOP, { timeoutMs: MS, list }));
  await assert.rejects(agent.files.list(), isTimeout("list"));
  assert.ok(isEnded);
});

test("a run whose tool call takes too long goes on with an error result", { timeout: 60_000 }, async (t) => {
  const environment = mapped(SHOP, { timeoutMs: MS });
  const { model, requests } = scripted([
    () => {
      environment.read = () => never;
      return [["read_file", { file_path: "notes.md" }]];
    },
    "Done.",
  ]);
  const agent = await create(t, environment, { model });
  const events = await collect(agent.run("go"));
  const { data } = events.find(({ kind }) => kind === "TOOL_CALL_END");
  assert.equal(data.ok, false);
  assert.match(JSON.stringify(requests[1].messages.at(-1)), /`read` of the environment did not answer within 0\.06 s/);
  assert.equal(events.at(-1).data.reason, "natural");
});

test("an agent in a worker has the limit, too", { timeout: 60_000 }, async () => {
  const agent = await WorkerAgent.create({ environment: mapped(SHOP, { timeoutMs: MS, read: () => never }) });
  await assert.rejects(agent.files.read("notes.md"), isTimeout("read"));
  agent.close();
});

test("many calls at the same time are no warning of Node", { timeout: 60_000 }, async (t) => {
  const warnings = [];
  const warned = (warning) => warnings.push(warning);
  process.on("warning", warned);
  t.after(() => process.off("warning", warned));
  const names = Array.from({ length: 100 }, (_, index) => `${index}.txt`);
  const environment = mapped(Object.fromEntries(names.map((name) => [name, "a\n"])));
  const { stat } = environment;
  environment.stat = async (path) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return stat(path);
  };
  const agent = await create(t, environment);
  assert.equal((await agent.files.list()).length, names.length);
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert.deepEqual(warnings, []);
});

test("a call that is given up keeps no process alive", { timeout: 60_000 }, async () => {
  const program = `
    import { Agent } from "emend";
    const never = new Promise(() => {});
    const environment = { read: () => never, write() {}, remove() {}, list: () => never, stat: () => never };
    const agent = await Agent.create({ environment });
    agent.files.read("a.txt").catch(({ code }) => console.log(code));
    const run = agent.run("rename a to b");
    setTimeout(() => run.cancel(), 50);
    console.log((await run.result).reason);
    agent.close();
  `;
  const file = join(import.meta.dirname, "environment-timeout-program.mjs");
  await writeFile(file, program);
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [file], { timeout: 30_000 });
    assert.equal(stdout, "aborted\nclosed\n");
  } finally {
    await rm(file);
  }
});

test("0 and Infinity mean that a call has no limit, and other values are errors", async (t) => {
  for (const timeoutMs of [0, Infinity, 2 ** 40]) {
    const agent = await create(t, mapped(SHOP, { timeoutMs, read: () => never }));
    const pending = agent.files.read("notes.md").catch((error) => error);
    const first = await Promise.race([pending, new Promise((resolve) => setTimeout(resolve, 2 * MS, "pending"))]);
    assert.equal(first, "pending");
  }
  for (const timeoutMs of [-1, Number.NaN, "5", null, {}]) {
    const environment = mapped(SHOP, { timeoutMs });
    await assert.rejects(
      Agent.create({ environment }),
      (error) => error instanceof ConfigError && /`timeoutMs`/.test(error.message),
    );
  }
});
