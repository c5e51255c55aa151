import assert from "node:assert/strict";
import test from "node:test";
import { opsBefore } from "../src/core/history.js";
import type { Op } from "../src/core/journal.js";
import type { Step } from "../src/core/protocol.js";
import { withStep } from "../src/core/steps.js";

const write = (path: string, at = 0): Op =>
  ({ op: "write", path, text: path, base: "", step: { kind: "typing", path }, at }) as Op;
const run = (text: string): readonly Op[] => [
  { op: "run", text, at: 0 },
  { op: "response", status: 200, type: "", body: text, whole: true, at: 1 },
  { op: "end", failed: false, at: 5 },
];
const accept: Op = { op: "accept", ids: ["h1"], over: false, path: "a", at: 0 };
const undo = (kind: "typing" | "accept" | "go back", path: string): Op => ({ op: "undo", step: { kind, path }, at: 0 });

/** Returns the operations as words: `w:a` is an edit of a, `r:one` a run. */
function words(ops: readonly Op[]): string {
  const name = (op: Op): string =>
    op.op === "run" ? `r:${op.text}` : op.op === "write" ? `w:${op.path}` : op.op === "end" ? "" : op.op;
  return ops
    .map(name)
    .filter((word) => word !== "" && word !== "response")
    .join(" ");
}

test("runs and decisions from a run on are left out, and edits of the user stay", () => {
  const ops = [write("a"), ...run("one"), accept, write("b"), ...run("two"), write("c", 3), accept];
  assert.equal(words(opsBefore(ops, 1)), "w:a r:one accept w:b w:c");
  assert.equal(words(opsBefore(ops, 0)), "w:a w:b w:c");
  assert.equal(words(opsBefore(ops, 2)), words(ops));
  const later = opsBefore(ops, 1).at(-1);
  assert.equal(later?.at, 0, "an edit during a run is repeated without one");
});

test("an undone edit does not return", () => {
  const ops = [...run("one"), write("a"), write("b"), undo("typing", "b"), accept, undo("accept", "a")];
  assert.equal(words(opsBefore(ops, 0)), "w:a");
  assert.equal(words(opsBefore([write("a"), ...run("one"), undo("typing", "a")], 0)), "w:a undo");
});

test("an earlier return to a run counts, unless it was undone", () => {
  const back: Op = { op: "goBack", run: 1, at: 0 };
  const ops = [...run("one"), ...run("two"), back, ...run("three")];
  assert.equal(words(opsBefore(ops, 2)), "r:one");
  assert.equal(words(opsBefore(ops, 0)), "");
  const undone = [...run("one"), ...run("two"), back, undo("go back", ""), ...run("three")];
  assert.equal(words(opsBefore(undone, 2)), "r:one r:two");
});

test("an edit that belongs to a rejection stays without it, and is undone with it", () => {
  const edit = { ...write("a"), step: { kind: "typing", path: "a", joins: true } } as Op;
  const reject: Op = { op: "reject", ids: ["h1"], dependents: "with", path: "a", at: 0 };
  const both: Op = { op: "undo", step: { kind: "reject", path: "a", count: 2 }, at: 0 };
  const left = opsBefore([...run("one"), reject, edit], 0);
  assert.equal(words(left), "w:a");
  assert.deepEqual(
    left.map((op) => op.op === "write" && op.step),
    [{ kind: "typing", path: "a" }],
  );
  assert.equal(words(opsBefore([...run("one"), reject, edit, both], 0)), "");
  assert.equal(words(opsBefore([...run("one"), reject, undo("typing", "b")], 0)), "undo");
});

test("a step that belongs to the last one is undone with it", () => {
  const reject: Step = { kind: "reject", path: "a" };
  const edit: Step = { kind: "typing", path: "a", joins: true };
  assert.deepEqual(withStep([reject], edit), { done: [{ ...reject, count: 2 }], undone: [] });
  assert.deepEqual(withStep([reject], reject), { done: [reject, reject], undone: [] });
  assert.deepEqual(withStep([], edit), { done: [edit], undone: [] });
});
