// An agent over files in memory: events of a run, review, decisions, the user's edits, the canvas.

import assert from "node:assert/strict";
import test from "node:test";
import { Agent, BusyError, ClosedError, ConfigError, EmendError, isEmendError } from "emend";
import { mapped, never, until } from "./environments.mjs";
import { collect, hunkIds, results, SHOP, scripted } from "./support.mjs";

/** Creates an agent that is closed when the test ends. */
async function create(t, options) {
  const agent = await Agent.create({ files: SHOP, ...options });
  t.after(() => agent.close());
  return agent;
}

test("a rename is searched, read, edited, and waits for review", async (t) => {
  const agent = await create(t);
  const run = agent.run("rename Price to Cost");
  const events = await collect(run);

  assert.deepEqual(
    events.map((event) => event.cursor),
    events.map((_, index) => index + 1),
  );
  assert.equal(events[0].kind, "SESSION_START");
  assert.equal(events[0].data.offline, true);
  assert.equal(events[0].data.provider, "offline");
  assert.deepEqual(events[1].data, { content: "rename Price to Cost" });
  assert.equal(events.at(-1).kind, "PROCESSING_END");
  assert.equal(events.at(-1).data.reason, "natural");
  const tools = events.filter((event) => event.kind === "TOOL_CALL_START").map((event) => event.data.toolName);
  assert.deepEqual([...new Set(tools)], ["grep", "read_file", "edit_file"]);
  const ends = events.filter((event) => event.kind === "TOOL_CALL_END");
  assert.equal(ends.length, tools.length);
  assert.ok(ends.every((event) => event.data.ok));

  const result = await run.result;
  assert.equal(result.reason, "natural");
  assert.match(result.text, /^Renamed Price to Cost/);
  assert.ok(result.usage.outputTokens > 0);
  assert.equal(result.error, undefined);

  const review = agent.review();
  assert.deepEqual(
    review.files.map((file) => [file.path, file.operation]),
    [
      ["src/cart.js", "update"],
      ["src/price.js", "update"],
    ],
  );
  assert.ok(review.files.every((file) => file.hunks.every((hunk) => hunk.status === "pending" && !hunk.keptByUser)));
});

test("one hunk is accepted, another rejected, and the disk shows it", async (t) => {
  const agent = await create(t);
  await agent.run("rename Price to Cost").result;
  const [cart, price] = agent.review().files;
  for (const [path, text] of Object.entries(SHOP)) assert.equal(await agent.files.readDisk(path), text);

  assert.deepEqual(
    (await agent.accept(price.hunks.map((hunk) => hunk.id))).files.map((file) => file.path),
    ["src/cart.js"],
  );
  assert.deepEqual((await agent.reject(cart.hunks.map((hunk) => hunk.id))).files, []);

  const renamed = SHOP["src/price.js"].replace("function Price(", "function Cost(");
  assert.equal(await agent.files.readDisk("src/price.js"), renamed);
  assert.equal((await agent.files.read("src/price.js")).text, renamed);
  assert.equal(await agent.files.readDisk("src/cart.js"), SHOP["src/cart.js"]);
  assert.equal((await agent.files.read("src/cart.js")).text, SHOP["src/cart.js"]);

  assert.equal(hunkIds(await agent.undo()).length, cart.hunks.length);
  assert.deepEqual((await agent.redo()).files, []);
  await assert.rejects(agent.redo(), (error) => isEmendError(error, "not_found"));
});

test("the listing and the diff show what is pending", async (t) => {
  const agent = await create(t);
  await agent.run("rename Price to Cost").result;
  const files = Object.fromEntries((await agent.files.list()).map((file) => [file.path, file]));
  assert.deepEqual(Object.keys(files), ["notes.md", "src/cart.js", "src/price.js"]);
  assert.equal(files["notes.md"].status, "clean");
  assert.equal(files["src/price.js"].status, "modified");
  assert.equal(files["src/price.js"].size, SHOP["src/price.js"].length - 1);
  assert.ok(files["src/cart.js"].pendingHunks > 0);

  const diff = await agent.files.diff();
  assert.match(diff, /^--- a\/src\/cart\.js\n\+\+\+ b\/src\/cart\.js\n@@ /);
  assert.ok(diff.includes("-export function Price(item) {\n+export function Cost(item) {\n"));

  await agent.acceptAll("src/cart.js");
  assert.deepEqual(
    agent.review().files.map((file) => file.path),
    ["src/price.js"],
  );
  await agent.rejectAll();
  assert.equal(await agent.files.diff(), "");
});

test("the user's edits are always saved and survive every decision", async (t) => {
  const agent = await create(t);
  await agent.run("rename Price to Cost").result;
  const seen = (await agent.files.read("src/price.js")).text;
  const mine = seen.replace("item.cents", "item.cents * 2");
  const state = await agent.files.write("src/price.js", mine, { base: seen });
  assert.equal(state.text, mine);
  assert.ok(state.revision > 0);
  await agent.rejectAll();
  assert.equal(
    (await agent.files.read("src/price.js")).text,
    SHOP["src/price.js"].replace("item.cents", "item.cents * 2"),
  );
  assert.equal(await agent.files.readDisk("src/price.js"), (await agent.files.read("src/price.js")).text);

  await agent.files.remove("notes.md");
  assert.equal(await agent.files.read("notes.md"), null);
  assert.equal(await agent.files.readDisk("notes.md"), null);
  await agent.undo();
  assert.equal((await agent.files.read("notes.md")).text, SHOP["notes.md"]);
});

test("a hunk on which the user's edits depend is rejected only on request", async (t) => {
  const agent = await create(t, { files: { "a.md": "one\ntwo\nthree\n" } });
  await agent.run('replace "two" with "TWO"').result;
  const [id] = hunkIds(agent.review());
  await agent.files.write("a.md", "one\nTWO and more\nthree\n");
  await assert.rejects(agent.reject([id]), (error) => {
    assert.equal(error.name, "ConflictError");
    assert.ok(isEmendError(error, "conflict"));
    assert.deepEqual(error.data, { path: "a.md", dependents: 1, fromUser: 1 });
    assert.match(error.message, /^a\.md: later changes depend on it: 1, not the agent's: 1\. /);
    return true;
  });
  const text = async () => (await agent.files.read("a.md")).text;
  await agent.reject([id], { dependents: "only" });
  assert.equal(await text(), "one\ntwo\nTWO and more\nthree\n");
  await agent.undo();
  await agent.reject([id], { dependents: "with" });
  assert.equal(await text(), "one\ntwo\nthree\n");
  await agent.undo();
  assert.equal(await text(), "one\nTWO and more\nthree\n");
  await assert.rejects(agent.reject([id], { dependents: "all" }), (error) => isEmendError(error, "invalid_argument"));
  await assert.rejects(
    agent.reject(["f9:h9"]),
    (error) => isEmendError(error, "not_found") && error.data.id === "f9:h9",
  );
});

test("a hunk says that it is contested, removes the user's lines, or is oversized", async (t) => {
  const environment = mapped({ "long.js": "begin()\nend()\n", "plain.js": "call(a)\n", "shared.js": "call(a)\n" });
  // A hunk is cut at blank lines and at the ends of sentences. This text has neither.
  const calls = Array.from({ length: 100 }, (_, n) => `call(${n})\n`).join("");
  const edit = (path, before, after) => ["edit_file", { file_path: path, old_string: before, new_string: after }];
  const { model } = scripted([
    [
      edit("long.js", "begin()\n", `begin()\n${calls}`),
      edit("mine.js", "mine()", "better()"),
      edit("plain.js", "call(a)", "call(b)"),
      edit("shared.js", "call(a)", "call(b)"),
    ],
  ]);
  const agent = await create(t, { files: undefined, environment, model });
  await agent.files.write("mine.js", "mine()\n");
  await agent.run("edit").result;
  const flags = () =>
    agent.review().files.flatMap(({ path, hunks }) =>
      hunks.map(({ contested, removesUserLines, oversized, yours }) => {
        const set = Object.entries({ contested, removesUserLines, oversized }).filter(([, value]) => value !== false);
        return [path, Object.fromEntries(set), yours];
      }),
    );
  const others = [
    ["long.js", { oversized: true }, undefined],
    ["mine.js", { removesUserLines: true }, undefined],
    ["plain.js", {}, undefined],
  ];
  assert.deepEqual(flags(), [...others, ["shared.js", {}, undefined]]);

  // Another program changes the line that the pending hunk replaces.
  environment.write("shared.js", "call(a, 2)\n");
  await agent.files.read("shared.js");
  const contested = ["shared.js", { contested: true }, ["call(a, 2)\n"]];
  assert.deepEqual(flags(), [...others, contested]);
  await agent.acceptAll();
  assert.deepEqual(flags(), [contested]);
  assert.equal(environment.text("mine.js"), "better()\n");
  const ids = hunkIds(agent.review());
  await assert.rejects(agent.accept(ids), (error) => isEmendError(error, "conflict"));
  assert.equal(environment.text("shared.js"), "call(a, 2)\n");
  await agent.accept(ids, { over: true });
  assert.equal(environment.text("shared.js"), "call(b)\n");
  assert.deepEqual(agent.review().files, []);
});

test("a decision on all hunks of a file needs a file with that path", async (t) => {
  const agent = await create(t, { files: { ...SHOP, "logo.bin": new Uint8Array([0xff, 0xfe, 0]), "docs/": "" } });
  await agent.run("rename Price to Cost").result;
  for (const decide of ["acceptAll", "rejectAll"]) {
    for (const path of ["nope.txt", "src/Cart.js"]) {
      await assert.rejects(
        agent[decide](path),
        (error) => isEmendError(error, "not_found") && error.message.includes(`"${path}"`),
      );
    }
    // Neither has a hunk.
    for (const path of ["notes.md", "logo.bin"]) await agent[decide](path);
  }
  assert.equal(agent.review().files.length, 2);
  assert.deepEqual(
    (await agent.acceptAll("./src/cart.js")).files.map((file) => file.path),
    ["src/price.js"],
  );
  await agent.files.remove("src/cart.js");
  await assert.rejects(agent.acceptAll("src/cart.js"), (error) => isEmendError(error, "not_found"));
});

test("direct mode saves at once", async (t) => {
  const agent = await create(t, { mode: "direct" });
  await agent.run("rename Price to Cost").result;
  assert.deepEqual(agent.review().files, []);
  assert.match(await agent.files.readDisk("src/price.js"), /function Cost\(/);
});

test("binary files do not change", async (t) => {
  const blob = new Uint8Array([0xff, 0xfe, 0x00, 0x50, 0x72]);
  const agent = await create(t, { files: { ...SHOP, "logo.bin": blob } });
  await agent.run("rename Price to Cost").result;
  assert.equal((await agent.files.list()).find((file) => file.path === "logo.bin").size, blob.length);
  await assert.rejects(agent.files.read("logo.bin"), (error) => isEmendError(error, "unsupported"));
});

test("the agent leases the open file, and the user takes it back", async (t) => {
  const agent = await create(t, { model: { provider: "offline", paceMs: 1 } });
  const opened = agent.canvas.open("src/price.js");
  assert.deepEqual([opened.path, opened.held], ["src/price.js", false]);
  const leases = [];
  for await (const event of agent.run("rename Price to Cost")) {
    if (event.kind !== "CANVAS_LEASE") continue;
    leases.push(event.data.state);
    if (event.data.state === "held") {
      assert.equal(agent.canvas.state().held, true);
      const back = agent.canvas.takeBack();
      assert.equal(back.held, false);
      assert.ok(back.epoch > opened.epoch);
    }
  }
  assert.equal(leases[0], "held");
  assert.equal(agent.canvas.state().held, false);
  assert.equal(agent.canvas.close().path, null);
});

for (const how of ["signal", "cancel"]) {
  test(`a run that ends by \`${how}\` gives the canvas back to the user`, async (t) => {
    const read = ["read_file", { file_path: "notes.md" }];
    // The second answer never comes, so the agent keeps the lease.
    const { model, requests } = scripted([[read], () => never, "Again."]);
    const agent = await create(t, { model });
    agent.canvas.open("notes.md");
    const controller = new AbortController();
    const run = agent.run("go", { signal: controller.signal });
    const leases = [];
    const ended = (async () => {
      for await (const event of run) if (event.kind === "CANVAS_LEASE") leases.push(event.data);
    })().catch((error) => error.code);
    await until(() => requests.length === 2);
    const { held, epoch } = agent.canvas.state();
    assert.equal(held, true);
    if (how === "signal") controller.abort();
    else run.cancel();
    assert.equal(await ended, how === "signal" ? "aborted" : undefined);
    assert.equal((await run.result).reason, "aborted");
    assert.deepEqual(leases, [
      { path: "notes.md", state: "held", epoch },
      { path: "notes.md", state: "preempted", epoch: epoch + 1 },
    ]);
    assert.deepEqual(agent.canvas.state(), { path: "notes.md", held: false, epoch: epoch + 1 });
    assert.equal((await agent.run("go on").result).text, "Again.");
  });
}

for (const how of ["signal", "cancel", "leaving the loop"]) {
  test(`a run that ends by ${how} raises the epoch of the canvas by one, also without a lease`, {
    timeout: 60_000,
  }, async (t) => {
    const { model, requests } = scripted(["Hello.", () => never]);
    const agent = await create(t, { model });
    agent.canvas.open("notes.md");
    const epochs = [];
    const record = () => epochs.push(agent.canvas.state().epoch);
    for await (const { kind } of agent.run("hello")) if (kind === "USER_INPUT") record();
    record();
    assert.equal(epochs[1], epochs[0], "the end of a run leaves the epoch");

    const controller = new AbortController();
    const run = agent.run("go", { signal: controller.signal });
    const ended = (async () => {
      for await (const { kind } of run) {
        if (kind !== "USER_INPUT") continue;
        record();
        if (how === "leaving the loop") break;
      }
    })().catch((error) => error.code);
    if (how !== "leaving the loop") await until(() => requests.length === 2);
    if (how === "signal") controller.abort();
    if (how === "cancel") run.cancel();
    await ended;
    assert.equal((await run.result).reason, "aborted");
    assert.deepEqual(agent.canvas.state(), { path: "notes.md", held: false, epoch: epochs[2] + 1 });
  });
}

test("a user who takes the canvas back keeps it until the next message", async (t) => {
  const edit = [["edit_file", { file_path: "notes.md", old_string: "Shop", new_string: "Store" }]];
  const read = [["read_file", { file_path: "notes.md" }]];
  const takeBack = () => {
    agent.canvas.takeBack();
    return edit;
  };
  const { model, requests } = scripted([read, takeBack, edit, "You took over.", edit, "Done."]);
  const agent = await create(t, { model });
  agent.canvas.open("notes.md");
  const codes = async (task) => {
    const ends = (await collect(agent.run(task))).filter((event) => event.kind === "TOOL_CALL_END");
    return ends.map(({ data }) => data.errorInfo?.code);
  };
  assert.deepEqual(await codes("go"), [undefined, "STALE_EPOCH", "STALE_EPOCH"]);
  assert.match(results(requests[2])[0], /^error: .*the user took the canvas back/);
  assert.equal((await agent.files.read("notes.md")).text, SHOP["notes.md"]);
  assert.deepEqual(await codes("go on"), [undefined]);
  assert.match((await agent.files.read("notes.md")).text, /Store/);
});

test("a signal cancels a run in the middle, and the next one works", async (t) => {
  const agent = await create(t, { model: { provider: "offline", paceMs: 2 } });
  const controller = new AbortController();
  const run = agent.run("rename Price to Cost", { signal: controller.signal });
  const kinds = [];
  await assert.rejects(
    async () => {
      for await (const event of run) {
        kinds.push(event.kind);
        if (event.kind === "ASSISTANT_TEXT_DELTA") controller.abort(new Error("enough"));
      }
    },
    (error) => {
      assert.equal(error.name, "AbortError");
      assert.ok(isEmendError(error, "aborted"));
      assert.equal(error.cause.message, "enough");
      return true;
    },
  );
  assert.equal(kinds.at(-1), "PROCESSING_END");
  assert.ok(!kinds.includes("TOOL_CALL_START"));
  assert.equal((await run.result).reason, "aborted");
  assert.deepEqual(agent.review().files, []);

  agent.setModel({ provider: "offline" });
  assert.equal((await agent.run("rename Price to Cost").result).reason, "natural");
  assert.equal(agent.review().files.length, 2);
});

test("a signal that has already fired prevents the run", async (t) => {
  const agent = await create(t);
  const run = agent.run("rename Price to Cost", { signal: AbortSignal.abort() });
  assert.equal((await run.result).reason, "aborted");
  await assert.rejects(collect(run), (error) => error.name === "AbortError");
  assert.deepEqual(agent.review().files, []);
});

test("leaving the loop cancels the run before the next tool", async (t) => {
  const agent = await create(t);
  for await (const event of agent.run("rename Price to Cost")) {
    if (event.kind === "TOOL_CALL_START" && event.data.toolName === "edit_file") break;
  }
  assert.deepEqual(agent.review().files, []);
  assert.equal((await agent.run("rename Price to Cost").result).reason, "natural");
});

test("one run at a time, and one reader of its events", async (t) => {
  const agent = await create(t);
  const run = agent.run("rename Price to Cost");
  assert.throws(
    () => agent.run("rename Price to Worth"),
    (error) => error instanceof BusyError && error.code === "busy",
  );
  assert.throws(() => agent.setModel({ provider: "offline" }), BusyError);
  const events = collect(run);
  assert.throws(() => run[Symbol.asyncIterator](), BusyError);
  await events;
  assert.equal((await agent.run("what can you do?").result).reason, "natural");
});

test("a run that nobody reads is named, and ends when it is cancelled", async (t) => {
  const agent = await create(t);
  const run = agent.run("rename Price to Cost");
  const refused = (error) => error.code === "busy" && error.message.startsWith("the last run has not started");
  assert.throws(() => agent.run("rename Price to Worth"), refused);
  const events = collect(run);
  assert.throws(() => agent.run("rename Price to Worth"), /still works on the last task/);
  await events;
  agent.run("rename Price to Worth").cancel();
  // The cancelled run ends in later macrotasks.
  for (let n = 0; n < 100; n += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    try {
      assert.equal((await agent.run("what can you do?").result).reason, "natural");
      return;
    } catch (error) {
      assert.equal(error.code, "busy");
    }
  }
  assert.fail("the agent stays busy after a cancelled run");
});

test("events wait for a reader who comes after the result", async (t) => {
  const agent = await create(t);
  const run = agent.run("rename Price to Cost");
  await run.result;
  const kinds = (await collect(run)).map((event) => event.kind);
  assert.equal(kinds[0], "SESSION_START");
  assert.equal(kinds.at(-1), "PROCESSING_END");
});

test("wrong options and arguments are reported by name", async (t) => {
  const refused = (pattern) => (error) => {
    assert.ok(error instanceof ConfigError && error.code === "configuration", String(error));
    assert.match(error.message, pattern);
    return true;
  };
  await assert.rejects(Agent.create({ modle: {} }), refused(/unknown field `modle`/));
  // Each name that the error lists is accepted, and every other option is among them.
  const own = ["files", "environment", "quota", "shell", "readOnly", "store", "fetch", "approve", "telemetry"];
  await assert.rejects(Agent.create({ fils: {} }), (error) => {
    const names = [...error.message.split("expected one of ")[1].matchAll(/`(\w+)`/g)].map(([, name]) => name);
    for (const name of [...own, "model", "mode", "policy"]) assert.ok(names.includes(name), name);
    assert.ok(!names.some((name) => /^quota[A-Z]/.test(name)), error.message);
    return refused(/unknown field `fils`/)(error);
  });
  for (const name of ["quotaBytes", "quotaFiles"]) {
    await assert.rejects(
      Agent.create({ [name]: 2 }),
      refused(/unknown field `quota\w+`; use `quota: \{ bytes, files \}`/),
    );
  }
  const changed = await Agent.create();
  for (const changes of [{ effrot: "high" }, { quotaBytes: 2 }]) {
    assert.throws(
      () => changed.configure(changes),
      refused(/unknown field `(effrot`, expected .*`readOnly`$|quotaBytes`;)/),
    );
  }
  assert.throws(
    () => changed.configure({ effrot: "high" }),
    (error) => !/`quota\w+`|`store`/.test(error.message),
  );
  changed.close();
  await assert.rejects(Agent.create({ mode: "both" }), refused(/`both`.*`staged` or `direct`/));
  await assert.rejects(Agent.create({ model: { provider: "anthropic" } }), refused(/`apiKey`/));
  await assert.rejects(Agent.create({ files: { "a.txt": 7 } }), refused(/files\["a\.txt"\]/));
  await assert.rejects(Agent.create({ fetch: "no" }), refused(/`fetch`/));
  const cyclic = {};
  cyclic.model = cyclic;
  await assert.rejects(Agent.create(cyclic), refused(/plain data/));
  for (const path of ["./a.txt", "b/../a.txt", "b//../a.txt"]) {
    for (const files of [
      { "a.txt": "one", [path]: "two" },
      { [path]: "one", "a.txt": "two" },
      { [path]: "one", [`./${path}`]: "two" },
    ]) {
      await assert.rejects(Agent.create({ files }), refused(/is the file "a.txt" in another spelling/));
    }
    const { files } = await Agent.create({ files: { [path]: "one" } });
    assert.equal(await files.readDisk("a.txt"), "one");
  }
  await assert.rejects(Agent.create({ files: { "../a.txt": "x" } }), (error) =>
    isEmendError(error, "permission_denied"),
  );

  const agent = await create(t);
  const invalid = (error) => error instanceof EmendError && error.code === "invalid_argument";
  assert.throws(() => agent.run("   "), invalid);
  assert.throws(() => agent.run(7), invalid);
  await assert.rejects(agent.accept("f1:h1"), invalid);
  await assert.rejects(agent.files.read(""), invalid);
  await assert.rejects(agent.files.write("a.txt", null), invalid);
  await assert.rejects(agent.files.write("../a.txt", "x"), (error) => isEmendError(error, "permission_denied"));
  assert.throws(() => agent.setModel({ provider: "acme" }), refused(/`acme`/));
  assert.equal((await agent.run("rename Price to Cost").result).reason, "natural");
});

test("closing ends the run and all pending calls, and rejects later ones", async (t) => {
  const agent = await create(t, { model: { provider: "offline", paceMs: 5 } });
  const run = agent.run("rename Price to Cost");
  const events = collect(run);
  const result = run.result;
  await new Promise((resolve) => setTimeout(resolve, 20));
  agent[Symbol.dispose]();
  agent.close();
  await assert.rejects(events, ClosedError);
  await assert.rejects(result, ClosedError);
  assert.throws(() => agent.review(), ClosedError);
  await assert.rejects(agent.files.list(), (error) => isEmendError(error, "closed"));
});

test("web pages are fetched if the options allow it, and private addresses never", async (t) => {
  const asked = [];
  const fetch = async (url, options) => {
    asked.push([url, options.method, options.redirect, options.credentials]);
    if (url === "https://docs.example/old") return new Response(null, { status: 301, headers: { Location: "/new" } });
    if (url === "https://docs.example/in")
      return new Response(null, { status: 302, headers: { Location: "http://10.0.0.1/" } });
    return new Response("<h1>Docs</h1><p>Use <b>it</b>.", { headers: { "content-type": "text/html" } });
  };
  const urls = ["https://docs.example/old", "https://docs.example/in", "http://localhost/"];
  const results = [];
  let offered;
  const stream = async function* (request) {
    offered = request.tools.map((tool) => tool.name);
    const last = request.messages.at(-1);
    if (last.role === "tool") results.push(...last.content.map((part) => part.content));
    else for (const url of urls) yield { type: "tool_call", name: "web_fetch", arguments: JSON.stringify({ url }) };
    yield { type: "text_delta", delta: "Done." };
    yield { type: "finish" };
  };
  const model = { provider: { name: "mine", stream } };
  const agent = await create(t, { model, fetch, webFetch: true });
  await agent.run("read the docs").result;
  assert.ok(offered.includes("web_fetch"));
  assert.equal(results[0], "[https://docs.example/new | text/html]\n# Docs\n\nUse it.");
  assert.match(results[1], /\[permission_denied\] 10\.0\.0\.1 is not fetched/);
  assert.match(results[2], /\[permission_denied\] localhost is not fetched/);
  assert.deepEqual(asked.map(([url]) => url).sort(), [
    "https://docs.example/in",
    "https://docs.example/new",
    "https://docs.example/old",
  ]);
  assert.ok(asked.every(([, ...rest]) => rest.join() === "GET,manual,omit"));

  const without = await create(t, { model, fetch });
  await without.run("read the docs").result;
  assert.ok(!offered.includes("web_fetch"));
});
