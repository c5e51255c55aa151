// Stores with two writers, that hang, or that fail half-way: no turn is lost in silence, and every run ends.

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { appendFile, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";
import { Agent, indexedDbStore, isEmendError, memoryStore } from "emend";
import { fileStore } from "emend/node";
import { collect, scripted } from "./support.mjs";

const never = new Promise(() => {});
const says = (...texts) => scripted(texts).model;
const spoken = (agent) =>
  agent
    .turns()
    .filter(({ kind }) => kind === "user")
    .map(({ message }) => message.content[0].text);

async function folder(t) {
  const path = await mkdtemp(join(tmpdir(), "emend-stores-"));
  t.after(() => rm(path, { recursive: true }));
  return path;
}

/** Functions that make stores over the same documents, one for each agent. */
const KINDS = {
  memory: async () => {
    const store = memoryStore();
    return () => store;
  },
  "one file store": async (t) => {
    const store = fileStore(await folder(t));
    return () => store;
  },
  "two file stores": async (t) => {
    const path = await folder(t);
    return () => fileStore(path);
  },
};

for (const [kind, make] of Object.entries(KINDS)) {
  test(`of two agents on one session, the second writer gets a conflict (${kind})`, async (t) => {
    const open = await make(t);
    const first = await Agent.create({ model: says("1", "3", "4"), store: open() });
    assert.equal((await first.run("one").result).reason, "natural");
    const second = await Agent.resume(first.sessionId, { model: says("2"), store: open() });
    assert.equal((await second.run("two").result).reason, "natural");
    for (const text of ["three", "four"]) {
      const { reason, error } = await first.run(text).result;
      assert.equal(reason, "error");
      assert.ok(isEmendError(error, "conflict"), String(error));
      assert.match(error.message, /Resume the session/);
    }
    const third = await Agent.resume(first.sessionId, { model: says("5", "6"), store: open() });
    assert.deepEqual(spoken(third), ["one", "two"]);
    assert.equal((await third.run("five").result).reason, "natural");
    assert.equal((await third.run("six").result).reason, "natural");
    const fork = await Agent.fork(first.sessionId, { store: open() });
    assert.deepEqual(spoken(fork), ["one", "two", "five", "six"]);
    for (const agent of [first, second, third, fork]) agent.close();
  });
}

for (const [kind, make] of Object.entries(KINDS)) {
  test(`of two agents that write one session at the same time, one wins and the other says so (${kind})`, async (t) => {
    const open = await make(t);
    const first = await Agent.create({ model: says("1", "2"), store: open() });
    await first.run("one").result;
    const second = await Agent.resume(first.sessionId, { model: says("2"), store: open() });
    const ends = await Promise.all([first.run("AAAA").result, second.run("BBBB").result]);
    assert.deepEqual(ends.map(({ reason }) => reason).sort(), ["error", "natural"]);
    assert.ok(isEmendError(ends.find(({ error }) => error !== undefined).error, "conflict"));
    const winner = ends[0].reason === "natural" ? "AAAA" : "BBBB";
    const third = await Agent.resume(first.sessionId, { model: says("3"), store: open() });
    assert.deepEqual(spoken(third), ["one", winner]);
    for (const agent of [first, second, third]) agent.close();
  });
}

test("of several processes that append to one document, each append is whole and has one winner", async (t) => {
  const path = await folder(t);
  const source = `
    import { fileStore } from "emend/node";
    const [path, name] = process.argv.slice(1);
    const store = fileStore(path);
    for (let wins = 0, tries = 0; wins < 10; tries++) {
      if (tries > 5000) throw new Error("no append succeeds");
      const expected = (await store.load("doc"))?.length ?? 0;
      try {
        await store.append("doc", JSON.stringify([name, wins]) + "\\n", { expected });
        wins += 1;
      } catch (error) {
        if (error.code !== "conflict") throw error;
      }
    }`;
  const run = promisify(execFile);
  const names = ["a", "b", "c"];
  const options = { cwd: import.meta.dirname };
  await Promise.all(
    names.map((name) => run(process.execPath, ["--input-type=module", "--eval", source, path, name], options)),
  );
  const lines = (await fileStore(path).load("doc")).trimEnd().split("\n");
  const expected = names.flatMap((name) => Array.from({ length: 10 }, (_, n) => JSON.stringify([name, n])));
  assert.deepEqual(lines.sort(), expected.sort());
  assert.deepEqual(await readdir(path), ["doc.jsonl"]);
});

test("a lock that a process left behind does not stop an append", async (t) => {
  const path = await folder(t);
  const store = fileStore(path);
  const { pid } = spawnSync(process.execPath, ["--eval", ""]);
  await writeFile(join(path, "one.jsonl.lock"), `${pid} ${hostname()}`);
  await store.append("one", "first\n", { expected: 0 });
  await writeFile(join(path, "one.jsonl.lock"), "1 elsewhere");
  await utimes(join(path, "one.jsonl.lock"), 1, 1);
  await store.append("one", "second\n", { expected: 6 });
  assert.equal(await store.load("one"), "first\nsecond\n");
  assert.deepEqual(await readdir(path), ["one.jsonl"]);
});

test("a damaged line of a saved session is counted in the list and reported when the session goes on", async () => {
  const whole = memoryStore();
  const agent = await Agent.create({ model: says("1", "2"), store: whole });
  await agent.run("one").result;
  await agent.run("two").result;
  const { sessionId } = agent;
  agent.close();
  const lines = (await whole.load(sessionId)).trimEnd().split("\n");
  assert.equal((await Agent.sessions(whole))[0].nDamaged, undefined);
  for (const damage of ["{broken", "7", '{"type":"turn","index":1,"kind":"user"}', '{"type":"history","turns":[{}]}']) {
    const store = memoryStore();
    await store.append(sessionId, `${lines.with(3, damage).join("\n")}\n`);
    const [{ nDamaged, nTurns, problem }] = await Agent.sessions(store);
    assert.deepEqual([nDamaged, nTurns, problem], [1, 3, undefined], damage);
    const again = await Agent.resume(sessionId, { model: says("3"), store });
    assert.equal(again.turns().length, nTurns);
    const events = again.events();
    assert.equal((await events.next()).value.kind, "SESSION_START");
    const { value } = await events.next();
    assert.deepEqual([value.kind, value.data.code], ["WARNING", "session_damaged"]);
    again.close();
  }
});

test("a missing store or database is reported with the one to use", async () => {
  const agent = await Agent.create({ model: says("1") });
  await agent.run("one").result;
  await assert.rejects(agent.newSession(), (error) => {
    assert.match(error.message, /`newSession` keeps the last session in a `store`.*`memoryStore\(\)`/);
    return isEmendError(error, "configuration");
  });
  agent.close();
  const store = indexedDbStore();
  for (const call of [() => store.load("a"), () => store.names(), () => store.append("a", "x\n")]) {
    await assert.rejects(call, (error) => isEmendError(error, "unsupported") && /`fileStore\(/.test(error.message));
  }
  await assert.rejects(Agent.sessions(store), /fileStore/);
});

test("a removed session is not begun again without its beginning", async () => {
  const store = memoryStore();
  const agent = await Agent.create({ model: says("1", "2"), store });
  await agent.run("one").result;
  await Agent.removeSession(store, agent.sessionId);
  assert.ok(isEmendError((await agent.run("two").result).error, "conflict"));
  assert.deepEqual([...(await store.names())], []);
  agent.close();
});

test("a store may ignore what the agent expects", async () => {
  const documents = new Map();
  const store = {
    ...memoryStore(),
    append: (name, lines) => void documents.set(name, (documents.get(name) ?? "") + lines),
    load: (name) => documents.get(name),
  };
  const agent = await Agent.create({ model: says("1"), store });
  assert.equal((await agent.run("one").result).reason, "natural");
  const again = await Agent.resume(agent.sessionId, { model: says("2"), store });
  assert.equal((await again.run("two").result).reason, "natural");
  for (const closed of [agent, again]) closed.close();
});

test("a write that fails half-way is not a conflict, whatever part of it arrived", async () => {
  for (const part of [0, 0.3, 1]) {
    const inner = memoryStore();
    let fails = 2;
    const append = (name, lines, options) => {
      if (fails-- > 0) {
        inner.append(name, lines.slice(0, Math.floor(lines.length * part)), options);
        throw new Error("the disk is full");
      }
      return inner.append(name, lines, options);
    };
    const agent = await Agent.create({ model: says("1", "2"), store: { ...inner, append } });
    const events = await collect(agent.run("one"));
    assert.equal(events.filter(({ kind }) => kind === "WARNING").length, 1);
    const { reason, error } = await agent.run("two").result;
    assert.equal(reason, "natural", `${part}: ${error}`);
    const again = await Agent.resume(agent.sessionId, { store: inner });
    assert.deepEqual(spoken(again), ["one", "two"], String(part));
    for (const closed of [agent, again]) closed.close();
  }
});

test("lines that another process appends between check and write are a conflict", async (t) => {
  const path = await folder(t);
  const store = fileStore(path);
  await store.append("one", "first\n", { expected: 0 });
  await appendFile(join(path, "one.jsonl"), "theirs\n");
  await assert.rejects(store.append("one", "second\n", { expected: 6 }), (error) => isEmendError(error, "conflict"));
  assert.equal(await store.load("one"), "first\ntheirs\n");
  await store.append("one", "second 😀\n", { expected: 13 });
  await store.append("one", "third\n", { expected: 23 });
  const other = fileStore(path);
  await other.append("one", "fourth\n", { expected: 29 });
  assert.equal(await other.load("one"), "first\ntheirs\nsecond 😀\nthird\nfourth\n");
});

test("a file store stays in its directory", async (t) => {
  const path = await folder(t);
  await appendFile(join(path, "victim.jsonl"), "mine\n");
  const store = fileStore(join(path, "inside"));
  for (const name of ["../victim", "/etc/passwd", ".hidden", "", "a/b", "a\0"]) {
    for (const call of [() => store.load(name), () => store.append(name, "x\n"), () => store.remove(name)]) {
      await assert.rejects(
        async () => call(),
        (error) => isEmendError(error, "invalid_argument"),
        name,
      );
    }
  }
  assert.equal(await fileStore(path).load("victim"), "mine\n");
});

/** Lets everything run that does not wait for a timer. */
const turns = async () => {
  for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve));
};

test("a store that never answers is given up: after its time, after a cancel, and by `close`", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let calls = 0;
  const append = () => {
    calls += 1;
    return never;
  };
  const create = () => Agent.create({ model: says("1", "2"), store: { ...memoryStore(), append } });

  const agent = await create();
  const warnings = [];
  const run = agent.run("one");
  const reading = (async () => {
    for await (const event of run) if (event.kind === "WARNING") warnings.push(event.data);
  })();
  await turns();
  t.mock.timers.tick(30_000);
  await reading;
  assert.equal((await run.result).reason, "natural");
  assert.deepEqual([warnings.length, warnings[0].code], [1, "not_saved"]);
  assert.match(warnings[0].message, /did not answer within 30 s/);
  assert.equal(calls, 1, "nothing is appended beside a call that may still arrive");
  agent.close();

  const cancelled = await create();
  const stopped = cancelled.run("one");
  const { result } = stopped;
  await turns();
  stopped.cancel();
  t.mock.timers.tick(2_000);
  assert.equal((await result).reason, "aborted");
  cancelled.close();

  const closed = await create();
  const pending = closed.run("one").result;
  await turns();
  closed.close();
  await assert.rejects(pending, (error) => isEmendError(error, "closed"));

  const loading = Agent.resume("one", { store: { ...memoryStore(), load: () => never } });
  await turns();
  t.mock.timers.tick(30_000);
  await assert.rejects(loading, (error) => isEmendError(error, "io_error") && /did not answer/.test(error.message));
});
