// Tools whose parameters are a Standard Schema, as zod, ArkType and Valibot make them.

import assert from "node:assert/strict";
import test from "node:test";
import { Agent, ConfigError, tool as makeTool } from "emend";
import { Client } from "emend/llm";
import { collect, scripted } from "./support.mjs";

const JSON_SCHEMA = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
const DIALECT = { $schema: "https://json-schema.org/draft/2020-12/schema", ...JSON_SCHEMA };

/** A schema of `{ n }`, an even number, which it doubles. `way` tells how it gives its JSON Schema. */
function even(way) {
  const validate = async (value) =>
    value.n % 2 === 0 ? { value: { n: value.n * 2 } } : { issues: [{ message: "must be even", path: ["n"] }] };
  const standard = { version: 1, vendor: "test", validate };
  return {
    // Internals, as of zod: functions and getters that are not plain data.
    def: { check: () => {} },
    "~standard": way === "standard" ? { ...standard, jsonSchema: { input: () => DIALECT } } : standard,
    ...(way === "zod" && { toJSONSchema: ({ io }) => (io === "input" ? DIALECT : assert.fail()) }),
    ...(way === "arktype" && { toJsonSchema: () => DIALECT }),
  };
}

const tool = (parameters, execute) => ({ name: "count", description: "Counts.", parameters, execute });

for (const way of ["standard", "zod", "arktype"]) {
  test(`the agent checks and converts arguments with a Standard Schema (${way})`, async () => {
    const { model, requests } = scripted([[["count", { n: 3 }]], [["count", { n: "x" }]], [["count", { n: 4 }]]]);
    const calls = [];
    const agent = await Agent.create({
      model,
      tools: [tool(even(way), (args) => String(calls.push(args)))],
    });
    const ends = (await collect(agent.run("go"))).filter(({ kind }) => kind === "TOOL_CALL_END");
    agent.close();
    assert.deepEqual(requests[0].tools.find(({ name }) => name === "count").parameters, JSON_SCHEMA);
    assert.deepEqual(
      ends.map(({ data }) => data.ok),
      [false, false, true],
    );
    assert.match(ends[0].data.error, /the arguments are wrong: n: must be even/);
    assert.equal(ends[0].data.errorInfo.code, "invalid_argument");
    assert.deepEqual(calls, [{ n: 8 }]);
  });
}

test("the client checks and converts arguments with a Standard Schema", async () => {
  const { model, requests } = scripted([[["count", { n: 3 }]], [["count", { n: 4 }]], "Done."]);
  const client = await Client.create({ providers: [model.provider] });
  const calls = [];
  const tools = [tool(even("standard"), (args) => calls.push(args))];
  const { text } = await client.generate({ model: "m", prompt: "go", tools, maxToolRounds: 5 });
  assert.equal(text, "Done.");
  assert.deepEqual(requests[0].tools[0].parameters, JSON_SCHEMA);
  assert.match(JSON.stringify(requests[1].messages), /n: must be even/);
  assert.deepEqual(calls, [{ n: 8 }]);
  const { execute: _, ...described } = tools[0];
  await client.complete({ model: "m", messages: requests[0].messages, tools: [described] });
  assert.deepEqual(requests[3].tools[0].parameters, JSON_SCHEMA);
  client.close();
});

test("a Standard Schema without a JSON Schema is a ConfigError that says how to convert it", async () => {
  const { model } = scripted([]);
  const client = await Client.create({ providers: [model.provider] });
  const broken = even("none");
  broken.toJSONSchema = () => {
    throw new Error("a Date has no JSON Schema");
  };
  for (const [schema, message] of [
    [even("none"), /the tool "count" are a schema of test that gives no JSON Schema.*toJSONSchema/],
    [broken, /the tool "count" are a schema of test that cannot be written as JSON Schema: a Date has no/],
  ]) {
    const tools = [tool(schema, () => {})];
    for (const call of [
      () => Agent.create({ tools }),
      () => client.generate({ model: "m", prompt: "go", tools }),
      () => client.complete({ model: "m", messages: [], tools }),
    ]) {
      await assert.rejects(
        async () => call(),
        (error) =>
          error instanceof ConfigError && message.test(error.message) && !assert.equal(error.code, "configuration"),
      );
    }
  }
  client.close();
});

test("`tool` returns its tool, and refuses one that no model could call", async () => {
  const given = { ...tool(even("zod"), () => "ok"), effect: "reads" };
  assert.equal(makeTool(given), given);
  const { model, requests } = scripted([[["count", { n: 4 }]]]);
  const agent = await Agent.create({ model, tools: [makeTool(tool(even("zod"), ({ n }) => `${n}`))] });
  await agent.run("go").result;
  agent.close();
  assert.match(JSON.stringify(requests[1].messages.at(-1)), /"8"/);
  for (const wrong of [undefined, null, "x", {}, { name: "x" }, tool(even("none"), () => "ok")])
    assert.throws(() => makeTool(wrong), ConfigError, JSON.stringify(wrong));
});
