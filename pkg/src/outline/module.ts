/** The wasm modules of the grammars: one for each language, loaded on first use. `crates/emend-outline` is in each of them. */

import { sources } from "#wasm/outline.js";
import { EmendError } from "../errors.js";
import { compileWasm } from "../wasm/compile.js";
import type { WasmSource } from "../wasm/types.js";
import type { OutlineLanguage } from "./languages.js";
import type { Outline, OutlineSymbol } from "./types.js";

/** The exports of a module. `wasm.rs` of the crate describes them. */
interface Exports {
  readonly memory: WebAssembly.Memory;
  text_start(bytes: number): number;
  outline_text(bytesMax: number, msMax: number, symbolsMax: number): number;
  reply_start(): number;
}

/** The limits of one outline, all of them given. */
export interface Limits {
  readonly bytesMax: number;
  readonly msMax: number;
  readonly symbolsMax: number;
}

/** Memory past which an instance is dropped: the memory of an instance never shrinks. */
const MEMORY_MAX = 64 * 2 ** 20;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The module of one language. */
export class Grammar {
  readonly #language: OutlineLanguage;
  #compiling: Promise<WebAssembly.Module> | undefined;
  #compiled: WebAssembly.Module | undefined;
  #instance: Exports | undefined;

  private constructor(language: OutlineLanguage) {
    this.#language = language;
  }

  static readonly #all = new Map<OutlineLanguage, Grammar>();

  /** Returns the module of a language, which is not loaded yet. */
  static of(language: OutlineLanguage): Grammar {
    const found = Grammar.#all.get(language) ?? new Grammar(language);
    Grammar.#all.set(language, found);
    return found;
  }

  /** Compiles the module unless that is done. After a failure it can be called again. */
  async load(wasm?: WasmSource | PromiseLike<WasmSource>): Promise<void> {
    const language = this.#language;
    const file = `emend/outline-${language}.wasm`;
    const name = { name: `the grammar of ${language}`, option: `await loadGrammar("${language}", { wasm })`, file };
    this.#compiling ??= compileWasm(name, () => wasm ?? sources[language]()).catch((error: unknown) => {
      this.#compiling = undefined;
      throw error;
    });
    this.#compiled = await this.#compiling;
  }

  /** Returns the outline of a text. The module is loaded. */
  outline(text: string, limits: Limits): Outline {
    // At least as many bytes as UTF-16 units: a text that is certainly too long is not encoded.
    const bytes = text.length > limits.bytesMax ? undefined : encoder.encode(text);
    if (bytes === undefined || bytes.length > limits.bytesMax) {
      throw new EmendError("unsupported", `the text has more than ${limits.bytesMax} bytes`);
    }
    const exports = this.#live();
    let reply: string;
    try {
      const start = exports.text_start(bytes.length);
      new Uint8Array(exports.memory.buffer, start, bytes.length).set(bytes);
      const length = exports.outline_text(limits.bytesMax, limits.msMax, limits.symbolsMax);
      reply = decoder.decode(new Uint8Array(exports.memory.buffer, exports.reply_start(), length));
    } catch (cause) {
      // A stack overflow or lack of memory: the parser recurses with the nesting of damaged text.
      this.#instance = undefined;
      throw new EmendError("unsupported", "the text nests too deeply for this parser", { cause });
    }
    if (exports.memory.buffer.byteLength > MEMORY_MAX) this.#instance = undefined;
    return outlineIn(reply);
  }

  #live(): Exports {
    const imports = { emend: { now_ms: () => performance.now() } };
    const module = this.#compiled as WebAssembly.Module;
    this.#instance ??= new WebAssembly.Instance(module, imports).exports as unknown as Exports;
    return this.#instance;
  }
}

/** Reads a reply: `ok`, `more` or the code of an error, and then lines. */
function outlineIn(reply: string): Outline {
  const [state, ...lines] = reply.split("\n");
  if (state !== "ok" && state !== "more") throw new EmendError(state as string, lines.join("\n"));
  return { symbols: lines.map(symbolIn), truncated: state === "more" };
}

function symbolIn(line: string): OutlineSymbol {
  const [depth, firstLine, lastLine, kind, name] = line.split("\t") as [string, string, string, string, string];
  return { name, kind, firstLine: Number(firstLine), lastLine: Number(lastLine), depth: Number(depth) };
}
