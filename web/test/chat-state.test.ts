import assert from "node:assert/strict";
import { test } from "node:test";
import { addWaiting, type ChatState, EMPTY_CHAT, firstTasks, reduce, stopRun } from "../src/chat-state.js";
import type { AgentEvent } from "../src/engine.js";

type Plain = { [K in AgentEvent["kind"]]: readonly [K, Extract<AgentEvent, { kind: K }>["data"]] }[AgentEvent["kind"]];

/** Returns the state after a script of events. */
function play(...script: readonly Plain[]): ChatState {
  return script.reduce<ChatState>(
    (state, [kind, data], index) =>
      reduce(state, { cursor: index + 1, ts: 0, sessionId: "s", kind, data } as AgentEvent),
    EMPTY_CHAT,
  );
}

const USAGE = { inputTokens: 3, outputTokens: 4, totalTokens: 7 };
const ASK: Plain = ["USER_INPUT", { content: "rename a to b" }];
const CALL: Plain = ["TOOL_CALL_START", { callId: "c1", toolName: "grep", arguments: { pattern: "a" } }];
const END: Plain = ["PROCESSING_END", { reason: "natural", usage: USAGE }];

test("streamed text grows in one entry and ends with the whole text", () => {
  const half = play(ASK, ["ASSISTANT_TEXT_START", {}], ["ASSISTANT_TEXT_DELTA", { delta: "Hel" }]);
  assert.deepEqual(half.entries.at(-1), { kind: "assistant", id: "s-2", text: "Hel", streaming: true });
  const whole = reduce(half, event("ASSISTANT_TEXT_END", { text: "Hello" }));
  assert.deepEqual(whole.entries.at(-1), { kind: "assistant", id: "s-2", text: "Hello", streaming: false });
});

test("an answer without text leaves no empty bubble", () => {
  const state = play(ASK, ["ASSISTANT_TEXT_START", {}], CALL);
  assert.deepEqual(
    state.entries.map((entry) => entry.kind),
    ["user", "tool"],
  );
});

test("a tool call ends with its output, or with its failure and what to do", () => {
  const failure = { code: "not_found", message: "no such file", suggestions: ["a.md"] };
  const done = play(ASK, CALL, [
    "TOOL_CALL_END",
    {
      callId: "c1",
      toolName: "grep",
      ok: false,
      output: "x",
      error: failure.message,
      errorInfo: failure,
      durationMs: 7,
    },
  ]);
  const entry = done.entries.at(-1);
  assert.ok(entry?.kind === "tool");
  assert.deepEqual([entry.status, entry.output, entry.failure, entry.duration], ["failed", "x", failure, 7]);
});

test("the end of a run ends everything that was active", () => {
  const running = play(ASK, CALL);
  assert.deepEqual([running.running, running.activity], [true, "Running grep…"]);
  const ended = reduce(running, event("PROCESSING_END", { reason: "aborted", usage: USAGE }));
  assert.deepEqual([ended.running, ended.activity], [false, ""]);
  assert.deepEqual(
    ended.entries.map((entry) => (entry.kind === "tool" ? entry.status : entry.kind)),
    ["user", "cancelled", "end"],
  );
  const cut = stopRun(running);
  assert.deepEqual([cut.running, cut.entries.length], [false, 2]);
});

test("the line under an answer counts the tool calls of this run only", () => {
  const first = play(ASK, CALL, END);
  const second = [ASK, END].reduce((state, [kind, data], index) => {
    return reduce(state, { cursor: 50 + index, ts: 0, sessionId: "s", kind, data } as AgentEvent);
  }, first);
  assert.deepEqual(
    second.entries.flatMap((entry) => (entry.kind === "end" ? [entry.toolCalls] : [])),
    [1, 0],
  );
});

test("a message during a run waits until the model gets it, or comes back", () => {
  const waiting = addWaiting(addWaiting(play(ASK, CALL), "faster"), "and shorter");
  const one = reduce(waiting, event("STEERING_INJECTED", { content: "faster" }));
  assert.deepEqual(one.waiting, ["and shorter"]);
  const entry = one.entries.at(-1);
  assert.ok(entry?.kind === "user");
  assert.deepEqual([entry.text, entry.steering], ["faster", true]);
  const none = reduce(one, event("STEERING_RETURNED", { content: "and shorter" }));
  assert.deepEqual([none.waiting, none.entries.length], [[], one.entries.length]);
  const end = reduce(none, event("PROCESSING_END", { reason: "natural", usage: USAGE })).entries.at(-1);
  assert.ok(end?.kind === "end");
  assert.equal(end.toolCalls, 1, "the message began a new count");
});

test("the offline model's tokens are not counted", () => {
  const start = (offline: boolean): Plain => ["SESSION_START", { model: "m", provider: "p", offline }];
  const usage = (state: ChatState) => state.entries.flatMap((entry) => (entry.kind === "end" ? [entry.usage] : []));
  assert.deepEqual(usage(play(start(true), ASK, END)), [null]);
  assert.deepEqual(usage(play(start(false), ASK, END)), [USAGE]);
});

test("entries of two sessions are told apart", () => {
  const first = play(ASK);
  const second = reduce(first, { ...event("USER_INPUT", { content: "again" }), sessionId: "t", cursor: 1 });
  assert.equal(new Set(second.entries.map((entry) => entry.id)).size, 2);
});

test("a run's lease on a file is one entry, which shows the latest state", () => {
  const lease = (state: "held" | "released" | "preempted"): Plain => [
    "CANVAS_LEASE",
    { path: "a.md", state, epoch: 2 },
  ];
  const shown = (state: ChatState) => state.entries.map((entry) => (entry.kind === "lease" ? entry.state : entry.kind));
  assert.deepEqual(shown(play(ASK, CALL, lease("held"))), ["user", "tool", "held"]);
  assert.deepEqual(shown(play(ASK, CALL, lease("held"), lease("released"))), ["user", "tool", "released"]);
  const twice = play(ASK, lease("held"), lease("released"), END, ASK, lease("held"), lease("preempted"));
  assert.deepEqual(shown(twice), ["user", "released", "end", "user", "preempted"]);
});

test("a lease says whether its file was changed in the run, or only read", () => {
  const lease: Plain = ["CANVAS_LEASE", { path: "a.md", state: "held", epoch: 2 }];
  const change = (path: string): Plain => ["FILE_CHANGED", { path, revision: 1, pendingHunks: 1 }];
  const changed = (state: ChatState) =>
    state.entries.flatMap((entry) => (entry.kind === "lease" ? [entry.changed] : []));
  assert.deepEqual(changed(play(ASK, lease, change("b.md"))), [false]);
  assert.deepEqual(changed(play(ASK, lease, change("a.md"))), [true]);
  assert.deepEqual(changed(play(ASK, lease, END, ASK, lease, change("a.md"))), [false, true]);
  assert.deepEqual(changed(play(ASK, lease, END, ASK, change("a.md"))), [false]);
});

test("a lease that is reported while text streams does not split the text", () => {
  const start: Plain = ["ASSISTANT_TEXT_START", {}];
  const state = play(
    ASK,
    start,
    ["ASSISTANT_TEXT_DELTA", { delta: "a" }],
    ["CANVAS_LEASE", { path: "a.md", state: "held", epoch: 2 }],
  );
  const next = reduce(state, event("ASSISTANT_TEXT_DELTA", { delta: "b" }));
  assert.deepEqual(
    next.entries.map((entry) => (entry.kind === "assistant" ? entry.text : entry.kind)),
    ["user", "lease", "ab"],
  );
});

test("events of other kinds change nothing", () => {
  const state = play(ASK);
  assert.equal(reduce(state, event("FILE_CHANGED", { path: "a", revision: 1, pendingHunks: 1 })), state);
});

function event<K extends AgentEvent["kind"]>(kind: K, data: Extract<AgentEvent, { kind: K }>["data"]): AgentEvent {
  return { cursor: 99, ts: 0, sessionId: "s", kind, data } as unknown as AgentEvent;
}

test("an approval waits until it is decided, and the end of a run withdraws it", () => {
  const asked = event("APPROVAL_REQUESTED", { callId: "c", toolName: "Bash", arguments: {}, detail: null });
  const open = reduce(EMPTY_CHAT, asked);
  assert.equal(open.activity, "Waiting for your decision");
  const decided = reduce(open, event("APPROVAL_RESOLVED", { callId: "c", decision: "allowed" }));
  assert.deepEqual(
    decided.entries.map((entry) => entry.kind === "approval" && entry.decision),
    ["allowed"],
  );
  const ended = reduce(open, event("PROCESSING_END", { reason: "aborted", usage: USAGE }));
  assert.deepEqual(
    ended.entries.map((entry) => entry.kind === "approval" && entry.decision),
    ["aborted", false],
  );
});

test("a subagent has a state of its own, and a branch takes over the first tasks", () => {
  let state = reduce(EMPTY_CHAT, event("USER_INPUT", { content: "one" }));
  state = reduce(state, event("SUBAGENT_START", { agentId: "a", task: "count", model: "m" }));
  const inner = { kind: "TOOL_CALL_START", data: { callId: "t", toolName: "Glob", arguments: {} } } as const;
  state = reduce(state, event("SUBAGENT_EVENT", { agentId: "a", event: inner }));
  state = reduce(state, event("SUBAGENT_END", { agentId: "a", status: "completed", output: "7", turnsUsed: 1 }));
  const agent = state.entries[1];
  assert.ok(agent?.kind === "agent");
  assert.equal(agent.status, "completed");
  assert.deepEqual(
    agent.state.entries.map((entry) => entry.kind === "tool" && entry.status),
    ["cancelled"],
  );
  state = reduce(state, event("USER_INPUT", { content: "two" }));
  assert.equal(firstTasks(state, 1).entries.length, 2);
  assert.equal(firstTasks(state, 0).entries.length, 0);
  assert.equal(firstTasks(state, 5).entries.length, 3);
});
