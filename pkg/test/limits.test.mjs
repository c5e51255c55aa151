// Limits of a run: a model that would call tools forever is stopped, and is asked nothing more.

import assert from "node:assert/strict";
import test from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Agent } from "emend";
import { load } from "emend/llm";
import { never } from "./environments.mjs";
import { collect, texts } from "./support.mjs";

const USAGE = { inputTokens: 100, outputTokens: 10 };
const PRICED = "claude-sonnet-4-5";
const { inputCostPerMillion: input, outputCostPerMillion: output } = (await load()).modelInfo(PRICED);
/** The price of one response in US dollars. */
const COST = (USAGE.inputTokens * input + USAGE.outputTokens * output) / 1e6;

/** Number of requests after which a model gives up that should have been stopped. */
const TOO_MANY = 20;

const READ = ["read_file", { file_path: "a.txt" }];

/**
 * A model that calls tools in each response, until `ends` is set. `calls(request)` returns the calls, `before(n, signal)` is
 * awaited before the n-th response.
 */
function looping({ name = "m", calls = () => [READ], before = () => {} } = {}) {
  const looped = { requests: [], finished: 0, ends: false };
  const provider = {
    name: "looping",
    async *stream(request, { signal }) {
      looped.requests.push(request);
      await before(looped.requests.length, signal);
      if (looped.ends || looped.requests.length >= TOO_MANY) yield { type: "text_delta", delta: "Done." };
      else for (const [tool, args] of calls(request)) yield { type: "tool_call", name: tool, arguments: args };
      looped.finished += 1;
      yield { type: "finish", usage: USAGE };
    },
  };
  return Object.assign(looped, { model: { provider, model: name } });
}

async function create(t, { model }, options) {
  const agent = await Agent.create({ files: { "a.txt": "one\n" }, profile: "none", model, ...options });
  t.after(() => agent.close());
  return agent;
}

/** Sums of costs have rounding errors. */
const rounded = (used) => Number(used.toPrecision(9));
const budget = (name, limit, used) => ["budget", "BUDGET_EXCEEDED", { budget: name, limit, used: rounded(used) }];
const rounds = (round) => ["turn_limit", "TURN_LIMIT", { round, totalTurns: round }];

/** Reads a run to its end. Returns its events, and its reason with those that say why. */
async function finish(run) {
  const events = await collect(run);
  const { reason, usage, error } = await run.result;
  assert.equal(error, undefined);
  assert.deepEqual([events.at(-1).kind, events.at(-1).data], ["PROCESSING_END", { reason, usage }]);
  const told = events.filter(({ kind }) => /^(BUDGET_EXCEEDED|TURN_LIMIT|WARNING|ERROR)$/.test(kind));
  const why = told.map(({ kind, data }) => [kind, "used" in data ? { ...data, used: rounded(data.used) } : data]);
  return { events, usage, end: [reason, ...why.flat()] };
}

/** Asserts that the model gets no request after the end of a run. */
async function isLeftAlone({ requests }) {
  const { length } = requests;
  await pause(50);
  assert.equal(requests.length, length);
}

/** Options, the number of responses, and the end of the run. A response has 110 tokens. */
const COUNTED = [
  [{ maxTokens: 1 }, 1, budget("tokens", 1, 110)],
  [{ maxTokens: 219 }, 2, budget("tokens", 219, 220)],
  [{ maxTokens: 220 }, 2, budget("tokens", 220, 220)],
  [{ maxTokens: 221 }, 3, budget("tokens", 221, 330)],
  [{ maxCostUsd: COST / 2 }, 1, budget("cost_usd", COST / 2, COST)],
  [{ maxCostUsd: COST * 1.5 }, 2, budget("cost_usd", COST * 1.5, COST * 2)],
  [{ maxCostUsd: COST * 2.5 }, 3, budget("cost_usd", COST * 2.5, COST * 3)],
  [{ maxToolRounds: 1 }, 1, rounds(1)],
  [{ maxToolRounds: 3 }, 3, rounds(3)],
  [{ maxTurns: 3 }, 3, rounds(3)],
  // The first limit that is reached counts.
  [{ maxTokens: 1e6, maxCostUsd: 1e6, maxDurationMs: 1e6, maxTurns: 1e6, maxToolRounds: 2 }, 2, rounds(2)],
  [{ maxTokens: 220, maxCostUsd: 1e6, maxDurationMs: 1e6, maxToolRounds: 1e6 }, 2, budget("tokens", 220, 220)],
];

for (const [limits, n, expected] of COUNTED) {
  const named = Object.entries(limits).map(([name, value]) => `${name} ${rounded(value)}`);
  test(`a model that loops is stopped after ${n} ${n === 1 ? "response" : "responses"} by ${named.join(", ")}`, async (t) => {
    const looped = looping({ name: PRICED });
    const agent = await create(t, looped, limits);
    const { end, usage, events } = await finish(agent.run("go"));
    assert.deepEqual(end, expected);
    assert.equal(looped.requests.length, n);
    assert.deepEqual(usage, { inputTokens: 100 * n, outputTokens: 10 * n, totalTokens: 110 * n });
    // The calls of the last response are carried out, so that the session can go on.
    assert.equal(events.filter(({ kind }) => kind === "TOOL_CALL_END").length, n);
    await isLeftAlone(looped);

    agent.configure(Object.fromEntries(Object.keys(limits).map((name) => [name, null])));
    looped.ends = true;
    assert.equal((await agent.run("go on").result).reason, "natural");
    assert.equal(looped.requests.length, n + 1);
  });
}

test("a limit of a run counts from the beginning for the next run", async (t) => {
  for (const limit of [{ maxTokens: 220 }, { maxCostUsd: COST * 1.5 }, { maxToolRounds: 2 }]) {
    const looped = looping({ name: PRICED });
    const agent = await create(t, looped, limit);
    for (const n of [2, 4]) {
      assert.notEqual((await agent.run("go").result).reason, "natural");
      assert.equal(looped.requests.length, n, Object.keys(limit)[0]);
    }
  }
});

test("a limit that is set during a run holds from the next model call", async (t) => {
  const limits = [
    [{ maxTokens: 1 }, "budget"],
    [{ maxCostUsd: COST / 2 }, "budget"],
    [{ maxToolRounds: 1 }, "turn_limit"],
    [{ maxTurns: 1 }, "turn_limit"],
  ];
  for (const [limit, expected] of limits) {
    const before = (n) => void (n === 2 && agent.configure(limit));
    const looped = looping({ name: PRICED, before });
    const agent = await create(t, looped);
    const { reason } = await agent.run("go").result;
    assert.deepEqual([reason, looped.requests.length], [expected, 2], JSON.stringify(limit));
  }
});

test("a cost that is unknown is a warning, and does not stop the run", async (t) => {
  const looped = looping({ name: "m" });
  const agent = await create(t, looped, { maxCostUsd: COST / 2, maxToolRounds: 3 });
  const { end } = await finish(agent.run("go"));
  assert.deepEqual([end[0], end[1], end[2].code, end[3]], ["turn_limit", "WARNING", "price_unknown", "TURN_LIMIT"]);
  assert.equal(looped.requests.length, 3);
});

test("the tokens of subagents count for the run that started them", async (t) => {
  const calls = (request) => {
    if (texts(request, "user")[0] === "the part") return [READ];
    const [, started] = request.messages.filter(({ role }) => role !== "system");
    return [started === undefined ? ["spawn_agent", { task: "the part" }] : ["wait", { agent_id: "agent_1" }]];
  };
  const looped = looping({ calls });
  const agent = await create(t, looped, { subagents: true, maxTokens: 500 });
  const { end } = await finish(agent.run("go"));
  assert.deepEqual(end.slice(0, 2), ["budget", "BUDGET_EXCEEDED"]);
  assert.equal(end[2].limit, 500);
  const ofPart = looped.requests.filter((request) => texts(request, "user")[0] === "the part");
  assert.ok(ofPart.length >= 2, "the subagent did not work");
  // Five responses use 550 tokens. The agent and its subagent can each wait for a last one.
  assert.ok(looped.requests.length >= 5 && looped.requests.length <= 6, String(looped.requests.length));
  await isLeftAlone(looped);
});

const MS = 300;

/** The work of a run when its time is over: its options, and its model. */
const WAITING = {
  "a response that does not begin": [{}, { before: () => never }],
  "a tool that does not end": [
    { tools: [{ name: "stall", description: "", parameters: { type: "object" }, execute: () => never }] },
    { calls: () => [["stall", {}]] },
  ],
  "an answer of the user": [
    { approve: () => never },
    { calls: () => [["edit_file", { file_path: "a.txt", old_string: "one", new_string: "two" }]] },
  ],
  "a command": [{ shell: true }, { calls: () => [["shell", { command: "sleep 60" }]] }],
  // Within the time there is room for 15 of them.
  "one response after another": [{}, { before: () => pause(20) }],
};

for (const [what, [options, script]] of Object.entries(WAITING)) {
  test(`maxDurationMs ends a run that waits for ${what}`, { timeout: 60_000 }, async (t) => {
    let last;
    let epoch;
    const before = (n, signal) => {
      last = signal;
      epoch ??= agent.canvas.state().epoch;
      return script.before?.(n, signal);
    };
    const looped = looping({ ...script, before });
    const agent = await create(t, looped, { ...options, maxDurationMs: MS });
    agent.canvas.open("a.txt");
    const began = performance.now();
    const { end } = await finish(agent.run("go"));
    const took = performance.now() - began;
    assert.deepEqual(end, budget("duration_ms", MS, MS));
    // A timer of Node can fire a millisecond early.
    assert.ok(took > MS - 5, `${took} ms`);
    const { length } = looped.requests;
    assert.ok(length - looped.finished <= 1, "a response began after the end");
    if (looped.finished < length) assert.equal(last.aborted, true, "the provider is not told");
    if (what === "one response after another") assert.ok(length > 1 && length < TOO_MANY, String(length));
    else assert.equal(length, 1);
    // As after `cancel`, a write that is under way fails.
    assert.deepEqual(agent.canvas.state(), { path: "a.txt", held: false, epoch: epoch + 1 });
    assert.deepEqual(agent.review().files, []);
    await isLeftAlone(looped);
  });
}

test("a run that ends in time is not stopped, and its timer does not keep Node waiting", async (t) => {
  const looped = looping();
  looped.ends = true;
  const agent = await create(t, looped, { maxDurationMs: 600_000 });
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const earlier = timers();
  assert.deepEqual((await finish(agent.run("go"))).end, ["natural"]);
  assert.equal(timers(), earlier);
});
