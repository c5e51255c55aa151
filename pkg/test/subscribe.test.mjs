// `agent.subscribe` tells of every change, in every session, until it is ended.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import test from "node:test";
import { promisify } from "node:util";
import { Agent, memoryStore } from "emend";
import { collect, hunkIds, scripted } from "./support.mjs";

const edit = (from, to) => [["edit_file", { file_path: "a.txt", old_string: from, new_string: to }]];

/** An agent whose changes are recorded. */
async function watched(t, steps, options = {}) {
  const agent = await Agent.create({ files: { "a.txt": "one\n" }, model: scripted(steps).model, ...options });
  t.after(() => agent.close());
  const told = [];
  const stop = agent.subscribe((change) => told.push(change));
  const kinds = () => told.splice(0).map(({ kind, action, path }) => [kind, action ?? path].filter(Boolean).join(" "));
  const settled = () => new Promise((resolve) => setTimeout(resolve, 20));
  return { agent, told, stop, kinds, settled };
}

test("edits, writes, decisions and runs are told in order", async (t) => {
  const { agent, kinds, stop, settled } = await watched(t, [edit("one", "1"), "Done."]);
  await agent.run("edit").result;
  await settled();
  assert.deepEqual(kinds(), ["run", "edit a.txt", "run"]);
  await agent.accept(hunkIds(agent.review()));
  await agent.undo();
  await agent.redo();
  await agent.undo();
  await agent.rejectAll("a.txt");
  await agent.files.write("a.txt", "two\n");
  await agent.files.remove("a.txt");
  assert.deepEqual(kinds(), [
    ...["accept", "undo", "redo", "undo", "reject"].map((action) => `decision ${action}`),
    "write a.txt",
    "write a.txt",
  ]);
  await assert.rejects(agent.accept(["nothing"]));
  assert.deepEqual(kinds(), []);
  agent.close();
  agent.close();
  assert.deepEqual(kinds(), ["closed"]);
  stop();
});

test("a write is told with the revision of the file", async (t) => {
  const { agent, told } = await watched(t, []);
  const { revision } = await agent.files.write("a.txt", "two\n");
  assert.deepEqual(told, [{ kind: "write", path: "a.txt", revision }]);
});

test("the changes of a session that was opened later are told, and those of the past are not", async (t) => {
  const steps = [edit("one", "1"), "Done.", edit("1", "2"), "Done.", edit("2", "3"), "Done."];
  const { agent, kinds, stop, settled } = await watched(t, steps, { store: memoryStore() });
  const first = agent.sessionId;
  await agent.run("edit").result;
  await settled();
  kinds();
  await agent.newSession();
  await agent.run("edit").result;
  await settled();
  assert.deepEqual(kinds(), ["session", "run", "edit a.txt", "run"]);
  await agent.openSession(first);
  const late = [];
  const end = agent.subscribe(({ kind }) => late.push(kind));
  await settled();
  assert.deepEqual(late, []);
  await agent.run("edit").result;
  await settled();
  assert.deepEqual(late, ["run", "edit", "run"]);
  assert.deepEqual(kinds(), ["session", "run", "edit a.txt", "run"]);
  end();
  stop();
});

test("a subscription that was ended is told nothing, one that another listener ends neither", async (t) => {
  const { agent, stop, kinds } = await watched(t, []);
  const heard = [];
  const listener = ({ kind }) => heard.push(kind);
  // The same listener twice is two subscriptions.
  const [end, other] = [agent.subscribe(listener), agent.subscribe(listener)];
  await agent.files.write("a.txt", "two\n");
  assert.equal(heard.splice(0).length, 2);
  end();
  end();
  stop();
  const last = agent.subscribe(() => other());
  await agent.files.write("a.txt", "three\n");
  assert.equal(heard.splice(0).length, 1);
  await agent.files.write("a.txt", "four\n");
  assert.deepEqual([heard, kinds()], [[], ["write a.txt"]]);
  last();
  agent.close();
  assert.throws(
    () => agent.subscribe(listener),
    (error) => error.code === "closed",
  );
});

test("subscribing does not drive a run, and does not stop other readers", async (t) => {
  const { agent, kinds, settled } = await watched(t, [edit("one", "1"), "Done."]);
  const run = agent.run("edit");
  await settled();
  assert.deepEqual(kinds(), []);
  assert.equal((await collect(run)).at(-1).kind, "PROCESSING_END");
});

test("an exception of a listener reaches the program, and stops nothing", async () => {
  const program = `
    import { Agent } from "emend";
    process.on("uncaughtException", (error) => console.log("uncaught", error.message));
    const agent = await Agent.create({ files: { "a.txt": "one" } });
    agent.subscribe(() => { throw new Error("mine"); });
    agent.subscribe(({ kind }) => console.log(kind));
    console.log((await agent.files.write("a.txt", "two")).text);
    agent.close();
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
    cwd: import.meta.dirname,
  });
  assert.deepEqual(
    stdout.trim().split("\n").sort(),
    ["closed", "two", "uncaught mine", "uncaught mine", "write"].sort(),
  );
});
