/**
 * Explains failures to the user of the page, with remedies that exist there.
 *
 * The engine's messages are written for every host. Where they do not fit a browser, which has for example no
 * environment variables, the page uses its own words and shows the engine's message as details.
 */
import type { Failure } from "./engine.js";

export interface Advice {
  readonly title: string;
  readonly steps: readonly string[];
  /** The engine's message, unless the title is that message. */
  readonly details: string | null;
  /** Whether the model settings are the remedy. */
  readonly settings: boolean;
}

interface Known {
  readonly title: string;
  readonly steps: readonly string[];
  readonly settings?: boolean;
}

const KNOWN: Record<string, Known> = {
  authentication: {
    title: "The provider refused the API key.",
    steps: ["Check that the key is correct and belongs to this provider and base URL."],
    settings: true,
  },
  configuration: { title: "The model is not set up.", steps: ["Check its settings."], settings: true },
  network: {
    title: "The provider could not be reached.",
    steps: ["Check the connection and the base URL.", "Or use the offline model, which needs no network."],
    settings: true,
  },
  timeout: { title: "The provider timed out.", steps: ["Send the message again."] },
  stream: {
    title: "The response ended unexpectedly.",
    steps: ["The edits so far wait for your review.", "Send “continue” to continue."],
  },
  provider: { title: "The provider failed.", steps: ["Wait a moment, then send the message again."] },
  context_length: {
    title: "The conversation is too long for this model.",
    steps: ["Save the accepted changes, then open the folder again to start a new conversation."],
  },
  internal: {
    title: "The engine stopped because of a bug.",
    steps: ["Copy what you need from the editor, then reload the page."],
  },
};

/** Messages for tool calls whose own message tells the model how to behave. */
const TOOL_MESSAGES: Record<string, string> = {
  STALE_EPOCH: "You took this file back, so the assistant did not change it.",
};

/** Returns the page's own message for a failed tool call, or null if the tool's message fits. */
export function toolMessage(failure: Failure | null): string | null {
  return failure === null ? null : (TOOL_MESSAGES[failure.code] ?? null);
}

/** Returns the explanation of a failure. */
export function advise(failure: Failure): Advice {
  const known = KNOWN[failure.code];
  if (!known) return { title: failure.message, steps: failure.suggestions, details: null, settings: false };
  const steps = [...known.steps, ...failure.suggestions.filter((step) => !known.steps.includes(step))];
  return { title: known.title, steps, details: failure.message, settings: known.settings ?? false };
}
