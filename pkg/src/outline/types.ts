/** Public types of outlines. */

import type { WasmSource } from "../wasm/types.js";

export type { OutlineLanguage } from "./languages.js";

/** The kind of a definition. Kinds may be added. */
export type SymbolKind =
  | "class"
  | "const"
  | "declaration"
  | "enum"
  | "fn"
  | "impl"
  | "interface"
  | "macro"
  | "mod"
  | "struct"
  | "trait"
  | "type"
  | "union"
  | "var"
  | (string & {});

/** A definition in a text. */
export interface OutlineSymbol {
  /** The name as the text has it, with its qualifiers, e.g. `Server.Close` or `Display for Point`. */
  name: string;
  /** `declaration` is a function of C or C++ without its body. */
  kind: SymbolKind;
  /** First line, from 1. */
  firstLine: number;
  /** Last line, from 1, inclusive. */
  lastLine: number;
  /** Number of symbols around this one. */
  depth: number;
}

/** The definitions of a text. */
export interface Outline {
  /** In the order of their first lines. */
  symbols: OutlineSymbol[];
  /** Whether symbols beyond the limit are missing. */
  truncated: boolean;
}

/** Limits of one outline. */
export interface OutlineOptions {
  /** Bytes of the longest text that is parsed. Default 1 MiB. */
  bytesMax?: number | undefined;
  /** Milliseconds after which the work stops. Default 1,000. */
  msMax?: number | undefined;
  /** The most symbols. Default 5,000. */
  symbolsMax?: number | undefined;
}

/** Options of `loadGrammar`. */
export interface GrammarOptions {
  /** The source of the module. Default: the file beside this package's own files. */
  wasm?: WasmSource | PromiseLike<WasmSource> | undefined;
}
