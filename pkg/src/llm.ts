/**
 * `emend/llm`: one client for the models of several providers, without an agent.
 *
 * Importing it loads nothing: {@link Client.create} loads the wasm module, or {@link load} for functions without a
 * client.
 */

import { type Formats, formats } from "./llm/formats.js";
import { optionsOf } from "./validate.js";
import { llmModule } from "./wasm/llm.js";
import type { InitOptions } from "./wasm/types.js";

export * from "./errors.js";
export type { AnswerStream } from "./llm/answer-stream.js";
export { Client } from "./llm/client.js";
export { type Decoder, type Formats, type HeaderList, llmProblem } from "./llm/formats.js";
export type * from "./llm/schema-types.js";
export { tool } from "./llm/tool.js";
export type * from "./llm/types.js";
export type { InitOptions, WasmSource } from "./wasm/types.js";

/**
 * Loads the wasm module, and returns the functions that need no network: the wire formats and the catalogue of models.
 *
 * The first successful call decides which source is used; later calls do nothing.
 *
 * @throws {EmendError} with code `load_failed` if the source does not hold the module.
 */
export async function load(options: InitOptions = {}): Promise<Formats> {
  await llmModule.load(optionsOf(options, ["wasm"]));
  return formats;
}
