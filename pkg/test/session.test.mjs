// Sessions: profiles, custom tools, steering, changed settings, event feeds, and saved, resumed and forked sessions. The file has
// more than 600 lines, because all its tests use the scripted agent of `create`.

import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { Agent, ConfigError, isEmendError, memoryStore } from "emend";
import { fileStore } from "emend/node";
import { collect, results, SHOP, scripted, texts } from "./support.mjs";

async function create(t, options) {
  const agent = await Agent.create({ files: SHOP, ...options });
  t.after(() => agent.close());
  return agent;
}

test("the offline model does the same work under every profile", async (t) => {
  const expected = {
    none: ["grep", "read_file", "edit_file"],
    auto: ["grep", "read_file", "edit_file"],
    openai: ["grep_files", "read_file", "apply_patch"],
    anthropic: ["Grep", "Read", "Edit"],
    gemini: ["grep_search", "read_file", "replace"],
  };
  for (const [profile, tools] of Object.entries(expected)) {
    const agent = await create(t, { profile });
    const events = await collect(agent.run("rename Price to Cost"));
    const called = events.filter((event) => event.kind === "TOOL_CALL_START").map((event) => event.data.toolName);
    assert.deepEqual([...new Set(called)], tools, profile);
    assert.ok(
      events.every((event) => event.kind !== "TOOL_CALL_END" || event.data.ok),
      profile,
    );
    await agent.acceptAll();
    assert.equal(
      await agent.files.readDisk("src/price.js"),
      SHOP["src/price.js"].replace("function Price(", "function Cost("),
    );
  }
});

test("a model gets the tools of its family, by its own name or its provider's", async (t) => {
  const offered = async (name, model) => {
    const { model: options, requests } = scripted([], name);
    const agent = await create(t, { model: { ...options, model } });
    await agent.run("hello").result;
    return requests[0].tools.map((tool) => tool.name).join(" ");
  };
  const own = "read_file read_many_files write_file edit_file apply_patch move_file grep glob list_dir";
  assert.equal(await offered("acme", "m"), own);
  assert.equal(await offered("acme", "claude-sonnet-4-5"), "Read Write Edit Move Grep Glob LS");
  assert.equal(
    await offered("gemini", "any"),
    "read_file read_many_files write_file move_file grep_search glob list_directory safe_patch",
  );
});

test("a model edits as its family does, or as the options say", async (t) => {
  const own = ["Edit", "apply_patch", "edit_file", "replace", "safe_patch"];
  const offered = async (options) => {
    const { model, requests } = scripted([], "acme");
    const agent = await create(t, { model, ...options });
    await agent.run("hello").result;
    return requests[0].tools
      .map((tool) => tool.name)
      .filter((name) => own.includes(name))
      .join(" ");
  };
  assert.equal(await offered({ profile: "anthropic" }), "Edit");
  assert.equal(await offered({ profile: "anthropic", edits: "safe_patch" }), "safe_patch");
  assert.equal(await offered({ profile: "gemini" }), "safe_patch");
  assert.equal(await offered({ profile: "gemini", edits: "own" }), "replace");
  assert.equal(await offered({ edits: "own" }), "edit_file apply_patch");
  const wrong = [
    [{ edits: "safe_patch" }, /name a profile/],
    [{ edits: "safe_patch", profile: "openai", model: { provider: "offline" } }, /offline model/],
    [{ edits: "verified" }, /unknown variant `verified`, expected one of `own`, `safe_patch`, `edit_lines`/],
  ];
  for (const [options, message] of wrong) {
    await assert.rejects(offered(options), { name: "ConfigError", message });
  }
});

test("a tool's result that JSON cannot represent is an error that names its type and its path", async (t) => {
  const loop = { rows: [{}] };
  loop.rows[0].back = loop;
  const values = [
    [undefined, /returned undefined; return a string/],
    [new Map([["a", 1]]), /returned a Map;/],
    [{ all: new Set([1]) }, /returned a Set in `all`;/],
    [new Uint8Array(2), /returned a Uint8Array; .*base64/],
    [[new ArrayBuffer(2)], /returned an ArrayBuffer in `\[0\]`; .*base64/],
    [{ file: { bytes: Buffer.from("a") } }, /returned a Buffer in `file\.bytes`; .*base64/],
    [() => 1, /returned a function;/],
    [{ deep: { f() {} } }, /returned a function in `deep\.f`;/],
    [Symbol("a"), /returned a symbol;/],
    [{ later: Promise.resolve(1) }, /returned a Promise in `later`; await it/],
    // biome-ignore lint/suspicious/noThenProperty: a promise of another library.
    [{ later: { then() {} } }, /returned a Promise in `later`; await it/],
    [Number.NaN, /returned NaN;/],
    [{ rows: [{}, { price: -Infinity }] }, /returned -Infinity in `rows\[1\]\.price`;/],
    [{ "a b": { n: 1n } }, /returned a BigInt in `\["a b"\]\.n`;/],
    [[{ a: [] }, { b: [new Date(Number.NaN)] }], /returned an invalid Date in `\[1\]\.b\[0\]`;/],
    [loop, /returned a circular reference in `rows\[0\]\.back`;/],
    [new Response("a"), /returned a Response;/],
    [{ found: [1].values() }, /returned an? .*Iterator in `found`;/],
    [{ reason: new Error("no") }, /returned an Error in `reason`; throw it/],
    [new Error("out of stock"), /^error: (?!.*returned).*out of stock/],
    [[new String("a"), Object(1), Object.create(null), new (class {})()], '["a",1,{},{}]'],
    [[loop.rows, loop.rows].map(({ length }) => ({ length })), '[{"length":1},{"length":1}]'],
    [{ url: new URL("https://example.org"), list: [[], [[]]] }, '{"url":"https://example.org/","list":[[],[[]]]}'],
    [{ a: undefined, b: null, c: new Date(0) }, '{"b":null,"c":"1970-01-01T00:00:00.000Z"}'],
    [[1, "a", false], '[1,"a",false]'],
    ["", ""],
  ];
  const tools = values.map(([value], index) => ({
    name: `tool_${index}`,
    description: "Returns a value.",
    parameters: { type: "object" },
    execute: () => value,
  }));
  const { model, requests } = scripted([values.map((_, index) => [`tool_${index}`, {}])]);
  const agent = await create(t, { model, tools, profile: "openai" });
  await collect(agent.run("call them"));
  for (const [index, result] of results(requests[1]).entries()) {
    const expected = values[index][1];
    if (typeof expected === "string") assert.equal(result, expected);
    else assert.match(result, expected);
  }
});

test("a failed call of a tool has the code of its exception", async (t) => {
  const failure = (name, fields) => Object.assign(new Error("why"), { name, ...fields });
  const cases = [
    [failure("Error", { code: "not_found" }), "not_found"],
    [failure("Error", { code: "ENOENT" }), "not_found"],
    [failure("Error", { code: "EACCES" }), "permission_denied"],
    [failure("Error", { code: "already_exists" }), "already_exists"],
    [new DOMException("why", "TimeoutError"), "timeout"],
    [new DOMException("why", "AbortError"), "aborted"],
    [new DOMException("why", "QuotaExceededError"), "limit_reached"],
    [failure("Error", { code: "E_OWN" }), "io_error"],
    [failure("Error", {}), "io_error"],
  ];
  const values = cases.map(([error]) => error);
  const tools = [...values, { n: 1n }].map((value, index) => ({
    name: `tool_${index}`,
    description: "Fails.",
    parameters: { type: "object" },
    // An error that is returned counts as one that is thrown.
    execute: async () => (index % 2 === 0 && index < values.length ? Promise.reject(value) : value),
  }));
  const { model } = scripted([tools.map(({ name }) => [name, {}])]);
  const agent = await create(t, { model, tools, profile: "openai" });
  const ends = (await collect(agent.run("call them"))).filter(({ kind }) => kind === "TOOL_CALL_END");
  const codes = new Map(ends.map(({ data }) => [data.toolName, data.errorInfo?.code]));
  assert.deepEqual(
    tools.map(({ name }) => codes.get(name)),
    [...cases.map(([, code]) => code), "unsupported"],
  );
});

test("custom tools run, replace others, and fail with error results", async (t) => {
  const seen = [];
  const parameters = { type: "object", required: ["city"], properties: { city: { type: "string" } } };
  const tools = [
    {
      name: "weather",
      description: "Tells the weather.",
      parameters,
      execute: async ({ city }, context) => {
        seen.push([city, typeof context.toolCallId, context.signal.aborted]);
        return { city, degrees: 7 };
      },
    },
    { name: "grep", description: "Mine.", parameters: { type: "object" }, execute: () => "mine" },
    {
      name: "broken",
      description: "Fails.",
      parameters: { type: "object" },
      execute: () => {
        throw new Error("no luck");
      },
    },
    {
      name: "gone",
      description: "Fails.",
      parameters: { type: "object" },
      execute: async () => {
        throw Object.assign(new Error("no such city"), { code: "not_found" });
      },
    },
    { name: "void", description: "Says nothing.", parameters: { type: "object" }, execute: () => null },
  ];
  const { model, requests } = scripted([
    [
      ["weather", { city: "Oslo" }],
      ["weather", { town: "Oslo" }],
      ["grep", {}],
      ["broken", {}],
      ["gone", {}],
      ["void", {}],
    ],
  ]);
  const agent = await create(t, { model, tools, profile: "openai" });
  const events = await collect(agent.run("how warm is it?"));
  assert.deepEqual(seen, [["Oslo", "string", false]]);
  const [weather, wrong, grep, broken, gone, nothing] = results(requests[1]);
  assert.equal(weather, '{"city":"Oslo","degrees":7}');
  assert.match(wrong, /^error: .*\[invalid_argument\]/);
  assert.equal(grep, "mine");
  assert.match(broken, /^error: .*\[io_error\] no luck/);
  assert.match(gone, /^error: .*\[not_found\] no such city/);
  assert.equal(nothing, "null");
  assert.equal(requests[0].tools.filter((tool) => tool.name === "weather").length, 1);
  assert.equal(events.at(-1).data.reason, "natural");

  const wrongTools = [
    [[{ name: "a b", description: "", parameters: { type: "object" }, execute() {} }], /not a valid tool name/],
    [[{ name: "a", description: "", parameters: {}, execute() {} }], /"type": "object"/],
    [[{ name: "a", description: "", parameters: { type: "object" } }], /"a" has no `execute`/],
    [{}, /must be an array/],
  ];
  for (const [tools, pattern] of wrongTools) {
    await assert.rejects(
      Agent.create({ tools }),
      (error) => error instanceof ConfigError && pattern.test(error.message),
      String(pattern),
    );
  }
});

test("the signal of a custom tool fires at the end of its run", async (t) => {
  let began;
  const beginning = new Promise((resolve) => {
    began = resolve;
  });
  const tool = {
    name: "slow",
    description: "Waits.",
    parameters: { type: "object" },
    execute: (_, { signal }) => {
      began(signal);
      return new Promise(() => {});
    },
  };
  const agent = await create(t, { model: scripted([[["slow", {}]]]).model, tools: [tool] });
  const run = agent.run("wait");
  const result = run.result;
  const signal = await beginning;
  const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
  run.cancel();
  await aborted;
  assert.equal((await result).reason, "aborted");
});

test("steering reaches the model during a run, and a follow-up is done in the same run", async (t) => {
  const agents = [];
  const { model, requests } = scripted([
    () => {
      agents[0].run.steer("in French, please");
      return [["list_dir", {}]];
    },
    "Voilà.",
    "And that.",
  ]);
  const agent = await create(t, { model });
  const run = agent.run("translate");
  agents.push({ run });
  agent.followUp("and then tidy up");
  const kinds = (await collect(run)).map((event) => event.kind);
  assert.deepEqual(texts(requests[1], "user"), ["translate", "in French, please"]);
  assert.deepEqual(texts(requests[2], "user"), ["translate", "in French, please", "and then tidy up"]);
  assert.equal(kinds.filter((kind) => kind === "PROCESSING_END").length, 1);
  assert.ok(kinds.includes("STEERING_INJECTED"));
  assert.equal((await run.result).text, "And that.");
  assert.throws(
    () => run.steer("too late"),
    (error) => isEmendError(error, "conflict"),
  );
  assert.throws(
    () => agent.followUp(" "),
    (error) => isEmendError(error, "invalid_argument"),
  );
  assert.throws(
    () => agent.followUp(7),
    (error) => isEmendError(error, "invalid_argument"),
  );
});

test("settings change between two model calls, also during a run", async (t) => {
  const second = scripted(["From the second."], "second");
  const agents = [];
  const first = scripted(
    [
      () => {
        agents[0].configure({ model: second.model, effort: "low", instructions: "Be short." });
        return [["list_dir", {}]];
      },
    ],
    "first",
  );
  const agent = await create(t, { model: first.model, effort: "high" });
  agents.push(agent);
  const { sessionId } = agent;
  const { text } = await agent.run("go").result;
  assert.equal(text, "From the second.");
  assert.deepEqual([first.requests.length, first.requests[0].reasoningEffort], [1, "high"]);
  assert.deepEqual([second.requests.length, second.requests[0].reasoningEffort], [1, "low"]);
  assert.match(texts(second.requests[0], "system")[0], /Be short\./);
  assert.equal(agent.sessionId, sessionId);

  agent.configure({ effort: null, maxTurns: 2 });
  const limited = await agent.run("again").result;
  assert.equal(limited.reason, "turn_limit");
  for (const changes of [
    { mode: "direct" },
    { files: {} },
    { modle: {} },
    { model: { provider: "acme" } },
    { maxTurns: -1 },
  ]) {
    assert.throws(() => agent.configure(changes), ConfigError, JSON.stringify(changes));
  }
  agent.configure({
    maxTurns: 0,
    tools: [{ name: "own", description: "", parameters: { type: "object" }, execute() {} }],
  });
  assert.equal((await agent.run("again").result).reason, "natural");
  assert.ok(second.requests.at(-1).tools.some((tool) => tool.name === "own"));
  assert.equal("reasoningEffort" in second.requests.at(-1), false);
});

test("the model can ask the user if the options allow it", async (t) => {
  const ask = [["clarify_user", { question: "Which one?" }]];
  const { model, requests } = scripted([ask, "Thanks."]);
  const agent = await create(t, { model, questions: true });
  assert.equal((await agent.run("do it").result).reason, "awaiting_input");
  assert.equal((await agent.run("the first").result).reason, "natural");
  assert.equal(texts(requests[1], "user").at(-1), "the first");
});

test("subagents work in the same run, over the same files", async (t) => {
  const requests = [];
  const scripts = {
    "split it": [
      [
        ["spawn_agent", { task: "the notes", working_dir: "." }],
        ["spawn_agent", { task: "the price" }],
      ],
      [
        ["wait", { agent_id: "agent_1" }],
        ["wait", { agent_id: "agent_2" }],
      ],
      "Both are done.",
    ],
    "the notes": [
      [["edit_file", { file_path: "notes.md", old_string: "cents", new_string: "pence" }]],
      "Notes changed.",
    ],
    "the price": [
      [["edit_file", { file_path: "src/price.js", old_string: "cents", new_string: "pence" }]],
      "Price changed.",
    ],
  };
  const provider = {
    name: "cast",
    async *stream(request) {
      requests.push(request);
      const step = scripts[texts(request, "user")[0]].shift();
      if (typeof step === "string") yield { type: "text_delta", delta: step };
      else for (const [name, args] of step) yield { type: "tool_call", name, arguments: args };
      yield { type: "finish" };
    },
  };
  const agent = await create(t, { model: { provider, model: "m" }, subagents: true });
  const events = await collect(agent.run("split it"));
  const ends = events.filter((event) => event.kind === "SUBAGENT_END").map((event) => event.data);
  assert.deepEqual(ends.map((end) => [end.status, end.output, end.turnsUsed]).sort(), [
    ["completed", "Notes changed.", 2],
    ["completed", "Price changed.", 2],
  ]);
  assert.ok(events.some((event) => event.kind === "SUBAGENT_EVENT" && event.data.event.kind === "TOOL_CALL_END"));
  assert.deepEqual(
    agent.review().files.map((file) => file.path),
    ["notes.md", "src/price.js"],
  );
  assert.deepEqual(
    results(requests.at(-1)).map((text) => text.split("\n")[1]),
    ["Notes changed.", "Price changed."],
  );
  assert.ok(
    !requests
      .find((request) => texts(request, "user")[0] === "the notes")
      .tools.some((tool) => tool.name === "spawn_agent"),
  );
});

test("additional readers follow the events at their own pace, from any cursor", async (t) => {
  const agent = await create(t);
  const feed = agent.events();
  const late = [];
  const events = await collect(agent.run("rename Price to Cost"));
  const last = events.at(-1).cursor;
  for await (const event of feed) {
    late.push(event);
    if (event.cursor === last) break;
  }
  const lifecycle = (list) => list.filter((event) => !event.kind.endsWith("_DELTA")).map((event) => event.kind);
  assert.deepEqual(lifecycle(late), lifecycle(events));
  assert.deepEqual(await feed.next(), { done: true, value: undefined });

  const rest = agent.events({ after: last });
  const next = rest.next();
  await agent.run("what can you do?").result;
  assert.equal((await next).value.cursor, last + 1);
  await rest.return();
  for (const after of [-1, 1.5, "1", Number.NaN]) {
    assert.throws(
      () => agent.events({ after }),
      (error) => isEmendError(error, "invalid_argument"),
    );
  }
  assert.throws(
    () => agent.events({ after: 99_999 }),
    (error) => isEmendError(error, "resync_required") && error.data.last < 99_999,
  );
  const open = agent.events({ after: last });
  for (let n = 0; n < 3; n += 1) await open.next();
  await open.return();
});

test("events that are no longer kept are reported, not skipped", async (t) => {
  const big = "x".repeat(200_000);
  const tools = [{ name: "big", description: "", parameters: { type: "object" }, execute: () => big }];
  const { model } = scripted([...Array(30).keys()].map(() => [["big", {}]]));
  const agent = await create(t, { model, tools });
  await agent.run("fill up").result;
  assert.throws(
    () => agent.events({ after: 1 }),
    (error) => {
      assert.ok(isEmendError(error, "resync_required"), String(error));
      assert.ok(error.data.last > error.data.floor && error.data.floor >= 1);
      agent.events({ after: error.data.last }).return();
      return true;
    },
  );
});

test("a long history is compacted", async (t) => {
  const tools = [{ name: "big", description: "", parameters: { type: "object" }, execute: () => "x".repeat(20_000) }];
  const { model } = scripted([...Array(6).keys()].map(() => [["big", {}]]));
  const agent = await create(t, { model, tools });
  await agent.run("fill up").result;
  const made = await agent.compact();
  assert.ok(made.tokensAfter < made.tokensBefore / 2, JSON.stringify(made));
});

/** A store with asynchronous methods, as on a server. */
function slowStore() {
  const inner = memoryStore();
  const later = async (value) => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    return value();
  };
  return Object.fromEntries(
    ["append", "load", "names", "remove"].map((name) => [name, (...args) => later(() => inner[name](...args))]),
  );
}

for (const [name, make] of [
  ["memory", async () => memoryStore()],
  ["a slow store", async () => slowStore()],
  [
    "files",
    async (t) => {
      const folder = await mkdtemp(join(tmpdir(), "emend-store-"));
      t.after(() => rm(folder, { recursive: true }));
      return fileStore(join(folder, "new/sessions"));
    },
  ],
]) {
  test(`a session continues where it ended: ${name}`, async (t) => {
    const store = await make(t);
    const agent = await create(t, { store });
    await agent.run("rename Price to Cost").result;
    const { sessionId } = agent;
    const turns = agent.turns();
    agent.close();

    const again = await Agent.resume(sessionId, { files: SHOP, store });
    t.after(() => again.close());
    assert.equal(again.sessionId, sessionId);
    assert.deepEqual(again.turns(), turns);
    await again.run("what can you do?").result;

    const fork = await Agent.fork(sessionId, { store, turns: 1, files: SHOP });
    t.after(() => fork.close());
    assert.notEqual(fork.sessionId, sessionId);
    assert.deepEqual(fork.turns(), turns.slice(0, 1));

    const saved = await Agent.sessions(store);
    assert.deepEqual(new Set(saved.map((one) => one.id)), new Set([sessionId, fork.sessionId]));
    const original = saved.find((one) => one.id === sessionId);
    assert.deepEqual(
      [original.title, original.model, original.nTurns],
      ["rename Price to Cost", "offline", turns.length + 2],
    );
    assert.deepEqual(saved.find((one) => one.id === fork.sessionId).forkedFrom, { id: sessionId, nTurns: 1 });
    assert.equal(await Agent.removeSession(store, sessionId), true);
    assert.equal(await Agent.removeSession(store, sessionId), false);
    await assert.rejects(Agent.resume(sessionId, { store }), (error) => isEmendError(error, "not_found"));
  });
}

test("a file store is private and tolerates a truncated line", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "emend-store-"));
  t.after(() => rm(folder, { recursive: true }));
  const directory = join(folder, "sessions");
  const store = fileStore(directory);
  assert.deepEqual([await store.names(), await store.load("one"), await store.remove("one")], [[], null, false]);
  await store.append("one", "first\n");
  assert.deepEqual((await readdir(directory)).sort(), ["one.jsonl"]);
  if (process.platform !== "win32") {
    assert.equal((await stat(join(directory, "one.jsonl"))).mode & 0o777, 0o600);
    assert.equal((await stat(directory)).mode & 0o777, 0o700);
  }
  await writeFile(join(directory, "one.jsonl"), "first\nbrok");
  await store.append("one", "second\n");
  assert.equal(await store.load("one"), "first\nbrok\nsecond\n");
});

test("a failing store is a warning, and an invalid one is rejected", async (t) => {
  const store = {
    ...memoryStore(),
    append: () => {
      throw new Error("disk full");
    },
  };
  const agent = await create(t, { store });
  const events = await collect(agent.run("what can you do?"));
  const warnings = events.filter((event) => event.kind === "WARNING").map((event) => event.data);
  assert.equal(warnings.length, 1);
  assert.equal(warnings[0].code, "not_saved");
  assert.match(warnings[0].message, /disk full/);
  assert.equal(events.at(-1).data.reason, "natural");

  for (const wrong of [{}, 7, null, { append() {}, load() {}, names() {} }]) {
    await assert.rejects(
      Agent.create({ store: wrong }),
      (error) => error instanceof ConfigError && /the store needs a/.test(error.message),
    );
  }
  await assert.rejects(Agent.resume("sess_1", {}), (error) => isEmendError(error, "configuration"));
  await assert.rejects(Agent.resume("../x", { store: memoryStore() }), (error) =>
    isEmendError(error, "invalid_argument"),
  );
  await assert.rejects(
    Agent.resume("sess_1", { store: { ...memoryStore(), load: () => 7 } }),
    (error) => isEmendError(error, "io_error") && /must return a string/.test(error.message),
  );
  await assert.rejects(
    Agent.sessions({ ...memoryStore(), names: () => 7 }),
    (error) => isEmendError(error, "io_error") && /must return an iterable/.test(error.message),
  );
  const other = memoryStore();
  other.append("sess_9", '{"type":"session","version":9}\n');
  other.append("sess_8", "hello\n");
  other.append("sess_8.output", "an output\n");
  const problems = (await Agent.sessions(other)).map(({ id, problem }) => [
    id,
    /version 9|not a saved session/.exec(problem)?.[0],
  ]);
  assert.deepEqual(problems, [
    ["sess_8", "not a saved session"],
    ["sess_9", "version 9"],
  ]);
  assert.equal(await Agent.removeSession(other, "sess_8"), true);
  assert.deepEqual([...other.names()], ["sess_9"]);
  await assert.rejects(Agent.resume("sess_9", { store: other }), (error) => isEmendError(error, "unsupported"));
});

test("a new session can begin with the first entries of the last one", async () => {
  const agent = await Agent.create({ files: { "a.txt": "Price\n" }, store: memoryStore() });
  await agent.run("rename Price to Cost").result;
  const [first, all] = [agent.sessionId, agent.turns()];
  await agent.run("rename Cost to Sum").result;
  await agent.newSession({ turns: all.length });
  assert.notEqual(agent.sessionId, first);
  assert.deepEqual(agent.turns(), all);
  assert.equal((await agent.files.read("a.txt")).text, "Sum\n", "files do not go back");
  await assert.rejects(agent.newSession({ turns: -1 }), (error) => isEmendError(error, "invalid_argument"));
  await assert.rejects(agent.newSession({ turn: 1 }), (error) => isEmendError(error, "invalid_argument"));
  agent.close();
});

test("a new session starts over the same files and review, and the last one can be opened again", async () => {
  const store = memoryStore();
  const agent = await Agent.create({ files: { "a.txt": "Price\n" }, store });
  const first = agent.sessionId;
  await agent.newSession();
  assert.equal(agent.sessionId, first, "a session without history goes on");
  await agent.run("rename Price to Cost").result;
  const [before, turns] = [agent.review(), agent.turns().length];
  await agent.newSession();
  assert.notEqual(agent.sessionId, first);
  assert.deepEqual(agent.turns(), []);
  assert.deepEqual(agent.review(), before);
  await agent.run("rename Cost to Sum").result;
  assert.equal((await agent.files.read("a.txt")).text, "Sum\n");
  const second = agent.sessionId;
  await agent.openSession(first);
  assert.equal(agent.turns().length, turns);
  await agent.openSession(second);
  const run = agent.run("rename Sum to Total");
  await assert.rejects(agent.newSession(), (error) => isEmendError(error, "busy"));
  await run.result;
  agent.close();
  const bare = await Agent.create({ files: { "a.txt": "Price\n" } });
  await bare.run("rename Price to Cost").result;
  await assert.rejects(bare.newSession(), (error) => isEmendError(error, "configuration"));
  await assert.rejects(agent.openSession(first), (error) => isEmendError(error, "closed"));
  bare.close();
});
