/**
 * Explains failures to the user of the page, with remedies that exist there.
 *
 * The engine's messages are written for every host. Where they do not fit a browser, which has for example no
 * environment variables, the page uses its own words and shows the engine's message as details. The words of a provider are
 * always shown.
 */
import type { Failure } from "./engine.js";

/** The action of a failure's button. */
export type Remedy = "settings" | "retry" | "reload" | "continue" | "conversation" | "limits";

export interface Advice {
  readonly title: string;
  readonly steps: readonly string[];
  /** The engine's message, unless the title is that message. */
  readonly details: string | null;
  /** The one remedy that the page offers as a button, or null. */
  readonly remedy: Remedy | null;
  /** Time in milliseconds that the provider asks to wait, to be counted down; null if there is none, or it is long. */
  readonly waitMs: number | null;
}

interface Known {
  readonly title: string;
  readonly steps: readonly string[];
  readonly remedy?: Remedy;
}

const KNOWN: Record<string, Known> = {
  authentication: {
    title: "The provider refused the API key.",
    steps: ["Check that the key is correct and belongs to this provider and base URL."],
    remedy: "settings",
  },
  configuration: { title: "The model is not set up.", steps: ["Check its settings."], remedy: "settings" },
  network: {
    title: "The provider could not be reached.",
    steps: [
      "Check the connection, and the base URL in the settings of the model.",
      "Or use the offline model, which needs no network.",
    ],
    remedy: "retry",
  },
  server_unreachable: {
    title: "The server cannot be reached.",
    steps: ["Check that `emend serve` runs. The page tries again by itself."],
    remedy: "retry",
  },
  timeout: { title: "The provider timed out.", steps: [], remedy: "retry" },
  stream: {
    title: "The response ended unexpectedly.",
    steps: ["The edits so far wait for your review."],
    remedy: "retry",
  },
  provider: { title: "The provider failed.", steps: ["Wait a moment, then send the message again."], remedy: "retry" },
  context_length: {
    title: "The conversation is too long for this model.",
    steps: ["Start a new conversation. The changes stay in the review."],
    remedy: "conversation",
  },
  load_failed: {
    title: "A part of the engine could not be loaded.",
    steps: ["Check the connection."],
    remedy: "retry",
  },
  internal: {
    title: "The engine stopped because of a bug.",
    steps: ["Copy what you need from the editor, then reload the page."],
    remedy: "reload",
  },
};

/** Remedies of notices whose own words fit the page: limits of a task, in the tab and on a server. */
const OF_LIMITS: Readonly<Record<string, Remedy>> = { budget: "continue", turn_limit: "continue", limit: "continue" };

/** An address that belongs to a web site. The engine reports it as a wrong setting. */
const WEB_PAGE: Known = {
  title: "The address answers with a web page, not as a model.",
  steps: ["Check the base URL. A network that asks for a login first also answers like this."],
  remedy: "settings",
};

/** A server that was started again with another token. */
const OTHER_TOKEN: Known = {
  title: "The server does not accept the token of this page.",
  steps: ["Open the page at the address that `emend serve` prints."],
};

/** An exception of a model written in JavaScript. */
const SCRIPT = /^script failed: (.*)$/s;

/** The failures of a provider, by the kind that the engine reports. */
const OF_PROVIDER: Record<string, Known> = {
  model_not_found: {
    title: "The provider does not have this model.",
    steps: ["Choose another model, or check the base URL."],
    remedy: "settings",
  },
  invalid_request: {
    title: "The provider rejected the request.",
    steps: ["Sending it again gives the same result. Choose another model, or change the message."],
    remedy: "settings",
  },
  rate_limit: { title: "The provider's rate limit is exceeded.", steps: [], remedy: "retry" },
  quota_exceeded: { title: "The account at the provider has no credit left.", steps: [], remedy: "settings" },
  server: { title: "The provider has a problem.", steps: ["Wait a moment, then try again."], remedy: "retry" },
  content_filter: { title: "A filter of the provider stopped the answer.", steps: ["Say it in other words."] },
};

/** Messages for tool calls whose own message tells the model how to behave. */
const TOOL_MESSAGES: Record<string, string> = {
  STALE_EPOCH: "You took this file back, so the assistant did not change it. In the next task it can.",
};

/** Returns the page's own message for a failed tool call, or null if the tool's message fits. */
export function toolMessage(failure: Failure | null): string | null {
  return failure === null ? null : (TOOL_MESSAGES[failure.code] ?? null);
}

/** Longest wait in seconds that is counted down. During a longer wait the user may change the limit. */
const COUNTED_S_MAX = 120;

/** Returns the explanation of a failure. */
export function advise(failure: Failure): Advice {
  const isWebPage = failure.code === "configuration" && failure.message.includes("with a web page");
  const isToken = failure.code === "permission_denied" && failure.message.includes("no valid token");
  const thrown = SCRIPT.exec(failure.message)?.[1];
  if (thrown !== undefined) {
    const remedy = failure.code === "network" ? "retry" : "settings";
    return { title: `The model’s script failed: ${thrown}`, steps: [], details: failure.message, remedy, waitMs: null };
  }
  const special = isWebPage ? WEB_PAGE : isToken ? OTHER_TOKEN : ofProvider(failure);
  const known = special ?? of(KNOWN, failure.code);
  if (!known) {
    const remedy = isBudget(failure) ? "limits" : (of(OF_LIMITS, failure.code) ?? null);
    return { title: failure.message, steps: failure.suggestions, details: null, remedy, waitMs: null };
  }
  const said = /It says: (.*?)\.?(?: The provider asks to wait .*)?$/s.exec(failure.message)?.[1];
  const wait = /asks to wait (\d+) s/.exec(failure.message)?.[1];
  const seconds = Number(wait);
  const isCounted = seconds <= COUNTED_S_MAX;
  const steps = [
    ...(said === undefined ? [] : [`It says: ${said}.`]),
    ...(wait === undefined || isCounted ? [] : [`Try again ${inTime(seconds)}.`]),
    ...known.steps,
    ...failure.suggestions.filter((step) => !known.steps.includes(step)),
  ];
  return {
    title: known.title,
    steps,
    details: failure.message,
    remedy: known.remedy ?? null,
    waitMs: isCounted ? seconds * 1_000 : null,
  };
}

/** Whether a server refused a task because the limits of its session are used up. */
function isBudget({ code, data }: Failure): boolean {
  return code === "limit_reached" && typeof data === "object" && data !== null && "limit" in data;
}

function ofProvider({ code, data }: Failure): Known | undefined {
  if (code !== "provider" || typeof data !== "object" || data === null) return undefined;
  const { kind } = data as { kind?: unknown };
  return typeof kind === "string" ? of(OF_PROVIDER, kind) : undefined;
}

/** Returns the own entry of a table. */
function of<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function inTime(seconds: number): string {
  if (seconds < 90) return `in ${seconds} seconds`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 90 ? `in ${minutes} minutes` : `in ${Math.ceil(minutes / 60)} hours`;
}
