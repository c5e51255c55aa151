// Measures pi-agent-core with the conversations that `emend-bench agent` has written to a folder, and prints one JSON
// object per line: the history and its milliseconds. A run is the same as there: a message, a response that calls an empty
// tool, and a final response. Before each response the request is encoded as JSON, as any client would do.
// The script is copied to the folder where the peers are installed, and run there.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Agent } from "@mariozechner/pi-agent-core";
import { createAssistantMessageEventStream, getModel, Type } from "@mariozechner/pi-ai";

const folder = process.argv[2];
const HISTORIES = [10, 100, 1000];
const ROUNDS = 60;

const version = JSON.parse(readFileSync("node_modules/@mariozechner/pi-agent-core/package.json", "utf8")).version;

const model = getModel("anthropic", "claude-opus-4-5");
const usage = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};
const assistant = (content, stopReason) => ({
  role: "assistant",
  content,
  api: model.api,
  provider: model.provider,
  model: model.id,
  usage,
  stopReason,
  timestamp: 0,
});

/** Returns the conversation in the peer's data types. */
function history(nTurns) {
  const messages = JSON.parse(readFileSync(join(folder, `history-${nTurns}.json`), "utf8")).slice(1);
  const parts = (message) =>
    message.content.map((part) =>
      part.kind === "tool_call"
        ? { type: "toolCall", id: part.id, name: part.name, arguments: part.arguments }
        : { type: "text", text: part.text },
    );
  return messages.map((message) => {
    if (message.role === "user") return { role: "user", content: parts(message), timestamp: 0 };
    if (message.role === "assistant") return assistant(parts(message), "toolUse");
    const [result] = message.content;
    const content = [{ type: "text", text: result.content }];
    return {
      role: "toolResult",
      toolCallId: result.tool_call_id,
      toolName: result.name,
      content,
      isError: false,
      timestamp: 0,
    };
  });
}

let bodyBytes = 0;
let nAnswers = 0;

/** A model that answers at once, after the request is encoded. */
function streamFn(_model, context) {
  bodyBytes = JSON.stringify({ system: context.systemPrompt, messages: context.messages, tools: context.tools }).length;
  const stream = createAssistantMessageEventStream();
  const calls = nAnswers++ % 2 === 0;
  const text = { type: "text", text: calls ? "I call it." : "That is all." };
  const call = { type: "toolCall", id: `toolu_${nAnswers}`, name: "nothing", arguments: { text: "x" } };
  const message = assistant(calls ? [text, call] : [text], calls ? "toolUse" : "stop");
  stream.push({ type: "start", partial: message });
  stream.push({ type: "text_start", contentIndex: 0, partial: message });
  stream.push({ type: "text_delta", contentIndex: 0, delta: text.text, partial: message });
  stream.push({ type: "text_end", contentIndex: 0, content: text.text, partial: message });
  if (calls) stream.push({ type: "toolcall_end", contentIndex: 1, toolCall: call, partial: message });
  stream.push({ type: "done", reason: message.stopReason, message });
  stream.end(message);
  return stream;
}

const nothing = {
  name: "nothing",
  label: "nothing",
  description: "Does nothing.",
  parameters: Type.Object({ text: Type.Optional(Type.String()) }),
  execute: async () => ({ content: [{ type: "text", text: "nothing" }], details: {} }),
};

for (const nTurns of HISTORIES) {
  const messages = history(nTurns);
  const agent = new Agent({
    initialState: { systemPrompt: "You edit files.", model, tools: [nothing], messages },
    streamFn,
  });
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const begun = performance.now();
    await agent.prompt("go on");
    best = Math.min(best, performance.now() - begun);
  }
  if (agent.state.messages.length !== messages.length + 4 * ROUNDS) throw new Error("the peer's turns failed");
  if (bodyBytes < nTurns * 1000) throw new Error("the peer's requests hold no history");
  console.log(JSON.stringify({ n_turns: nTurns, peer_name: `pi-agent-core ${version} + JSON`, peer: best }));
}
