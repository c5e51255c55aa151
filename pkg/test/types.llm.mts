// Compiled by types.test.mjs, never run: `emend/llm` and providers written in JavaScript as a consumer's program sees them.

import { Agent, type CustomProvider as ProviderOfAgent } from "emend";
import {
  Client,
  type CustomProvider,
  type GenerateResult,
  isEmendError,
  llmProblem,
  load,
  type ModelInfo,
  type Response,
  type StreamEvent,
  type Tool,
} from "emend/llm";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function holds<_T extends true>(): void {}

const own: CustomProvider = {
  name: "mine",
  async *stream(request, { signal }) {
    if (signal.aborted) return;
    yield { type: "text_delta", delta: request.model };
    yield { type: "finish", usage: { inputTokens: 1, outputTokens: 1 } };
  },
};
holds<Equal<CustomProvider, ProviderOfAgent>>();
const wrong: CustomProvider = {
  name: "x",
  // @ts-expect-error no such event
  async *stream() {
    yield { type: "telepathy" };
  },
};
await Agent.create({ model: { provider: own, model: "tiny" } });

const client = await Client.create({
  providers: [{ api: "anthropic-messages", apiKey: "k" }, own],
  env: { OPENAI_API_KEY: undefined },
});
// @ts-expect-error no such format
await Client.create({ providers: [{ api: "telnet" }] });
// @ts-expect-error clients are created by `create`
new Client();

const request = { model: "m", messages: [{ role: "user" as const, content: [{ kind: "text" as const, text: "hi" }] }] };
const stream = client.stream(request, { signal: AbortSignal.timeout(1000) });
for await (const event of stream) {
  holds<Equal<typeof event, StreamEvent>>();
  if (event.type === "text_delta") event.delta satisfies string;
  // @ts-expect-error another event's field
  if (event.type === "reasoning_start") event.delta;
}
const answer: Response = await stream.result;
for (const part of answer.message.content) if (part.kind === "tool_call") part.name satisfies string;

const weather: Tool<{ city: string }> = {
  name: "weather",
  description: "Tells the weather",
  parameters: { type: "object", properties: { city: { type: "string" } } },
  execute: ({ city }, { signal, toolCallId }) => [city.length, signal.aborted, toolCallId],
};
const result: GenerateResult = await client.generate({ model: "m", prompt: "hi", tools: [weather], retry: false });
result.steps[0]?.toolResults[0]?.isError satisfies boolean | undefined;
// @ts-expect-error a generation takes its tools with `execute`, not a request's messages alone
await client.generate({ prompt: "hi" });
const n: { n: number } = await client.generateObject<{ n: number }>(
  { model: "m", prompt: "a number" },
  { type: "object" },
);
n.n satisfies number;

try {
  await client.complete(request);
} catch (error) {
  if (isEmendError(error, "provider") && llmProblem(error)?.kind === "rate_limit")
    llmProblem(error)?.retryAfterMs satisfies number | null | undefined;
}

const formats = await load();
const http = formats.encode({ api: "gemini", apiKey: "k" }, request);
http.headers[0]?.[1] satisfies string | undefined;
const { events, error } = formats.decoder("openai-chat").push("data: {}");
events satisfies StreamEvent[];
error?.code satisfies string | undefined;
const model: ModelInfo | null = formats.latestModel("anthropic", "tools");
model?.maxOutput satisfies number | undefined;
client.close();

{
  using scoped = await Client.create({ providers: [own] });
  scoped.providers satisfies string[];
}

// A value that may be missing is passed on as it is.
declare const maybe: { text?: string; ms?: number; flag?: boolean };
const { text, ms, flag } = maybe;
const passing: CustomProvider = {
  name: "passing",
  async *stream() {
    yield { type: "stream_start", id: text, model: text };
    yield { type: "tool_call", id: text, name: "x", arguments: {} };
    yield { type: "finish", usage: undefined, reason: undefined };
  },
};
await Client.create({ providers: [passing], env: undefined });
await client.generate({
  model: "m",
  timeout: { totalMs: ms, perStepMs: ms },
  responseFormat: { type: "json_schema", jsonSchema: {}, strict: flag },
  messages: [
    {
      role: "user",
      name: text,
      content: [{ kind: "image", url: text, data: text, mediaType: text, detail: undefined, fileName: text }],
    },
  ],
});
