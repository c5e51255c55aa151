/** The wire formats without I/O, and the catalogue of models. */

import { bytesOf } from "../bytes.js";
import { toCamel } from "../case.js";
import { EmendError as Base, ConfigError, type EmendError } from "../errors.js";
import type { DecoderHandle } from "../llm-core.js";
import { MODEL_INFO } from "../model-names.js";
import { REQUEST, STREAM_EVENT } from "../names.js";
import { invalid, optionsOf, requireRecord, requireText, settingsJson } from "../validate.js";
import { asError, type Failure, type WasmInstance } from "../wasm/instance.js";
import { glue, llmModule } from "../wasm/llm.js";
import { checkRequest, providerProblem } from "./request-fields.js";
import type { EncodedRequest, HttpProvider, LlmProblem, ModelInfo, Request, StreamEvent } from "./types.js";

/** The headers of a response, as names and values. */
export type HeaderList = Iterable<readonly [string, string]>;

/** The functions of `emend/llm` that need no network. */
export interface Formats {
  /**
   * Returns the HTTP request for a model response, which is streamed unless `stream` is `false`.
   *
   * @throws {EmendError} if the format cannot express the request; a {@link ConfigError} if the provider's settings are
   *   wrong.
   */
  encode(provider: HttpProvider, request: Request, options?: { stream?: boolean }): EncodedRequest;
  /** Returns a decoder for a response in a provider's format. */
  decoder(api: HttpProvider["api"], options?: { headers?: HeaderList }): Decoder;
  /** Returns the error that a client throws for a response whose status is not 2xx. */
  decodeError(
    api: HttpProvider["api"],
    answer: { status: number; headers?: HeaderList; body: string | Uint8Array },
  ): EmendError;
  /** Returns the known models of one provider or of all, newest and best first. */
  models(provider?: string): ModelInfo[];
  /** Returns the catalogue entry of a model by its id or alias, or `null` if the model is not known. */
  modelInfo(id: string): ModelInfo | null;
  /** Returns the newest known model of a provider, optionally with a capability, or `null` if there is none. */
  latestModel(provider: string, capability?: "tools" | "vision" | "reasoning"): ModelInfo | null;
}

const encoder = new TextEncoder();

/** Decodes one response, whole or in pieces of any size. */
export class Decoder {
  readonly #wasm: WasmInstance;
  readonly #handle: DecoderHandle;
  #finished = false;

  /** @internal */
  constructor(api: string, headers: string) {
    this.#wasm = llmModule.live();
    this.#handle = this.#wasm.call(() => new glue.DecoderHandle(api, headers));
  }

  /**
   * Decodes the next bytes, which may end inside a character. Returns the completed events and, if the response is
   * malformed, the error after them. After an error there are no more events. Deltas of one text or tool call that follow
   * each other in `bytes` are one event.
   */
  push(bytes: Uint8Array | string): { events: StreamEvent[]; error?: EmendError } {
    const chunk = typeof bytes === "string" ? encoder.encode(bytes) : bytesOf(bytes);
    if (chunk === undefined) throw invalid("the bytes must be a Uint8Array or a string");
    return this.#read(() => this.#handle.push(chunk));
  }

  /** Ends the response. Returns an error if the closing event is missing. */
  finish(): { events: StreamEvent[]; error?: EmendError } {
    const last = this.#read(() => this.#handle.finish());
    this.#finished = true;
    if (!this.#wasm.isDead) this.#wasm.call(() => this.#handle.free());
    return last;
  }

  #read(work: () => string): { events: StreamEvent[]; error?: EmendError } {
    if (this.#finished) throw new Base("closed", "the response was decoded; call `decoder()` for the next one");
    const read = JSON.parse(this.#wasm.call(work)) as { events: unknown; error?: Failure };
    const events = toCamel<StreamEvent[]>(read.events, STREAM_EVENT);
    const { error } = read;
    return error === undefined ? { events } : { events, error: asError(error) };
  }
}

/** Encodes headers, e.g. a `Headers` object, as JSON for Rust. */
function headersJson(headers: HeaderList = []): string {
  const isPair = (pair: unknown): boolean =>
    Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === "string");
  const isList = typeof headers === "object" && headers !== null && Symbol.iterator in headers;
  const list = isList ? [...headers] : [undefined];
  if (!list.every(isPair)) throw invalid("`headers` must be a list of names and values, or a Headers object");
  return settingsJson(list);
}

export const formats: Formats = Object.freeze({
  encode(provider, request, options = {}) {
    const { stream = true } = optionsOf(options, ["stream"]);
    if (typeof stream !== "boolean") throw invalid("`stream` must be true or false");
    const problem = providerProblem(requireRecord("the provider", provider));
    if (problem !== undefined) throw new ConfigError("configuration", `the provider is wrong: ${problem}`);
    const settings = settingsJson(provider);
    checkRequest(requireRecord("the request", request));
    const json = settingsJson(request, REQUEST);
    return JSON.parse(llmModule.live().call(() => glue.encode(settings, json, stream))) as EncodedRequest;
  },
  decoder(api, options = {}) {
    const { headers } = optionsOf(options, ["headers"]);
    return new Decoder(requireText("the format", api), headersJson(headers));
  },
  decodeError(api, answer) {
    const { status, headers, body } = optionsOf(answer, ["status", "headers", "body"]);
    const [format, list] = [requireText("the format", api), headersJson(headers)];
    if (!Number.isInteger(status) || status < 100 || status > 999) throw invalid("`status` must be an HTTP status");
    const bytes = typeof body === "string" ? encoder.encode(body) : bytesOf(body);
    if (bytes === undefined) throw invalid("the body must be a Uint8Array or a string");
    return asError(JSON.parse(llmModule.live().call(() => glue.decodeError(format, status, list, bytes))) as Failure);
  },
  models(provider) {
    const name = provider === undefined ? undefined : requireText("the provider", provider);
    return toCamel<ModelInfo[]>(JSON.parse(llmModule.live().call(() => glue.listModels(name))), MODEL_INFO);
  },
  modelInfo(id) {
    const name = requireText("the id", id);
    return toCamel<ModelInfo | null>(JSON.parse(llmModule.live().call(() => glue.modelInfo(name))), MODEL_INFO);
  },
  latestModel(provider, capability) {
    const name = requireText("the provider", provider);
    const needed = capability === undefined ? undefined : requireText("the capability", capability);
    const found: unknown = JSON.parse(llmModule.live().call(() => glue.latestModel(name, needed)));
    return toCamel<ModelInfo | null>(found, MODEL_INFO);
  },
} satisfies Formats);

/** Returns the details if `error` is a failed model call, else `undefined`. */
export function llmProblem(error: unknown): LlmProblem | undefined {
  if (!(error instanceof Error)) return undefined;
  const { data } = error as Partial<EmendError>;
  return typeof data === "object" && data !== null && "statusCode" in data ? (data as LlmProblem) : undefined;
}
