/// <reference lib="esnext.disposable" preserve="true" />

/** Applies patches to single texts, and keeps texts in the module so that only patches are copied. */

import { bytesOf } from "../bytes.js";
import { camelKeys } from "../case.js";
import { ClosedError } from "../errors.js";
import type { Bytes } from "../files/types.js";
import { invalid, requireCount, requireText } from "../validate.js";
import { editModule, glue, memory, putText } from "../wasm/edit.js";
import type { WasmInstance } from "../wasm/instance.js";
import { appliedHunks, asTextPatch, HUNK_NUMBERS, withPatch } from "./patch.js";
import type { AppliedHunk, Diagnostic, PatchInput } from "./types.js";

/** Result of a patch on one text. */
export interface TextEdit<T> {
  /** The new text. The old text does not change. */
  text: T;
  /** Where the hunks were applied, in the order of the patch. */
  hunks: AppliedHunk[];
  /** Deviations in the patch that were accepted. */
  diagnostics: Diagnostic[];
}

export function editText(text: string, patch: PatchInput): TextEdit<string> {
  const before = requireText("the text", text);
  const asText = asTextPatch(patch);
  const wasm = editModule.live();
  const units = before.length;
  return asText === undefined
    ? withPatch(patch, (_, handle) =>
        wasm.call(() => editResult(before, glue.editText(putText(0, before), units, handle))),
      )
    : wasm.call(() =>
        editResult(
          before,
          glue.editTextWritten(putText(0, before), units, asText.format, putText(1, asText.text), asText.path),
        ),
      );
}

/** Returns the result of a patch on `before`. `text` is the whole new text, or only its new parts. */
function editResult(before: string, text: string): TextEdit<string> {
  const { cuts, ...said } = report();
  return { text: cuts === undefined ? text : joined(before, cuts, text), ...said };
}

/**
 * Splices new text into `before`. `cuts` has three numbers for each replaced range: its start, its end, and the length
 * of its replacement in `fresh`.
 *
 * JavaScript engines do not copy the unchanged parts until the whole string is read.
 */
function joined(before: string, cuts: Uint32Array, fresh: string): string {
  let [text, at, used] = ["", 0, 0];
  for (let index = 0; index < cuts.length; index += 3) {
    const next = used + cuts[index + 2]!;
    text += before.slice(at, cuts[index]) + fresh.slice(used, next);
    [at, used] = [cuts[index + 1]!, next];
  }
  return text + before.slice(at);
}

/** Value of the number of ranges that means: the text is whole, there are no ranges. */
const WHOLE = 2 ** 32 - 1;

/** Reads the report on the last patch from the module's memory. Call it inside the guard. */
function report(): Omit<TextEdit<never>, "text"> & { cuts: Uint32Array | undefined } {
  const numbers = new Uint32Array(memory().buffer, glue.reportAt());
  const [nHunks, nCuts, hasDiagnostics] = [numbers[0]!, numbers[1]!, numbers[2] === 1];
  const end = 3 + nHunks * HUNK_NUMBERS;
  return {
    hunks: appliedHunks(numbers, 3, end),
    cuts: nCuts === WHOLE ? undefined : numbers.subarray(end, end + 3 * nCuts),
    diagnostics: hasDiagnostics ? camelKeys<Diagnostic[]>(JSON.parse(glue.reportedDiagnostics())) : [],
  };
}

/**
 * Frees texts that were collected without being closed. Workers with a compatibility date before May 2025 have no such
 * registry: there, a text that is not closed keeps its memory.
 */
const collected =
  typeof FinalizationRegistry === "undefined"
    ? undefined
    : new FinalizationRegistry<{ wasm: WasmInstance; id: number }>(({ wasm, id }) => free(wasm, id));

function free(wasm: WasmInstance, id: number): void {
  if (!wasm.isDead) wasm.call(() => glue.textFree(id));
}

/**
 * A text in the module's memory. It never changes: {@link apply} returns a new one.
 *
 * It occupies its length in UTF-8 until it is closed or collected.
 */
export class Text {
  readonly #wasm: WasmInstance;
  /** Number of the text in the module. */
  readonly #id: number;
  #closed = false;

  /** @internal */
  constructor(wasm: WasmInstance, id: number) {
    this.#wasm = wasm;
    this.#id = id;
    collected?.register(this, { wasm, id }, this);
  }

  /** Length in UTF-8, in bytes. */
  get byteLength(): number {
    return this.#call(glue.textByteLength);
  }

  /** Number of lines. Lines end in LF, CRLF or CR. */
  get lineCount(): number {
    return this.#call(glue.textLineCount);
  }

  /** The hash of the text, as {@link Edit.hash} returns it. */
  get hash(): string {
    return this.#call(glue.textHash);
  }

  /**
   * Applies a patch to this text. The path in the patch is ignored.
   *
   * @throws {EmendError} as {@link Edit.editText} does.
   */
  apply(patch: PatchInput): TextEdit<Text> {
    const asText = asTextPatch(patch);
    return asText === undefined
      ? withPatch(patch, (_, handle) => this.#call((id) => this.#edited(glue.textApply(id, handle))))
      : this.#call((id) =>
          this.#edited(glue.textApplyWritten(id, asText.format, putText(0, asText.text), asText.path)),
        );
  }

  /** Returns the lines from `first` to `last`, both included and counted from 1, with their line endings. */
  lines(first: number, last: number): string {
    const [from, end] = [requireCount("`first`", first), requireCount("`last`", last)];
    if (from === 0) throw invalid("line numbers start at 1");
    return this.#call((id) => glue.textLines(id, from - 1, end)) as string;
  }

  /** Returns the text as a string. */
  toString(): string {
    return this.#call(glue.textString) as string;
  }

  /** Returns the text as UTF-8. */
  toBytes(): Bytes {
    return this.#call(glue.textBytes) as Bytes;
  }

  /** Frees the memory. Every later call throws a {@link ClosedError}. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    collected?.unregister(this);
    free(this.#wasm, this.#id);
  }

  /** Returns the text that a patch just created, with the module's report. */
  #edited(id: number): TextEdit<Text> {
    const text = new Text(this.#wasm, id);
    const { hunks, diagnostics } = report();
    return { text, hunks, diagnostics };
  }

  #call<T>(work: (id: number) => T): T {
    if (this.#closed) throw new ClosedError("closed", "the text is closed");
    return this.#wasm.call(() => work(this.#id));
  }
}

export interface Text extends Disposable {}

if (Symbol.dispose !== undefined) {
  Text.prototype[Symbol.dispose] = function (this: Text): void {
    this.close();
  };
}

export function openText(content: string | Uint8Array): Text {
  const given = typeof content === "string" ? content : bytesOf(content);
  if (given === undefined) throw invalid("the content must be a string or a Uint8Array");
  const wasm = editModule.live();
  return new Text(
    wasm,
    wasm.call(() => (typeof given === "string" ? glue.textOf(putText(0, given)) : glue.textFrom(given))),
  );
}
