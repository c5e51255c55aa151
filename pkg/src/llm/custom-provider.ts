/** Connects providers written in JavaScript to a wasm module. */

import { type Names, toCamel, toSnake } from "../case.js";
import { ConfigError, isEmendError } from "../errors.js";
import { fieldOf, messageOf } from "../exceptions.js";
import { REQUEST, STREAM_EVENT, USAGE } from "../names.js";
import { endsInHalf, toJson } from "../texts.js";
import type { CustomProvider, ProviderEvent, Request, ToolCall } from "./types.js";

/** The names of an event of a provider, whose last event has no response. */
const PROVIDER_EVENT: Names = { ...STREAM_EVENT, usage: USAGE };

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
    const encoder = new EventEncoder();
    const ready: string[] = [];
    let ended = false;
    const next = async (): Promise<string | undefined> => {
      await undefined;
      iterator ??= open(provider, request, abort.signal);
      while (ready.length === 0 && !ended) {
        const { done, value } = await (await iterator).next();
        ended ||= done === true;
        ready.push(...(done ? encoder.end() : encoder.take(value)));
      }
      return ready.shift();
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
  const events = await provider.stream(toCamel<Request>(JSON.parse(request), REQUEST), { signal });
  if (typeof events?.[Symbol.asyncIterator] !== "function")
    throw new TypeError("`stream` must return an async iterable");
  return events[Symbol.asyncIterator]();
}

/** Encodes events as JSON for the module, and joins surrogate pairs that are split between deltas. */
class EventEncoder {
  /** The first half of a pair at the end of the last delta. */
  #half: { type: unknown; delta: string } | undefined;

  /** Returns the events to pass on: none if `event` completes no character. */
  take(event: unknown): string[] {
    const { type, delta, toolCall: call } = Object(event) as { type?: unknown; delta?: unknown; toolCall?: ToolCall };
    // Parts of a call and the client's diagnostics: the module takes whole calls only.
    if (type === "tool_call_start" || type === "tool_call_delta" || type === "provider_event") return this.end();
    if (type === "tool_call_end" && call !== undefined) {
      const { id, name, arguments: parsed, rawArguments: raw } = Object(call) as ToolCall;
      return [...this.end(), toJson({ type: "tool_call", id, name, arguments: raw ?? parsed }) ?? "null"];
    }
    // Invalid events are rejected in the module, which owns the event schema.
    if ((type !== "text_delta" && type !== "reasoning_delta") || typeof delta !== "string") {
      return [...this.end(), toJson(toSnake(event, PROVIDER_EVENT)) ?? "null"];
    }
    const before = this.#half?.type === type ? [] : this.end();
    const whole = (this.#half?.delta ?? "") + delta;
    const cut = endsInHalf(whole) ? whole.length - 1 : whole.length;
    this.#half = cut < whole.length ? { type, delta: whole.slice(cut) } : undefined;
    if (cut === 0 && this.#half !== undefined) return before;
    return [...before, toJson({ type, delta: whole.slice(0, cut) }) as string];
  }

  /** Returns the half that has no second half, as an event. */
  end(): string[] {
    const half = this.#half;
    this.#half = undefined;
    return half === undefined ? [] : [toJson(half) as string];
  }
}

/** Encodes an exception as JSON for the module. */
function exceptionJson(thrown: unknown): string {
  const problem = isEmendError(thrown) ? thrown.data : undefined;
  return toJson({ message: messageOf(thrown), retryable: fieldOf(thrown, "retryable") === true, problem }) as string;
}
