/** The options of the engine that follow from the user's choices. */
import type { AgentOptions } from "emend";
import type { CustomProvider } from "emend/llm";
import type { Options, Pace, Settings } from "../settings.js";
import type { Answering } from "./answering.js";
import type { ModelChoice } from "./protocol.js";

/** The model that an agent uses. */
type Model = NonNullable<AgentOptions["model"]>;

/** Without `always`, each command asks. Edits need no question, because they wait for review. */
export const ASK_FOR_COMMANDS = [
  { action: "ask", tool: "shell" },
  { action: "allow", tool: "*" },
] as const;

/** Returns the options of the engine that can change at any time. */
export function limitsOf({ maxCostUsd, maxTokens, maxMinutes = 0, subagents }: Options) {
  return { maxCostUsd, maxTokens, maxDurationMs: Math.round(maxMinutes * 60_000), subagents };
}

export function choiceOf({ apiKey: _key, remember: _remember, second, ...choice }: Settings): ModelChoice {
  if (second === null) return { ...choice, second };
  const { apiKey: _second, ...rest } = second;
  return { ...choice, second: rest };
}

/** Returns the settings of a recorded model, which needs no key because its responses are recorded. */
export function settingsOf(choice: ModelChoice): Settings {
  const apiKey = "recorded";
  const { second = null } = choice;
  return { ...choice, pace: "instant", apiKey, remember: false, second: second && { ...second, apiKey } };
}

/** Converts the settings to the model options of the engine. `answering` is needed by scripts and second models. */
export function modelOf(settings: Settings, answering: Answering): Model {
  const { provider, apiKey, model, baseUrl, second } = settings;
  if (provider === "offline") return { provider, paceMs: PACE_MS[settings.pace] };
  if (provider === "script" || second !== null) {
    // Loaded by the first request. The name of the provider decides how the agent's tools are named.
    const stream: CustomProvider["stream"] = async (request, options) =>
      (await import("./model-stream.js")).answerOf(settings, answering, request, options);
    return { provider: { name: provider, stream }, model };
  }
  const options = { model, ...(baseUrl && { baseUrl }) };
  if (provider === "openai_compatible" && apiKey === "") return { provider, ...options };
  return { provider, apiKey, ...options };
}

/** Milliseconds before each piece of an answer. */
const PACE_MS: Record<Pace, number> = { steady: 14, slow: 90, instant: 0 };
