// Cancellation over an environment of a host: methods that never answer, and writes that a cancel meets half-way.

import assert from "node:assert/strict";
import test from "node:test";
import { ClosedError, isEmendError } from "emend";
import { create, mapped, never, until } from "./environments.mjs";
import { SHOP, scripted } from "./support.mjs";

/** A method that never settles, and the state of its signal. */
function silent() {
  const calls = [];
  const method = (...given) => {
    calls.push(given.at(-1).signal);
    return never;
  };
  return { calls, method };
}

for (const [method, call] of [
  ["read", ["read_file", { file_path: "notes.md" }]],
  ["list", ["grep", { pattern: "cents" }]],
  ["read", ["edit_file", { file_path: "notes.md", old_string: "Shop", new_string: "Store" }]],
  ["stat", ["write_file", { file_path: "new.md", content: "x" }]],
]) {
  test(`cancelling ends a run in which \`${method}\` never answers ${call[0]}`, async (t) => {
    const { calls, method: wait } = silent();
    const { model } = scripted([[call]]);
    const environment = mapped(SHOP);
    const agent = await create(t, environment, { model });
    const run = agent.run("go");
    const events = [];
    const ended = (async () => {
      for await (const event of run) {
        events.push(event);
        if (event.kind === "TOOL_CALL_START") environment[method] = wait;
      }
    })();
    await until(() => calls.length > 0);
    assert.equal(calls[0].aborted, false);
    run.cancel();
    await ended;
    assert.equal((await run.result).reason, "aborted");
    await until(() => calls.every((signal) => signal.aborted));
    // The next run finds the files unchanged.
    Object.assign(environment, mapped(SHOP));
    assert.equal((await agent.files.read("notes.md")).text, SHOP["notes.md"]);
  });
}

test("one cancel ends a run over an environment that never answers a read", async (t) => {
  let asked = 0;
  const stat = () => {
    asked += 1;
    return never;
  };
  const environment = mapped(SHOP, { stat, read: () => never, list: () => never });
  const agent = await create(t, environment);
  const run = agent.run("rename Price to Cost");
  const { result } = run;
  await until(() => asked > 0);
  // A read of the user does not belong to the run.
  const mine = agent.files.read("notes.md").then(assert.fail, (error) => error);
  run.cancel();
  assert.equal((await result).reason, "aborted");
  assert.equal(await Promise.race([mine, "pending"]), "pending");
  Object.assign(environment, mapped(SHOP));
  assert.equal((await agent.files.read("notes.md")).text, SHOP["notes.md"]);
  agent.close();
  assert.ok(isEmendError(await mine, "closed"));
});

test("one cancel ends a run whose environment never becomes ready", async (t) => {
  let asked = 0;
  const initialize = () => {
    asked += 1;
    return never;
  };
  const agent = await create(t, mapped(SHOP, { initialize }));
  const run = agent.run("rename Price to Cost");
  const { result } = run;
  await until(() => asked > 0);
  run.cancel();
  assert.equal((await result).reason, "aborted");
});

test("a cancel between the writes of several files leaves all of them or none", async (t) => {
  const patch = `*** Begin Patch
*** Update File: a.txt
@@
-1
+one
*** Update File: b.txt
@@
-2
+two
*** Update File: c.txt
@@
-3
+three
*** End Patch`;
  const before = { "a.txt": "1\n", "b.txt": "2\n", "c.txt": "3\n" };
  for (let n = 1; n <= 3; n++) {
    const environment = mapped(before);
    const { write } = environment;
    const { model } = scripted([[["apply_patch", { patch }]]]);
    const agent = await create(t, environment, { model, mode: "direct" });
    const run = agent.run("go");
    let writes = 0;
    environment.write = (path, content) => {
      if (++writes === n) run.cancel();
      return write(path, content);
    };
    await run.result;
    assert.ok(writes >= n);
    const after = Object.keys(before).map((path) => environment.text(path));
    assert.ok(["1\n2\n3\n", "one\ntwo\nthree\n"].includes(after.join("")), `cancelled at write ${n}: ${after}`);
  }
});

test("a cancel takes the open file back from an edit, wherever it meets it", async (t) => {
  const codes = [];
  // The cancel follows the edit's first call of the environment by this number of microtasks.
  for (let wait = 0; codes.at(-1) !== "ok"; wait += 1) {
    assert.ok(wait < 1_000, `no edit came before the cancel: ${codes}`);
    const environment = mapped({ "notes.md": "one\ntwo\n" });
    const { stat } = environment;
    const cancelLater = async () => {
      environment.stat = stat;
      for (let n = 0; n < wait; n += 1) await undefined;
      run.cancel();
    };
    const edit = () => {
      environment.stat = (path) => {
        cancelLater();
        return stat(path);
      };
      return [["edit_file", { file_path: "notes.md", old_string: "one", new_string: "1" }]];
    };
    const { model } = scripted([[["read_file", { file_path: "notes.md" }]], edit]);
    const agent = await create(t, environment, { model });
    agent.canvas.open("notes.md");
    const run = agent.run("go");
    let held;
    for await (const { kind, data } of run) {
      if (kind === "CANVAS_LEASE" && data.state === "held") held = data;
      if (kind === "TOOL_CALL_END" && data.toolName === "edit_file") codes.push(data.errorInfo?.code ?? "ok");
    }
    const isEdited = codes.at(-1) === "ok";
    const at = `${codes.at(-1)} after ${wait} microtasks`;
    assert.equal(codes.length, wait + 1, at);
    assert.equal(environment.text("notes.md"), "one\ntwo\n", at);
    assert.equal((await agent.files.read("notes.md")).text, isEdited ? "1\ntwo\n" : "one\ntwo\n", at);
    assert.equal(agent.review().files.length, isEdited ? 1 : 0, at);
    if (!isEdited) {
      assert.equal((await run.result).reason, "aborted", at);
      assert.deepEqual(agent.canvas.state(), { path: "notes.md", held: false, epoch: held.epoch + 1 }, at);
    }
    agent.close();
  }
  // `io_error`: the cancel ended a read of the environment. Otherwise the write is late.
  assert.deepEqual([...new Set(codes)].sort(), ["STALE_EPOCH", "io_error", "ok"]);
});

test("a write is awaited when the run is cancelled; closing the agent ends the wait", async (t) => {
  const environment = mapped(SHOP);
  const { write } = environment;
  let finish;
  let signal;
  environment.write = (path, content, options) => {
    signal = options.signal;
    return new Promise((resolve) => {
      finish = () => resolve(write(path, content));
    });
  };
  const agent = await create(t, environment, { mode: "direct" });
  const run = agent.run('replace "cents" with "pence" in notes.md');
  const result = run.result;
  await until(() => finish !== undefined);
  run.cancel();
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(signal.aborted, false);
  finish();
  assert.equal((await result).reason, "aborted");
  assert.match(environment.text("notes.md"), /pence/);
  finish = undefined;
  const other = agent.run('replace "pence" with "cents" in notes.md').result;
  await until(() => finish !== undefined);
  agent.close();
  await assert.rejects(other, ClosedError);
  await until(() => signal.aborted);
  assert.match(environment.text("notes.md"), /pence/);
});

test("a cancelled run waits a limited time for a write that hangs, and the agent works on", async (t) => {
  const environment = mapped(SHOP);
  const { write } = environment;
  const asked = [];
  environment.write = (path, content, { signal }) => {
    asked.push({ path, signal, late: () => write(path, content) });
    return asked.length === 1 ? new Promise(() => {}) : write(path, content);
  };
  const agent = await create(t, environment, { mode: "direct" });
  const run = agent.run('replace "cents" with "pence" in notes.md');
  const result = run.result;
  await until(() => asked.length > 0);
  const began = performance.now();
  run.cancel();
  assert.equal((await result).reason, "aborted");
  assert.ok(performance.now() - began > 4_900, "the write had some seconds");
  assert.equal(asked.length, 1, "no later write of the run was tried");
  await until(() => asked[0].signal.aborted);
  // The write arrives after all. It counts as a change by another program.
  asked[0].late();
  const next = await agent.run('replace "pence" with "shillings" in notes.md').result;
  assert.equal(next.reason, "natural");
  assert.match(environment.text("notes.md"), /shillings/);
});

test("an endless list is an error, and one that waits is told its end when it is no longer needed", async (t) => {
  let [n, ended] = [0, 0];
  const endless = {
    *sync() {
      try {
        for (;;) yield `f${n++}`;
      } finally {
        ended += 1;
      }
    },
    async *async() {
      try {
        for (;;) {
          if (n++ % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
          yield `f${n}`;
        }
      } finally {
        ended += 1;
      }
    },
  };
  const bad = await create(t, mapped(SHOP, { list: endless.sync }));
  await assert.rejects(bad.files.list(), (error) => {
    assert.match(error.message, /`list` returned more than 1,000,000 items/);
    return isEmendError(error, "limit_reached");
  });
  assert.equal(ended, 1);
  for (const end of [(run) => run.cancel(), (_, agent) => agent.close()]) {
    [n, ended] = [0, 0];
    const agent = await create(t, mapped(SHOP, { list: endless.async }));
    const run = agent.run("rename Price to Cost");
    const result = run.result.then(
      ({ reason }) => reason,
      (error) => error.code,
    );
    await until(() => n > 200);
    end(run, agent);
    assert.ok(["aborted", "closed"].includes(await result));
    await until(() => ended > 0);
    const last = n;
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(n, last);
  }
});

test("a cancel during a direct edit of the open file restores the file", async (t) => {
  const environment = mapped({ "notes.md": "one\ntwo\n" });
  const { write } = environment;
  environment.write = (...given) => {
    environment.write = write;
    run.cancel();
    return write(...given);
  };
  const edit = ["edit_file", { file_path: "notes.md", old_string: "one", new_string: "1" }];
  const { model } = scripted([[["read_file", { file_path: "notes.md" }]], [edit]]);
  const agent = await create(t, environment, { model, mode: "direct" });
  agent.canvas.open("notes.md");
  const run = agent.run("go");
  const codes = [];
  for await (const { kind, data } of run) {
    if (kind === "TOOL_CALL_END" && data.toolName === "edit_file") codes.push(data.errorInfo?.code);
  }
  assert.deepEqual(codes, ["STALE_EPOCH"]);
  assert.equal(environment.text("notes.md"), "one\ntwo\n");
});
