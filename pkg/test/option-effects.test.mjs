// The effect of each npm option in docs/settings.md: on requests, on the tools, or in the test that `ELSEWHERE` names.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Agent } from "emend";
import { collect, npmOptions, scripted, serve } from "./support.mjs";

/** Options that other files test: the file, and how the title of the test begins. */
const ELSEWHERE = {
  model: ["providers", "an agent works with the provider "],
  profile: ["session", "the offline model does the same work under every profile"],
  maxToolRounds: ["limits", "a model that loops is stopped after "],
  maxTokens: ["limits", "a model that loops is stopped after "],
  maxCostUsd: ["limits", "a model that loops is stopped after "],
  maxDurationMs: ["limits", "maxDurationMs ends a run that waits for "],
  maxTurns: ["limits", "a model that loops is stopped after "],
  mode: ["agent", "direct mode saves at once"],
  readOnly: ["settings", "an agent that only reads changes nothing, whatever the policy allows"],
  policy: ["approvals", "rules decide first, in their order"],
  approve: ["approvals", "edits are asked about, reading is not, and the answer decides"],
  tools: ["session", "custom tools run, replace others, and fail with error results"],
  files: ["agent", "a rename is searched, read, edited, and waits for review"],
  environment: ["environment", "an agent works on a host's files: "],
  quota: ["files", "a quota rejects excess at creation, for the user and for the model"],
  store: ["session", "a session continues where it ended: "],
  "model.apiKey": ["providers", "an agent works with the provider "],
  "model.baseUrl": ["providers", "an agent works with the provider "],
  "model.betas": ["providers", "the betas of a model are in a header of each of its requests"],
  "model.fallback": ["settings", "the fallback model responds if the first fails"],
  "model.fallbackAttempts": ["settings", "the first model gets as many attempts as fallbackAttempts says"],
  "model.fallbackAfterMs": ["settings", "a model that is not done after fallbackAfterMs is left: "],
  "model.constrainedTools": ["settings", "a model without tool calls writes them as objects"],
};

const MODELS = {
  anthropic: "claude-sonnet-4-5",
  openai: "gpt-5",
  openai_compatible: "gpt-5",
  gemini: "gemini-2.5-pro",
};

/** The requests of each provider with an option: the option, how it is read from the request, and the results. */
const REQUESTS = [
  {
    option: "effort",
    given: { effort: "low" },
    read: ({ body }) =>
      body.reasoning?.effort ??
      body.reasoning_effort ??
      body.thinking?.budget_tokens ??
      body.generationConfig?.thinkingConfig?.thinkingBudget,
    expected: { anthropic: 4096, openai: "low", openai_compatible: "low", gemini: 1024 },
  },
  {
    option: "instructions",
    given: { instructions: "Answer in one word." },
    // In the system prompt, not in the user's message.
    read: ({ body }) => {
      const { system, instructions, systemInstruction, messages } = body;
      const prompt = system ?? instructions ?? systemInstruction ?? messages[0];
      return JSON.stringify(prompt).includes("Answer in one word.") || undefined;
    },
    expected: { anthropic: true, openai: true, openai_compatible: true, gemini: true },
  },
  {
    option: "model.headers",
    given: { model: { headers: { "x-team": "sea" } } },
    read: ({ headers }) => headers["x-team"],
    expected: { anthropic: "sea", openai: "sea", openai_compatible: "sea", gemini: "sea" },
  },
  {
    option: "model.providerOptions",
    given: { model: { providerOptions: { an_option: { deep: [1] } } } },
    read: ({ body }) => body.an_option,
    expected: {
      anthropic: { deep: [1] },
      openai: { deep: [1] },
      openai_compatible: { deep: [1] },
      gemini: { deep: [1] },
    },
  },
  {
    option: "model.webSearch",
    given: { model: { webSearch: true } },
    read: ({ body }) =>
      body.tools
        .map(({ type, google_search: google }) => google ?? type)
        .find((tool) => tool !== undefined && tool !== "function"),
    expected: { anthropic: "web_search_20250305", openai: "web_search", gemini: {} },
  },
  {
    option: "model.safety",
    given: { model: { safety: { HARM_CATEGORY_HARASSMENT: "BLOCK_ONLY_HIGH" } } },
    read: ({ body }) => body.safetySettings,
    expected: { gemini: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_ONLY_HIGH" }] },
  },
];

/** Returns the first request of an agent with options. */
async function requestOf(t, provider, { model, ...options }) {
  const server = await serve(t, (_, response) => response.writeHead(400).end("{}"));
  const known = { provider, model: MODELS[provider], apiKey: "k", baseUrl: server.url };
  const agent = await Agent.create({ model: { ...known, ...model }, ...options });
  t.after(() => agent.close());
  await agent.run("go").result;
  const [{ headers, body }] = server.requests;
  return { headers, body: JSON.parse(body) };
}

for (const { option, given, read, expected } of REQUESTS) {
  for (const [provider, value] of Object.entries(expected)) {
    test(`what the option ${option} adds to a request: ${provider}`, async (t) => {
      assert.deepEqual(read(await requestOf(t, provider, given)), value);
      assert.equal(read(await requestOf(t, provider, {})), undefined, "without the option");
    });
  }
}

/** The tools that an option adds to those of a profile, and those that it removes. */
const OFFERED = [
  ["questions", "none", { questions: true }, ["clarify_user"], []],
  ["subagents", "none", { subagents: true }, ["spawn_agent", "send_input", "wait", "close_agent"], []],
  ["webFetch", "none", { webFetch: true }, ["web_fetch"], []],
  ["shell", "none", { shell: true }, ["shell"], []],
  ["edits", "openai", { edits: "edit_lines" }, ["edit_lines"], ["apply_patch"]],
  ["edits", "openai", { edits: "safe_patch" }, ["safe_patch"], ["apply_patch"]],
  ["edits", "anthropic", { edits: "edit_lines" }, ["edit_lines"], ["Edit"]],
  ["edits", "gemini", { edits: "own" }, ["replace"], ["safe_patch"]],
];

for (const [option, profile, given, added, removed] of OFFERED) {
  const value = Object.values(given)[0];
  test(`the option ${option} decides on the tools that the model is offered: ${value}, ${profile}`, async (t) => {
    const offered = async (options) => {
      const { model, requests } = scripted([]);
      const agent = await Agent.create({ model, profile, ...options });
      t.after(() => agent.close());
      await agent.run("go").result;
      return requests[0].tools.map(({ name }) => name);
    };
    const [usual, changed] = [await offered({}), await offered(given)];
    assert.deepEqual(
      changed.filter((name) => !usual.includes(name)),
      added,
    );
    assert.deepEqual(
      usual.filter((name) => !changed.includes(name)),
      removed,
    );
  });
}

test("each npm option of docs/settings.md has a test of its effect", () => {
  const here = [...REQUESTS.map(({ option }) => option), ...OFFERED.map(([option]) => option), "model.paceMs"];
  assert.deepEqual([...new Set([...here, ...Object.keys(ELSEWHERE)])].sort(), npmOptions());
  for (const [option, [file, title]] of Object.entries(ELSEWHERE)) {
    const text = readFileSync(new URL(`${file}.test.mjs`, import.meta.url), "utf8");
    const tests = text.split(/\btest\(\s*["`]/).slice(1);
    assert.ok(
      tests.some((begin) => begin.startsWith(title)),
      `${option}: ${file}.test.mjs has no test "${title}"`,
    );
  }
});

test("the offline model waits before each piece of its answer", async (t) => {
  const PACE_MS = 3;
  const agent = await Agent.create({ model: { provider: "offline", paceMs: PACE_MS } });
  t.after(() => agent.close());
  const times = [];
  for await (const { kind } of agent.run("what can you do?")) {
    if (kind === "ASSISTANT_TEXT_DELTA") times.push(performance.now());
  }
  assert.ok(times.length > 50, String(times.length));
  // A timer of Node can fire a millisecond early.
  const least = (times.length - 1) * (PACE_MS - 1);
  const took = times.at(-1) - times[0];
  assert.ok(took >= least, `${took} ms for ${times.length} pieces`);

  agent.setModel({ provider: "offline", paceMs: 600_000 });
  const run = agent.run("what can you do?");
  const events = collect(run);
  await pause(50);
  run.cancel();
  assert.equal((await run.result).reason, "aborted");
  assert.deepEqual(
    (await events).map(({ kind }) => kind),
    ["USER_INPUT", "PROCESSING_END"],
  );
  // A timer would keep a Node process alive.
  await pause(50);
  assert.equal(process.getActiveResourcesInfo().includes("Timeout"), false);
});
