/** Providers written in JavaScript, as the module calls them. */

import { ConfigError } from "./errors.js";
import type { CustomProvider, ProviderEvent, Request } from "./llm-types.js";

/** An answer under way. Neither method runs the provider's code before it returns: it may call back in. */
interface Answer {
  next(): Promise<string | undefined>;
  cancel(): void;
}

export function isCustom(provider: unknown): provider is CustomProvider {
  return typeof provider === "object" && provider !== null && "stream" in provider;
}

/** The settings of a provider, without its function. */
export function settingsOf(provider: CustomProvider): { name: string; idleTimeoutMs?: number } {
  const { name, stream, idleTimeoutMs } = provider;
  if (typeof name !== "string" || name === "") throw new ConfigError("configuration", "a provider needs a `name`");
  if (typeof stream !== "function") throw new ConfigError("configuration", `${name} has no \`stream\` function`);
  return idleTimeoutMs === undefined ? { name } : { name, idleTimeoutMs };
}

/** Returns what opens a provider's answers: it takes a request's JSON text. */
export function opener(provider: CustomProvider): (request: string) => Answer {
  return (request) => {
    const abort = new AbortController();
    let iterator: Promise<AsyncIterator<ProviderEvent>> | undefined;
    let over = false;
    const next = async (): Promise<string | undefined> => {
      await undefined;
      iterator ??= open(provider, request, abort.signal);
      const { done, value } = await (await iterator).next();
      over ||= done === true;
      // What is no event is named by the module, which knows what one is.
      return done ? undefined : (JSON.stringify(value) ?? "null");
    };
    return {
      next: () =>
        next().catch((thrown: unknown) => {
          over = true;
          throw describe(thrown);
        }),
      cancel: () => {
        if (over) return;
        over = true;
        queueMicrotask(() => {
          abort.abort();
          iterator?.then((opened) => opened.return?.()).catch(() => {});
        });
      },
    };
  };
}

async function open(provider: CustomProvider, request: string, signal: AbortSignal): Promise<AsyncIterator<ProviderEvent>> {
  const events = await provider.stream(JSON.parse(request) as Request, { signal });
  if (typeof events?.[Symbol.asyncIterator] !== "function") throw new TypeError("`stream` returned no async iterable");
  return events[Symbol.asyncIterator]();
}

/** What the module is told of something thrown: its JSON text. */
function describe(thrown: unknown): string {
  const { message, retryable } = Object(thrown) as { message?: unknown; retryable?: unknown };
  return JSON.stringify({ message: typeof message === "string" ? message : String(thrown), retryable: retryable === true });
}
