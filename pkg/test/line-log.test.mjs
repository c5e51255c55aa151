// The line log from JavaScript: decisions, saving, undo and rollback.

import assert from "node:assert/strict";
import test from "node:test";
import { isEmendError, load } from "emend/edit";

const edit = await load();
const BASE = "one\ntwo\nthree\n";

/** A log in which the agent changed line 2, and the user added a line at the end. */
function reviewed() {
  const log = edit.openLog(BASE);
  const [agents] = log.write("one\n2\nthree\n", { origin: "agent", run: "run 1", edit: "call 1", atMs: 5 });
  log.write("one\n2\nthree\nfour\n", { origin: "user" });
  return { log, agents };
}

test("a pending change shows and is not saved", () => {
  const { log, agents } = reviewed();
  assert.equal(log.visibleText, "one\n2\nthree\nfour\n");
  assert.equal(log.diskText, "one\ntwo\nthree\nfour\n");
  assert.equal(log.settledText, log.diskText);
  assert.equal(log.baseText, BASE);
  assert.equal(log.savedText, BASE);
  assert.equal(log.visibleLines, 4);
  assert.deepEqual(log.pending(), [agents]);
  const [change, users] = log.changes();
  assert.deepEqual(change, {
    id: agents,
    origin: "agent",
    meta: { run: "run 1", edit: "call 1", atMs: 5 },
    baseRevision: 0,
    op: "edit",
    status: "pending",
    insertedLines: 1,
    deletedLines: 1,
    deps: [],
    onDisk: false,
  });
  assert.equal(users.status, "accepted");
  assert.ok(Math.abs(users.meta.atMs - Date.now()) < 600_000, "the time is not the host's");
  assert.deepEqual(log.change(agents), change);
  assert.equal(log.change(99), null);
});

test("hunks are accepted and rejected by id", () => {
  const { log, agents } = reviewed();
  const [hunk] = log.hunks({ context: 0 });
  assert.deepEqual(hunk.changeIds, [agents]);
  assert.deepEqual(hunk.lines, [
    { kind: "removed", text: "two\n", old: 2, new: null },
    { kind: "added", text: "2\n", old: null, new: 2 },
  ]);
  assert.deepEqual(log.changesOf(hunk.id), [agents]);
  const { edits, changed } = log.reject([hunk.id]);
  assert.deepEqual(edits, [{ line: 2, removed: 1, inserted: ["two\n"] }]);
  assert.deepEqual(changed, [agents]);
  assert.equal(log.visibleText, "one\ntwo\nthree\nfour\n");
  assert.equal(log.hunks({ statuses: ["rejected"] }).length, 1);
  log.reopen([agents]);
  log.accept([agents]);
  assert.equal(log.diskText, "one\n2\nthree\nfour\n");
});

test("rejecting a change with dependents needs a choice", () => {
  const log = edit.openLog("a\n");
  const [agents] = log.write("a\nb\nc\n", { origin: "agent" });
  const [users] = log.write("a\nb\nmine\nc\n", { origin: "user" });
  assert.deepEqual(log.dependents([agents]), [users]);
  assert.deepEqual(log.keptOnDisk(), [agents]);
  assert.throws(
    () => log.reject([agents]),
    (error) => {
      assert.ok(isEmendError(error, "conflict") && error.name === "ConflictError");
      assert.deepEqual(error.data, { kind: "has_dependents", dependents: [users], fromUser: 1 });
      return true;
    },
  );
  assert.equal(log.visibleText, "a\nb\nmine\nc\n");
  log.reject([agents], { dependents: "only" });
  assert.equal(log.visibleText, "a\nmine\n");
});

test("undo, redo, checkpoints and rollback", () => {
  const { log, agents } = reviewed();
  assert.equal(log.undo({ by: "user" }).edits[0].line, 4);
  assert.equal(log.visibleText, "one\n2\nthree\n");
  log.redo({ by: "user" });
  const mark = log.checkpoint();
  log.write("gone", { origin: "agent" });
  assert.ok(log.changesSince(mark).length > 0);
  log.rollbackTo(mark);
  assert.equal(log.visibleText, "one\n2\nthree\nfour\n");
  log.undo();
  assert.equal(log.visibleText, "gone");
  assert.equal(log.release(mark), true);
  assert.equal(log.release(mark), false);
  assert.throws(
    () => log.rollbackTo(mark),
    (error) => isEmendError(error, "not_found"),
  );
  assert.equal(log.undo({ by: "external" }), null);
  assert.equal(edit.openLog("x").redo(), null);
  const actions = log.entries().map((entry) => entry.action);
  assert.deepEqual(actions.slice(0, 2), ["write", "write"]);
  assert.deepEqual(actions.at(-2), { rollback: { checkpoint: mark } });
  log.rollback([agents], { dependents: "with" });
});

test("files are created, deleted and renamed", () => {
  const log = edit.openLog(null);
  assert.equal(log.visibleText, null);
  log.write("new\n", { origin: "agent" });
  assert.equal(log.diskText, null);
  assert.equal(typeof log.rename("b.txt", { origin: "agent" }), "number");
  assert.equal(log.rename("b.txt", { origin: "agent" }), null);
  assert.deepEqual([log.visiblePath, log.diskPath], ["b.txt", null]);
  assert.deepEqual(log.changes()[0].op, "create");
  assert.deepEqual(log.changes().at(-1).op, { rename: { to: "b.txt" } });
  assert.equal(typeof log.delete({ origin: "user" }), "number");
  assert.equal(log.visibleText, null);
  assert.equal(log.delete({ origin: "user" }), null);
});

test("a change of another program is recorded, and a large change can be split", () => {
  const { log, agents } = reviewed();
  log.markSaved();
  log.external("zero\none\ntwo\nthree\nfour\n");
  assert.equal(log.visibleText, "zero\none\n2\nthree\nfour\n");
  const parts = log.split(agents, 1);
  assert.equal(parts.length, 2);
  assert.equal(log.split(parts[0], 1), null);
  assert.deepEqual(log.changesOf(`h${agents}`), parts);
});

test("a log is saved, loaded and compacted", () => {
  const { log } = reviewed();
  const loaded = edit.loadLog(log.save());
  assert.equal(loaded.save(), log.save());
  assert.equal(loaded.visibleText, log.visibleText);
  assert.equal(loaded.undo().edits.length, 1);
  assert.equal(log.compact(), false);
  log.accept(log.pending());
  log.markSaved();
  assert.equal(log.compact(), true);
  assert.deepEqual(log.changes(), []);
  const damaged = JSON.parse(loaded.save());
  damaged.changes[0].deps = [7];
  assert.throws(
    () => edit.loadLog(JSON.stringify(damaged)),
    (error) => isEmendError(error, "invalid_argument") && /damaged/.test(error.message),
  );
});

test("wrong arguments are rejected and change nothing", () => {
  const { log } = reviewed();
  const before = log.save();
  const bad = [
    () => log.write(3, { origin: "agent" }),
    () => log.write("x"),
    () => log.write("x", { origin: "robot" }),
    () => log.write("x", { origin: "agent", note: 1 }),
    () => log.write("x", { origin: "agent", atMs: -1 }),
    () => log.write("x", { origin: "agent", status: "maybe" }),
    () => log.delete(),
    () => log.rename(7, { origin: "agent" }),
    () => log.external(7),
    () => log.change(1.5),
    () => log.dependents(1),
    () => log.accept([null]),
    () => log.accept([1], { by: "nobody" }),
    () => log.reject([1], { dependents: "all" }),
    () => log.hunks({ statuses: ["open"] }),
    () => log.hunks({ context: -1 }),
    () => log.hunks(null),
    () => log.changesOf(3),
    () => log.undo({ by: 3 }),
    () => log.release("x"),
    () => log.split(1, -1),
  ];
  for (const call of bad) assert.throws(call, (error) => isEmendError(error, "invalid_argument"), String(call));
  for (const call of [
    () => log.accept([99]),
    () => log.reject(["h99"]),
    () => log.changesOf("x"),
    () => log.split(99, 1),
  ]) {
    assert.throws(call, (error) => isEmendError(error, "not_found"), String(call));
  }
  assert.equal(log.save(), before);
});

test("a closed log throws ClosedError", () => {
  const { log } = reviewed();
  log.close();
  log.close();
  assert.throws(
    () => log.visibleText,
    (error) => isEmendError(error, "closed"),
  );
  assert.throws(
    () => log.write("x", { origin: "user" }),
    (error) => isEmendError(error, "closed"),
  );
});
