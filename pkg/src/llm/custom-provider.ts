/** Connects providers written in JavaScript to a wasm module. */

import { ConfigError } from "../errors.js";
import type { CustomProvider, ProviderEvent, Request } from "./types.js";

/**
 * An open response. Neither method runs the provider's code before it returns, because that code may call the module.
 */
interface OpenResponse {
  next(): Promise<string | undefined>;
  cancel(): void;
}

/** Returns whether a provider is written in JavaScript. */
export function isCustom(provider: unknown): provider is CustomProvider {
  return typeof provider === "object" && provider !== null && "stream" in provider;
}

/** Checks a provider, and returns its settings without its function. */
export function providerSettings(provider: CustomProvider): { name: string; idleTimeoutMs?: number } {
  const { name, stream, idleTimeoutMs } = provider;
  if (typeof name !== "string" || name === "") throw new ConfigError("configuration", "the provider needs a `name`");
  if (typeof stream !== "function")
    throw new ConfigError("configuration", `the provider ${name} needs a \`stream\` function`);
  return idleTimeoutMs === undefined ? { name } : { name, idleTimeoutMs };
}

/** Returns the function with which the module opens a response. It takes a request as JSON. */
export function openerOf(provider: CustomProvider): (request: string) => OpenResponse {
  return (request) => {
    const abort = new AbortController();
    let iterator: Promise<AsyncIterator<ProviderEvent>> | undefined;
    let ended = false;
    const next = async (): Promise<string | undefined> => {
      await undefined;
      iterator ??= open(provider, request, abort.signal);
      const { done, value } = await (await iterator).next();
      ended ||= done === true;
      // Invalid events are rejected in the wasm module, which owns the event schema.
      return done ? undefined : (JSON.stringify(value) ?? "null");
    };
    return {
      next: () =>
        next().catch((thrown: unknown) => {
          ended = true;
          throw exceptionJson(thrown);
        }),
      cancel: () => {
        if (ended) return;
        ended = true;
        queueMicrotask(() => {
          abort.abort();
          iterator?.then((opened) => opened.return?.()).catch(() => {});
        });
      },
    };
  };
}

async function open(
  provider: CustomProvider,
  request: string,
  signal: AbortSignal,
): Promise<AsyncIterator<ProviderEvent>> {
  const events = await provider.stream(JSON.parse(request) as Request, { signal });
  if (typeof events?.[Symbol.asyncIterator] !== "function")
    throw new TypeError("`stream` must return an async iterable");
  return events[Symbol.asyncIterator]();
}

/** Encodes an exception as JSON for the module. */
function exceptionJson(thrown: unknown): string {
  const { message, retryable } = Object(thrown) as { message?: unknown; retryable?: unknown };
  return JSON.stringify({
    message: typeof message === "string" ? message : String(thrown),
    retryable: retryable === true,
  });
}
