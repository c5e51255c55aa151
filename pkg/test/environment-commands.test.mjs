// Commands in the shell of a host's environment.

import assert from "node:assert/strict";
import test from "node:test";
import { create, failure, mapped } from "./environments.mjs";
import { results, SHOP, scripted } from "./support.mjs";

/** Runs one command for the model. Returns the tool result, the events and the agent. */
async function command(t, environment, given, cancelOn) {
  const { model, requests } = scripted([[["shell", given]], "Done."]);
  const agent = await create(t, environment, { model, mode: "direct" });
  const run = agent.run("go");
  const events = [];
  for await (const event of run) {
    events.push(event);
    if (event.kind === cancelOn) run.cancel();
  }
  return { told: requests[1] && results(requests[1])[0], events, agent, result: await run.result };
}

test("commands run in the host's shell, and what they change can be undone", async (t) => {
  const environment = mapped(SHOP);
  const asked = [];
  environment.exec = async (text, { onOutput, signal, ...options }) => {
    asked.push([text, options]);
    onOutput("building\n");
    onOutput("careful\n", "stderr");
    environment.files.set("notes.md", "# Made\n");
    environment.files.set("built.txt", "built\n");
    return { exitCode: 3, stdout: "done\n" };
  };
  const { told, events, agent } = await command(t, environment, {
    command: "make",
    working_dir: "src",
    timeout_ms: 5000,
  });
  assert.deepEqual(asked, [["make", { workingDirectory: "src", env: {}, timeoutMs: 5000 }]]);
  assert.match(told, /building\n.*done\n/s);
  assert.match(told, /careful/);
  assert.match(told, /3/);
  const shown = events
    .filter((event) => event.kind === "TOOL_CALL_OUTPUT_DELTA")
    .map((event) => event.data.delta)
    .join("");
  assert.match(shown, /building\n/);
  assert.equal((await agent.files.read("notes.md")).text, "# Made\n");
  assert.equal(environment.text("built.txt"), "built\n");
});

test("the signal of a command fires at its timeout, and the wait for it ends", async (t) => {
  for (const obeys of [true, false]) {
    const reasons = [];
    const exec = (_, { signal, onOutput }) => {
      onOutput("begun\n");
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => {
          reasons.push(signal.reason.name);
          if (obeys) reject(signal.reason);
        }),
      );
    };
    const { told } = await command(t, mapped(SHOP, { exec }), { command: "sleep 600", timeout_ms: 50 });
    assert.match(told, /begun\n.*timed out after 50ms/s);
    assert.deepEqual(reasons, ["TimeoutError"]);
  }
});

test("a command is cancelled with its run", async (t) => {
  let reason;
  const exec = (_, { signal, onOutput }) => {
    onOutput("begun\n");
    return new Promise((resolve) =>
      signal.addEventListener("abort", () => {
        reason = signal.reason.name;
        resolve({ exitCode: 130 });
      }),
    );
  };
  const { result } = await command(
    t,
    mapped(SHOP, { exec }),
    { command: "sleep 600", timeout_ms: 600_000 },
    "TOOL_CALL_OUTPUT_DELTA",
  );
  assert.equal(result.reason, "aborted");
  assert.equal(reason, "AbortError");
});

test("a shell that throws or returns no exit status is an error", async (t) => {
  const fails = async (exec, expected) => {
    const { told } = await command(t, mapped(SHOP, { exec }), { command: "x" });
    assert.match(told, expected);
  };
  await fails(() => {
    throw failure("EACCES", "no shell for you");
  }, /^error: .*no shell for you/);
  await fails(() => ({}), /^error: .*`exec` must return a whole number as `exitCode`/);
  await fails(() => undefined, /^error: .*`exec` must return a whole number as `exitCode`/);
  await fails(() => ({ exitCode: 1.5 }), /^error: .*`exec` must return a whole number as `exitCode`/);
});
