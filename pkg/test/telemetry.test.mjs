// The option `telemetry`: spans of OpenTelemetry for runs and calls, without contents.

import assert from "node:assert/strict";
import test from "node:test";
import { Agent } from "emend";
import { scripted } from "./support.mjs";

/** An API that records its spans. A span's parent is the name of the span in the context that it was given. */
function recorder() {
  const spans = [];
  let active = { name: "caller" };
  const tracer = {
    startSpan(name, { attributes = {}, startTime } = {}, context = active) {
      const span = { name, parent: context.name, attributes: { ...attributes }, startTime, ended: 0 };
      spans.push(span);
      return {
        span,
        setAttributes: (more) => void Object.assign(span.attributes, more),
        setStatus: ({ code }) => {
          span.status = code;
        },
        end(time) {
          span.ended += 1;
          span.endTime = time;
        },
      };
    },
  };
  const api = {
    trace: { getTracer: () => tracer, setSpan: (_context, { span }) => ({ name: span.name }) },
    context: { active: () => active },
  };
  const activate = (name) => {
    active = { name };
  };
  return { api, spans, activate };
}

const read = ["read_file", { file_path: "secret-name.txt" }];
const missing = ["read_file", { file_path: "nothing.txt" }];

async function agentWith(t, steps, telemetry, options = {}) {
  const agent = await Agent.create({
    files: { "secret-name.txt": "secret text\n" },
    model: { ...scripted(steps).model, model: "small" },
    telemetry,
    ...options,
  });
  t.after(() => agent.close());
  return agent;
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 20));

test("a run and its calls are spans, with their parents, times and failures", async (t) => {
  const { api, spans, activate } = recorder();
  const agent = await agentWith(t, [[read, missing], "Done."], api);
  const before = Date.now();
  const run = agent.run("secret task");
  activate("later");
  await run.result;
  await settled();
  assert.deepEqual(
    spans.map(({ name, parent, status, ended }) => [name, parent, status, ended]),
    [
      ["invoke_agent emend", "caller", undefined, 1],
      ["execute_tool read_file", "invoke_agent emend", undefined, 1],
      ["execute_tool read_file", "invoke_agent emend", 2, 1],
    ],
  );
  const [whole, first, second] = spans.map(({ attributes }) => attributes);
  assert.equal(whole["gen_ai.conversation.id"], agent.sessionId);
  assert.deepEqual([whole["gen_ai.provider.name"], whole["gen_ai.request.model"]], ["scripted", "small"]);
  assert.equal(whole["emend.end_reason"], "natural");
  assert.ok(Number.isInteger(whole["gen_ai.usage.input_tokens"]));
  assert.equal(first["gen_ai.tool.name"], "read_file");
  assert.equal(first["error.type"], undefined);
  assert.equal(second["error.type"], "not_found");
  for (const { startTime, endTime } of spans) assert.ok(before <= startTime && startTime <= endTime);
  assert.doesNotMatch(JSON.stringify(spans), /secret/, "a span has contents");
  await agent.run("again").result;
  await settled();
  assert.equal(spans.at(-1).parent, "later");
});

test("a cancelled run and an agent that is closed leave no span open", async (t) => {
  const { api, spans } = recorder();
  const wait = {
    name: "wait",
    description: "Waits.",
    parameters: { type: "object" },
    execute: () => new Promise(() => {}),
  };
  for (const end of ["cancel", "close"]) {
    spans.length = 0;
    const agent = await agentWith(t, [[["wait", {}]], "Done."], api, { tools: [wait] });
    const run = agent.run("wait");
    const result = run.result.catch(({ code }) => code);
    while (spans.length < 2) await settled();
    if (end === "cancel") run.cancel();
    else agent.close();
    await result;
    await settled();
    assert.deepEqual(
      spans.map(({ ended }) => ended),
      [1, 1],
    );
    assert.equal(
      spans[0].attributes[end === "cancel" ? "emend.end_reason" : "error.type"],
      end === "cancel" ? "aborted" : "closed",
    );
    assert.equal(spans[1].status, 2);
  }
});

test("telemetry that fails does not fail the run, and a wrong one is refused", async (t) => {
  const fail = () => {
    throw new Error("no telemetry");
  };
  const { api } = recorder();
  for (const telemetry of [
    { ...api, context: { active: fail } },
    { ...api, trace: { ...api.trace, getTracer: fail } },
    { ...api, trace: { ...api.trace, setSpan: fail } },
    { ...api, trace: { ...api.trace, getTracer: () => ({ startSpan: fail }) } },
  ]) {
    const agent = await agentWith(t, [[read], "Done."], telemetry);
    assert.equal((await agent.run("read").result).text, "Done.");
  }
  for (const telemetry of [{}, "otel", { trace: api.trace }]) {
    await assert.rejects(Agent.create({ telemetry }), {
      code: "configuration",
      message: /`telemetry` must be the module/,
    });
  }
});
