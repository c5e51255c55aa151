// Approval rules, and asking the user about calls.

import assert from "node:assert/strict";
import test from "node:test";
import { Agent, ConfigError, isEmendError } from "emend";
import { collect, results, SHOP, scripted } from "./support.mjs";

/** Creates an agent that saves at once and is closed when the test ends. */
async function create(t, options) {
  const agent = await Agent.create({ files: SHOP, mode: "direct", ...options });
  t.after(() => agent.close());
  return agent;
}

const TASK = 'replace "cents" with "euros" in src/price.js';
const price = (agent) => agent.files.readDisk("src/price.js");
const of = (events, kind) => events.filter((event) => event.kind === kind).map((event) => event.data);

test("edits are asked about, reading is not, and the answer decides", async (t) => {
  const asked = [];
  const answers = ["allow", { decision: "deny", reason: "leave it" }];
  const agent = await create(t, { approve: async (request) => (asked.push(request), answers.shift()) });
  const events = await collect(agent.run(TASK));
  assert.equal(await price(agent), SHOP["src/price.js"].replace("cents", "euros"));
  assert.deepEqual(
    asked.map((request) => request.toolName),
    ["edit_file"],
  );
  assert.equal(asked[0].arguments.file_path, "src/price.js");
  assert.deepEqual(of(events, "APPROVAL_REQUESTED"), asked);
  assert.deepEqual(of(events, "APPROVAL_RESOLVED"), [{ callId: asked[0].callId, decision: "allowed" }]);

  const refused = await collect(agent.run('replace "cents" with "pence" in notes.md'));
  assert.equal(await agent.files.readDisk("notes.md"), SHOP["notes.md"]);
  assert.equal(of(refused, "APPROVAL_RESOLVED")[0].reason, "leave it");
  const failed = of(refused, "TOOL_CALL_END").find((data) => !data.ok);
  assert.equal(failed.errorInfo.code, "permission_denied");
  assert.match(failed.error, /leave it/);
});

test("`always` asks once", async (t) => {
  let asked = 0;
  const agent = await create(t, { approve: () => (asked++, "always") });
  await agent.run("rename Price to Cost").result;
  await agent.run("rename Cost to Price").result;
  assert.equal(asked, 1);
  assert.equal(await price(agent), SHOP["src/price.js"]);
});

test("rules decide first, in their order", async (t) => {
  const policy = [
    { action: "deny", tool: "edit_file", pattern: "src/price.js" },
    { action: "allow", tool: "edit_file" },
    { action: "ask", tool: "write_file" },
  ];
  const agent = await create(t, { policy });
  const events = await collect(agent.run("rename Price to Cost"));
  assert.equal(await price(agent), SHOP["src/price.js"]);
  assert.match(await agent.files.readDisk("src/cart.js"), /Cost/);
  assert.ok(of(events, "TOOL_CALL_END").some((data) => data.error?.includes("deny edit_file:src/price.js")));
  assert.deepEqual(of(events, "APPROVAL_REQUESTED"), []);
});

test("a custom tool is asked about unless it only reads, and path rules see its path parameters", async (t) => {
  const parameters = {
    type: "object",
    properties: { file_path: { type: "string" }, old_string: { type: "string" }, new_string: { type: "string" } },
  };
  const outcome = async (tool, policy) => {
    const asked = [];
    const tools = [{ name: "edit_file", description: "Edits.", parameters, execute: () => "done", ...tool }];
    const approve = ({ toolName }) => (asked.push(toolName), "allow");
    const agent = await create(t, { tools, approve, ...(policy && { policy }) });
    const ends = of(await collect(agent.run(TASK)), "TOOL_CALL_END").filter((data) => data.toolName === "edit_file");
    return [asked.length > 0, ends[0].errorInfo?.code ?? "done"];
  };
  assert.deepEqual(await outcome({}), [true, "done"]);
  assert.deepEqual(await outcome({ effect: "runs" }), [true, "done"]);
  assert.deepEqual(await outcome({ effect: "reads" }), [false, "done"]);
  const policy = [
    { action: "deny", tool: "edit_file", pattern: "src/**" },
    { action: "allow", tool: "*" },
  ];
  assert.deepEqual(await outcome({ pathParameters: ["file_path"] }, policy), [false, "permission_denied"]);
  assert.deepEqual(await outcome({}, policy), [false, "done"]);
  await assert.rejects(
    Agent.create({ tools: [{ name: "a", description: "", parameters, effect: "eats", execute: () => "" }] }),
    /unknown variant `eats`/,
  );
});

test("failures and invalid answers deny the call", async (t) => {
  const throwing = () => {
    throw new Error("no window");
  };
  for (const [approve, reason] of [
    [throwing, "asking failed: no window"],
    [async () => Promise.reject("gone"), "asking failed: gone"],
    [() => undefined, "asking gave no valid answer: undefined"],
    [() => ({ decision: "yes" }), 'asking gave no valid answer: {"decision":"yes"}'],
  ]) {
    const agent = await create(t, { approve });
    const events = await collect(agent.run(TASK));
    assert.equal(of(events, "APPROVAL_RESOLVED")[0].reason, reason);
    assert.equal(await price(agent), SHOP["src/price.js"]);
  }
});

test("a cancelled run does not wait for an answer, and the function may use the agent", async (t) => {
  const abort = new AbortController();
  const agent = await create(t, {
    approve: (request) => {
      assert.equal(agent.review().files.length, 0);
      queueMicrotask(() => abort.abort());
      return new Promise(() => request);
    },
  });
  const run = agent.run(TASK, { signal: abort.signal });
  const events = [];
  await assert.rejects(
    async () => {
      for await (const event of run) events.push(event);
    },
    (error) => isEmendError(error, "aborted"),
  );
  assert.equal(of(events, "APPROVAL_RESOLVED")[0].decision, "aborted");
  assert.equal((await run.result).reason, "aborted");
  assert.equal(await price(agent), SHOP["src/price.js"]);
});

test("wrong options are reported by name", async (t) => {
  await assert.rejects(Agent.create({ approve: "yes" }), ConfigError);
  await assert.rejects(Agent.create({ policy: [{ action: "maybe", tool: "*" }] }), /unknown variant `maybe`/);
  const wrong = [
    [{ tool: "" }, /names no tool/],
    [{ tool: "writefile" }, /unknown tool "writefile"; did you mean write_file\?/],
    [{ tool: "run_test" }, /unknown tool "run_test"; did you mean run_tests\?/],
    [{ tool: "*", pattern: "[[" }, /can never match/],
    [{ tool: "*", pattern: "" }, /empty pattern/],
  ];
  const tools = [{ name: "run_tests", description: "", parameters: { type: "object" }, execute: () => "" }];
  const agent = await create(t, { tools, policy: [{ action: "deny", tool: "run_tests" }] });
  for (const [rule, reason] of wrong) {
    const policy = [{ action: "deny", ...rule }];
    const refused = (error) => error instanceof ConfigError && reason.test(error.message);
    await assert.rejects(Agent.create({ policy, tools }), refused);
    assert.throws(() => agent.configure({ policy }), refused);
  }
  // Names of every profile are known, and tools that are off.
  for (const tool of ["Bash", "shell", "web_fetch", "replace", "*"])
    agent.configure({ policy: [{ action: "deny", tool }] });
});

test("a path that rules deny for every tool is hidden from searches, mentions and the shell", async (t) => {
  const files = { "a.txt": "KEY of a\n", "secrets/k": "KEY=hunter2\n" };
  const calls = [
    ["grep", { pattern: "KEY" }],
    ["grep", { pattern: "KEY", path: "secrets" }],
    ["read_many_files", { include: ["**/*"] }],
    ["glob", { pattern: "**/*" }],
    ["list_dir", { path: "secrets" }],
    ["read_file", { file_path: "/workspace/x/../secrets/k" }],
    ["shell", { command: "cd sec*; cat k; grep -r KEY /workspace" }],
  ];
  const policy = [{ action: "deny", tool: "*", pattern: "secrets/**" }];
  for (const mode of ["direct", "staged"]) {
    const sent = [];
    const provider = {
      name: "mine",
      async *stream({ messages }) {
        sent.push(JSON.stringify(messages));
        if (sent.length > 1) yield { type: "text_delta", delta: "Done." };
        else for (const [name, given] of calls) yield { type: "tool_call", name, arguments: given };
        yield { type: "finish" };
      },
    };
    const model = { provider, model: "m" };
    const agent = await create(t, { files, mode, model, shell: true, policy, approve: () => "allow" });
    await agent.run("look at @secrets/k").result;
    assert.ok(!sent[1].includes("hunter2"), sent[1]);
    assert.ok(sent[1].includes("a.txt:1:KEY of a"), sent[1]);
    assert.equal((await agent.files.read("secrets/k")).text, files["secrets/k"], "the user sees the file");
  }
});

test("each command of a line is decided, in the emulated shell and in a host's own", async (t) => {
  const lines = {
    'for f in a b; do echo "$f"; done': "allowed",
    "echo $(echo a) && echo b": "allowed",
    "if true; then rm x; fi": "denied",
    "echo $(r''m x)": "denied",
    "echo a; wc x": "asked",
    "echo `echo a`": "asked",
    "echo a > x": "asked",
  };
  const policy = [
    { action: "deny", tool: "shell", pattern: "rm *" },
    { action: "allow", tool: "shell", pattern: "echo *" },
  ];
  const stat = async () => null;
  const host = (platform) => ({
    ...{ stat, read: stat, list: async () => [], write: stat, remove: stat, platform },
    exec: async () => ({ exitCode: 0, stdout: "ran\n" }),
  });
  const check = async (options, changed = {}) => {
    const calls = Object.keys(lines).map((command) => ["shell", { command }]);
    const { model, requests } = scripted([calls]);
    const asked = [];
    const approve = ({ detail }) => (asked.push(detail.command), "deny");
    const agent = await Agent.create({ model, mode: "direct", profile: "none", policy, approve, ...options });
    t.after(() => agent.close());
    await collect(agent.run("go"));
    const outcomes = results(requests[1]).map((result, index) => {
      if (asked.includes(calls[index][1].command)) return "asked";
      return /rules do not allow/.test(result) ? "denied" : "allowed";
    });
    const expected = { ...lines, ...changed };
    assert.deepEqual(Object.fromEntries(calls.map(([, { command }], at) => [command, outcomes[at]])), expected);
  };
  await check({ files: {}, shell: true });
  await check({ environment: host("linux") });
  // `cmd.exe` reads none of the first lines like bash.
  await check(
    { environment: host("windows") },
    { 'for f in a b; do echo "$f"; done': "asked", "echo $(echo a) && echo b": "asked" },
  );
});
