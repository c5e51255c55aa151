/**
 * `emend/outline`: the definitions of source files, by grammars of tree-sitter.
 *
 * Importing it loads nothing. The first outline of a language loads the module of its grammar, without the core.
 */

import { EmendError } from "./errors.js";
import { ENDINGS, languageOf, type OutlineLanguage } from "./outline/languages.js";
import { Grammar } from "./outline/module.js";
import type { GrammarOptions, Outline, OutlineOptions } from "./outline/types.js";
import { invalid, optionalCount, optionsOf, requireText } from "./validate.js";

export * from "./errors.js";
export type { AgentTool } from "./host/types.js";
export { languageOf } from "./outline/languages.js";
export { type OutlineFiles, type OutlineToolOptions, outlineTool } from "./outline/tool.js";
export type * from "./outline/types.js";
export type { WasmSource } from "./wasm/types.js";

/**
 * Returns the definitions of a text. The ending of `path` tells the language. A damaged text has the definitions that its
 * grammar recognizes.
 *
 * The text is parsed at once when the grammar is there: a text of 100 kB takes some 30 ms. Call it in a worker if that is
 * too long for the page.
 *
 * @throws {EmendError} with code `unsupported` if the ending has no grammar, or the text is too long or nests too deeply;
 *   `timeout`, or `load_failed`.
 */
export async function outlineOf(path: string, text: string, options: OutlineOptions = {}): Promise<Outline> {
  const [file, source] = [requireText("the path", path), requireText("the text", text)];
  const { bytesMax, msMax, symbolsMax } = optionsOf(options, ["bytesMax", "msMax", "symbolsMax"]);
  const limits = {
    bytesMax: optionalCount("`bytesMax`", bytesMax) ?? 2 ** 20,
    msMax: optionalCount("`msMax`", msMax) ?? 1_000,
    symbolsMax: optionalCount("`symbolsMax`", symbolsMax) ?? 5_000,
  };
  const language = languageOf(file);
  if (language === undefined) {
    throw new EmendError("unsupported", `the ending of ${file} is not that of a known language`);
  }
  const grammar = Grammar.of(language);
  await grammar.load();
  return grammar.outline(source, limits);
}

/**
 * Loads the grammar of a language before the first outline, or from another place. The first successful call decides which
 * source is used.
 *
 * @throws {EmendError} with code `load_failed`.
 */
export async function loadGrammar(language: OutlineLanguage, options: GrammarOptions = {}): Promise<void> {
  if (!Object.hasOwn(ENDINGS, requireText("the language", language))) {
    throw invalid(`${language} is not one of the languages: ${Object.keys(ENDINGS).join(", ")}`);
  }
  await Grammar.of(language).load(optionsOf(options, ["wasm"]).wasm);
}
