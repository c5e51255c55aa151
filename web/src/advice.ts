/**
 * What a failure means to someone at this page, and what they can do here.
 *
 * The engine's own messages are written for every host; where the page knows better (there are no environment
 * variables in a browser) it says so in its own words and shows the engine's as details. Pure.
 */
import type { Failure } from "./engine.js";

export interface Advice {
  readonly title: string;
  readonly steps: readonly string[];
  /** The engine's message, where the title does not say it. */
  readonly details: string | null;
  /** Whether the model settings are where to go. */
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
    steps: ["Check the key, and that it belongs to this provider and address."],
    settings: true,
  },
  configuration: { title: "The model is not set up.", steps: ["Check its settings."], settings: true },
  network: {
    title: "The provider could not be reached.",
    steps: ["Check the connection and the base URL.", "Or use the offline stand-in, which needs no network."],
    settings: true,
  },
  timeout: { title: "The provider took too long to answer.", steps: ["Send the message again."] },
  stream: {
    title: "The answer broke off.",
    steps: ["What was edited by then waits for your review.", "Send “continue” to go on."],
  },
  provider: { title: "The provider could not answer.", steps: ["Wait a moment and send the message again."] },
  context_length: {
    title: "The conversation has become too long for this model.",
    steps: ["Save what you accepted and open the folder again to start a new conversation."],
  },
  internal: {
    title: "The engine stopped because of a bug.",
    steps: ["Copy what you need from the editor, then reload the page."],
  },
};

/** What to show for `failure`. */
export function advise(failure: Failure): Advice {
  const known = KNOWN[failure.code];
  if (!known) return { title: failure.message, steps: failure.suggestions, details: null, settings: false };
  const steps = [...known.steps, ...failure.suggestions.filter((step) => !known.steps.includes(step))];
  return { title: known.title, steps, details: failure.message, settings: known.settings ?? false };
}
