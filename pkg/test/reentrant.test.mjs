// Methods of an environment that call the agent: they work, or fail with `busy`. None of them hangs.

import assert from "node:assert/strict";
import test from "node:test";
import { isEmendError } from "emend";
import { create, mapped } from "./environments.mjs";
import { scripted } from "./support.mjs";

const isBusy = (error) => isEmendError(error, "busy") && error.retryable && error.suggestions.length > 0;

/** Moves the mocked clock second by second, with turns of the event loop between. */
async function seconds(t, count) {
  for (let second = 0; second < count; second++) {
    t.mock.timers.tick(1_000);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Waits until a condition holds; timers do not run. */
async function until(holds) {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

/** Runs `work` while the clock moves. */
async function within(t, count, work) {
  let over = false;
  const result = work().finally(() => {
    over = true;
  });
  result.catch(() => {});
  for (let n = 0; n < count && !over; n++) await seconds(t, 1);
  assert.ok(over, `it settled within ${count} s`);
  return result;
}

for (const [name, call] of [
  ["files.write", (agent) => agent.files.write("c.md", "c")],
  ["acceptAll", (agent) => agent.acceptAll()],
  ["undo", (agent) => agent.undo()],
]) {
  test(`\`write\` that awaits agent.${name} gets \`busy\`, and the change goes on`, async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const environment = mapped({ "a.md": "alpha\n" });
    const { write } = environment;
    let refused;
    const agent = await create(t, environment);
    await agent.run("rename alpha to beta").result;
    environment.write = async (path, content) => {
      write(path, content);
      if (path === "a.md") refused ??= await call(agent).then(assert.fail, (error) => error);
    };
    const review = await within(t, 15, () => agent.acceptAll());
    assert.deepEqual(review.files, []);
    assert.ok(isBusy(refused), String(refused));
    assert.match(refused.message, /`write`.*"a\.md"/);
    assert.equal(environment.text("a.md"), "beta\n");
    // The agent is not left busy.
    await agent.files.write("d.md", "d");
    assert.equal(environment.text("d.md"), "d");
  });
}

test("`read` that awaits a decision during a run gets `busy`, and the run ends", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const environment = mapped({ "a.md": "alpha\n" });
  const { read } = environment;
  const agent = await create(t, environment, {
    model: scripted([[["edit_file", { file_path: "a.md", old_string: "alpha", new_string: "beta" }]]]).model,
    profile: "none",
  });
  const outcomes = [];
  environment.read = async (path) => {
    await agent.acceptAll().then(
      () => outcomes.push("worked"),
      (error) => outcomes.push(error.code),
    );
    return read(path);
  };
  const { reason } = await within(t, 60, () => agent.run("go").result);
  assert.equal(reason, "natural");
  assert.ok(outcomes.length > 0 && outcomes.every((outcome) => ["worked", "busy"].includes(outcome)), `${outcomes}`);
});

test("reading through the agent inside its environment works at once", async (t) => {
  const environment = mapped({ "a.md": "alpha\n", "i.md": "x\n" });
  const { write } = environment;
  const seen = [];
  const agent = await create(t, environment);
  environment.write = async (path, content) => {
    seen.push((await agent.files.read("i.md")).text, agent.review().files.length);
    write(path, content);
  };
  await agent.run("rename alpha to beta").result;
  await agent.acceptAll();
  assert.deepEqual(seen, ["x\n", 1]);
});

test("a change waits for a slow one that goes on, however long", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const names = Array.from({ length: 4 }, (_, n) => `${n}.md`);
  const environment = mapped(Object.fromEntries(names.map((name) => [name, "alpha\n"])));
  const { write } = environment;
  const waiting = [];
  const agent = await create(t, environment);
  await agent.run("rename alpha to beta").result;
  environment.write = (path, content) =>
    new Promise((resolve) => {
      waiting.push(() => resolve(write(path, content)));
    });
  const accepted = agent.acceptAll();
  const mine = agent.files.write("mine.md", "m");
  for (let n = 0; n < names.length; n++) {
    await until(() => waiting.length > n);
    await seconds(t, 8);
    waiting[n]();
  }
  assert.deepEqual((await accepted).files, []);
  await until(() => waiting.length > names.length);
  // Its own slow write is none that it waits for.
  await seconds(t, 30);
  waiting.at(-1)();
  await mine;
  assert.equal(environment.text("mine.md"), "m");
});
