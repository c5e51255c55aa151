/** The options of the engine that follow from the user's choices. */
import type { Options, Settings } from "../settings.js";
import type { ModelChoice } from "./protocol.js";

/** Without `always`, each command asks. Edits need no question, because they wait for review. */
export const ASK_FOR_COMMANDS = [
  { action: "ask", tool: "shell" },
  { action: "allow", tool: "*" },
] as const;

/** Returns the options of the engine that can change at any time. */
export function limitsOf({ maxCostUsd, maxTokens, subagents }: Options) {
  return { maxCostUsd, maxTokens, subagents };
}

export function choiceOf({ apiKey: _key, remember: _remember, ...choice }: Settings): ModelChoice {
  return choice;
}
