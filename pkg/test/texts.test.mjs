// Lone surrogates: each becomes U+FFFD wherever a text enters the core, and halves of a pair are joined.

import assert from "node:assert/strict";
import test from "node:test";
import { Agent, isEmendError, toZip } from "emend";
import { Client } from "emend/llm";
import { collect, results, scripted, texts } from "./support.mjs";

const LONE = "a\ud800b";
const WELL = "a\ufffdb";

/** Returns a provider that yields `deltas`, each a text, `[type, text]` or a whole event. */
const yielding = (...deltas) => ({
  name: "mine",
  async *stream() {
    for (const delta of deltas) {
      if (typeof delta === "string") yield { type: "text_delta", delta };
      else if (Array.isArray(delta)) yield { type: delta[0], delta: delta[1] };
      else yield delta;
    }
    yield { type: "finish" };
  },
});

test("a pair that is split between deltas is joined", async () => {
  const call = { type: "tool_call", name: "no_such", arguments: { text: LONE } };
  const cases = [
    [["hi \ud83d", "\ude00"], "hi 😀"],
    [["\ud83d", "", "\ude00!"], "😀!"],
    [["\ud83d", "\ud83d", "\ude00"], "\ufffd😀"],
    [["\ude00", "\ud83d"], "\ufffd\ufffd"],
    [["x\ud83d", ["reasoning_delta", "\ude00"], "y"], "x\ufffdy"],
    [["\ud83d", { type: "text_end" }, "\ude00"], "\ufffd\ufffd"],
    [["a\\\ud83d", "\ude00\\ud800"], "a\\😀\\ud800"],
  ];
  for (const [deltas, expected] of cases) {
    const client = await Client.create({ providers: [yielding(...deltas)] });
    assert.equal((await client.generate({ model: "m", prompt: "hi" })).text, expected);
    client.close();
    const agent = await Agent.create({ model: { provider: yielding(...deltas) } });
    const { reason, text } = await agent.run("hi").result;
    assert.deepEqual([reason, text], ["natural", expected]);
    agent.close();
  }
  const client = await Client.create({ providers: [yielding("x\ud83d", call)] });
  const { response, text } = await client.generate({ model: "m", prompt: "hi" });
  assert.equal(text, "x\ufffd");
  assert.equal(response.message.content.at(-1).arguments.text, WELL);
  client.close();
});

test("options, tools and prompts may have lone surrogates", async () => {
  const echo = { name: "echo", description: LONE, parameters: { type: "object", title: LONE }, execute: () => LONE };
  const { model, requests } = scripted([[["echo", {}]]]);
  const policy = [{ action: "allow", tool: "*", pattern: LONE }];
  const agent = await Agent.create({
    model,
    tools: [echo],
    instructions: `from ${LONE}`,
    policy,
    approve: () => "allow",
  });
  assert.equal((await agent.run(LONE).result).reason, "natural");
  const offered = requests[0].tools.find(({ name }) => name === "echo");
  assert.deepEqual([offered.description, offered.parameters.title], [WELL, WELL]);
  assert.ok(texts(requests[0], "system").join("").includes(`from ${WELL}`));
  assert.equal(texts(requests[0], "user").at(-1), WELL);
  assert.deepEqual(results(requests[1]), [WELL]);
  agent.configure({ instructions: `now ${LONE}` });
  await agent.run("again").result;
  assert.ok(texts(requests.at(-1), "system").join("").includes(`now ${WELL}`));
  agent.close();

  const asked = [];
  const provider = {
    name: "mine",
    async *stream(request) {
      asked.push(request);
      yield { type: "finish" };
    },
  };
  const client = await Client.create({ providers: [provider] });
  await client.generate({ model: "m", prompt: LONE, system: LONE });
  assert.deepEqual([texts(asked[0], "user"), texts(asked[0], "system")], [[WELL], [WELL]]);
  client.close();
});

test("error messages and reasons keep their text", async () => {
  const fails = () => {
    throw new Error(LONE);
  };
  const tool = { name: "fails", description: "Fails.", parameters: { type: "object" }, execute: fails };
  const { model, requests } = scripted([[["fails", {}]], fails]);
  const agent = await Agent.create({ model, tools: [tool] });
  const { error } = await agent.run("go").result;
  assert.match(results(requests[1])[0], new RegExp(WELL));
  assert.match(error.message, new RegExp(WELL));
  agent.close();

  const refused = scripted([[["fails", {}]]]);
  const approve = () => ({ decision: "deny", reason: LONE });
  const other = await Agent.create({ model: refused.model, tools: [tool], approve });
  const resolved = (await collect(other.run("go"))).find(({ kind }) => kind === "APPROVAL_RESOLVED");
  assert.deepEqual([resolved.data.decision, resolved.data.reason], ["denied", WELL]);
  other.close();
});

test("names that differ by lone surrogates only are refused", async () => {
  const files = { "\ud800": "1", "\ud801": "2" };
  await assert.rejects(Agent.create({ files }), (error) => isEmendError(error, "configuration"));
  await assert.rejects(toZip(files), (error) => isEmendError(error, "already_exists"));
  const agent = await Agent.create({ files: { "\ud800": "1" } });
  assert.deepEqual(
    (await agent.files.list()).map(({ path }) => path),
    ["\ufffd"],
  );
  agent.close();
});
