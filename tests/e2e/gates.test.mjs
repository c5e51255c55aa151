// Each gate of the bench holds at its limit and fails beyond it, and the figures are taken out of a trace as described.
import assert from "node:assert/strict";
import test from "node:test";
import { GATES, judge } from "./gates.mjs";
import { cpuBetween, cpuPerFrame, percentile, readTrace } from "./measure.mjs";

for (const { figure, most, least } of GATES) {
  test(`a gate holds at its limit and fails beyond it: ${figure}`, () => {
    const holds = (value) => judge(new Map([[figure, value]]), [{ figure, most, least }])[0].isMet;
    const [inside, beyond] = most === undefined ? [least, least - 1] : [most, most * 1.01];
    assert.deepEqual([holds(inside), holds(beyond), holds(Number.NaN), holds(undefined)], [true, false, false, false]);
  });
}

test("each figure is judged once", () => {
  assert.equal(new Set(GATES.map(({ figure }) => figure)).size, GATES.length);
});

const task = (from, to, cpu, ids = { pid: 1, tid: 1 }) => ({
  name: "ThreadControllerImpl::RunTask",
  ph: "X",
  ts: from * 1_000,
  dur: (to - from) * 1_000,
  tdur: cpu * 1_000,
  ...ids,
});
const mark = (name, at) => ({ name, cat: "blink.user_timing", ts: at * 1_000, pid: 1, tid: 1 });

test("a trace has the tasks and marks of the page's own thread", () => {
  const events = [
    mark("traced", 0),
    task(1, 3, 1),
    task(1, 9, 8, { pid: 1, tid: 2 }),
    task(1, 9, 8, { pid: 2, tid: 1 }),
  ];
  assert.deepEqual(readTrace(events), { tasks: [{ from: 1, to: 3, cpu: 1 }], marks: [{ name: "traced", at: 0 }] });
});

test("a key has the processor time of its task, of the frame and of what ran between them, and of nothing else", () => {
  const tasks = [task(0, 9, 7), task(10, 12, 2), task(12, 15, 1), task(16, 20, 3), task(21, 30, 9)];
  const trace = readTrace([mark("traced", 0), ...tasks, mark("key", 11), mark("painted", 19)]);
  assert.deepEqual(cpuBetween(trace, "key", "painted"), [2 + 1 + 3]);
  assert.deepEqual(cpuBetween(trace, "painted", "key"), [], "a key without a frame has no figure");
});

test("a task counts for one frame only", () => {
  const tasks = [task(0, 4, 4), task(5, 6, 1), task(10, 14, 3), task(20, 24, 2)];
  const trace = readTrace([mark("traced", 0), ...tasks, ...[2, 12, 22].map((at) => mark("frame", at))]);
  assert.deepEqual(cpuPerFrame(trace, "frame"), [1 + 3, 2]);
});

test("a percentile is one of the values", () => {
  assert.deepEqual([percentile([3, 1, 2], 0.5), percentile([3, 1, 2], 0.95), percentile([1], 0)], [2, 3, 1]);
});
