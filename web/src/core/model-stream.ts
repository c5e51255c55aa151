/**
 * Answers of models that the package does not ask by itself: scripts of the page, and models with a second one.
 *
 * The second model is asked if the first one cannot be reached or is overloaded, and has said nothing yet. So the answer of
 * the first one is shown while it comes. All requests go through the recorder, so that a reload repeats them.
 */
import { type ApiName, Client, llmProblem, type ProviderEvent, type Request } from "emend/llm";
import type { SecondModel, Settings } from "../settings.js";
import { type AnswerEvent, type Answering, SCRIPT_URL } from "./answering.js";

const APIS: Readonly<Record<SecondModel["provider"], ApiName>> = {
  anthropic: "anthropic-messages",
  openai: "openai-responses",
  openai_compatible: "openai-chat",
  gemini: "gemini",
};

/** Returns the answer to a request. */
export function answerOf(
  settings: Settings,
  answering: Answering,
  request: Request,
  options: { signal: AbortSignal },
): AsyncIterable<ProviderEvent> {
  // The package checks the events of a script.
  return answer(settings, answering, request, options.signal) as AsyncIterable<unknown> as AsyncIterable<ProviderEvent>;
}

async function* answer(
  settings: Settings,
  answering: Answering,
  request: Request,
  signal: AbortSignal,
): AsyncIterable<AnswerEvent> {
  const { second } = settings;
  let why = answering.next();
  if (why === "" || second === null) {
    const held: AnswerEvent[] = [];
    let hasBegun = false;
    try {
      for await (const event of firstAnswer(settings, answering, request, signal)) {
        hasBegun ||= !/^(stream_start|provider_event)$/.test(event.type);
        held.push(event);
        // The last event is not followed by another request for one.
        noteEnd(event, settings.model, answering);
        if (hasBegun) yield* held.splice(0);
      }
      return;
    } catch (error) {
      if (second === null || hasBegun || signal.aborted || !isPassing(error)) throw error;
      why = error instanceof Error ? error.message : String(error);
    }
  }
  // The same model of another server or account.
  const name = second.model === settings.model ? `${second.model} (second model)` : second.model;
  answering.switched(name, why);
  for await (const event of httpAnswer(second, answering, request, signal, why)) {
    noteEnd(event, second.model, answering, name);
    yield event;
  }
}

function firstAnswer(settings: Settings, answering: Answering, request: Request, signal: AbortSignal) {
  const { provider } = settings;
  if (provider === "script") return scriptAnswer(settings, answering, request, signal);
  if (provider === "offline") throw new Error("the offline model has no second one");
  return httpAnswer({ ...settings, provider }, answering, request, signal, "");
}

/** Whether another model may answer what this one did not: it cannot be reached, or has too much to do. */
function isPassing(error: unknown): boolean {
  const { code, retryable } = error as { code?: unknown; retryable?: unknown };
  if (retryable === true || code === "network" || code === "timeout" || code === "stream") return true;
  return /^(server|rate_limit|quota_exceeded|request_timeout|network)$/.test(llmProblem(error)?.kind ?? "");
}

function noteEnd(event: AnswerEvent, model: string, answering: Answering, name = model): void {
  if (event.type !== "finish") return;
  const { usage, response } = event as { usage?: Tokens; response?: { usage?: Tokens } };
  const { inputTokens = 0, outputTokens = 0 } = response?.usage ?? usage ?? {};
  answering.answered({ model, name, input: inputTokens, output: outputTokens });
}

interface Tokens {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}

async function* httpAnswer(
  { provider, model, apiKey, baseUrl }: SecondModel,
  answering: Answering,
  request: Request,
  signal: AbortSignal,
  why: string,
): AsyncIterable<AnswerEvent> {
  const server = { api: APIS[provider], name: provider, ...(apiKey && { apiKey }), ...(baseUrl && { baseUrl }) };
  const client = await Client.create({ providers: [server], fetch: (url, init) => answering.send(url, init, why) });
  try {
    yield* client.stream(
      { ...request, model, provider },
      { signal },
    ) as AsyncIterable<unknown> as AsyncIterable<AnswerEvent>;
  } finally {
    client.close();
  }
}

async function* scriptAnswer(
  { model: name, baseUrl: module }: Settings,
  answering: Answering,
  request: Request,
  signal: AbortSignal,
): AsyncIterable<AnswerEvent> {
  const body = JSON.stringify({ name, module, request });
  const response = await answering.send(SCRIPT_URL, { method: "POST", body, signal }, "");
  if (!response.ok) {
    const { message, retryable } = (await response.json()) as { message: string; retryable?: boolean };
    throw Object.assign(new Error(message), { retryable: retryable === true });
  }
  let rest = "";
  for await (const text of response.body!.pipeThrough(new TextDecoderStream()) as ReadableStream<string> &
    AsyncIterable<string>) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as AnswerEvent;
  }
}
