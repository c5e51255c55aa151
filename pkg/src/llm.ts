/**
 * `emend/llm`: one client for the models of every provider, without an agent.
 *
 * Importing it does nothing: {@link Client.create} loads the module, or {@link load} for what needs no client.
 */

import { type Formats, formats } from "./llm/formats.js";
import { llmModule } from "./wasm/llm.js";
import type { InitOptions } from "./wasm/types.js";

export {
  AbortError,
  BusyError,
  ClosedError,
  ConfigError,
  EmendError,
  type ErrorCode,
  type ErrorDetails,
  isEmendError,
  NotInitializedError,
  PanicError,
  ProviderError,
} from "./errors.js";
export type { AnswerStream } from "./llm/answer-stream.js";
export { Client } from "./llm/client.js";
export { type Decoder, type Formats, llmProblem } from "./llm/formats.js";
export type * from "./llm/types.js";
export type { InitOptions, WasmSource } from "./wasm/types.js";

/**
 * Loads the module, and returns what it does without a network: the wire formats and the catalogue of models.
 *
 * The first call that succeeds decides where the module comes from, for `emend/edit` too; later ones do nothing.
 *
 * @throws {EmendError} with code `load_failed` if there is no module where it was looked for.
 */
export async function load(options: InitOptions = {}): Promise<Formats> {
  await llmModule.load(options);
  return formats;
}
