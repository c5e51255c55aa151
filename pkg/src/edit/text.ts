/// <reference lib="esnext.disposable" preserve="true" />

/** Patches on single texts, and texts that stay in the module, so that only the patches cross. */

import { camelKeys } from "../case.js";
import { ClosedError } from "../errors.js";
import { invalid, requireCount, requireText } from "../validate.js";
import { editModule, glue, memory, putText } from "../wasm/edit.js";
import type { WasmInstance } from "../wasm/instance.js";
import { appliedHunks, HUNK_NUMBERS, withPatch, written } from "./patch.js";
import type { AppliedHunk, Diagnostic, PatchInput } from "./types.js";

/** What a patch makes of one text. */
export interface TextEdit<T> {
  /** The new text. The old one stays as it is. */
  text: T;
  /** Where the hunks went, in the patch's order. */
  hunks: AppliedHunk[];
  /** What was odd about the patch, and what it was accepted with. */
  diagnostics: Diagnostic[];
}

export function editText(text: string, patch: PatchInput): TextEdit<string> {
  const before = requireText("the text", text);
  const asText = written(patch);
  const wasm = editModule.live();
  const units = before.length;
  return asText === undefined
    ? withPatch(patch, (_, handle) => wasm.call(() => made(before, glue.editText(putText(0, before), units, handle))))
    : wasm.call(() =>
        made(
          before,
          glue.editTextWritten(putText(0, before), units, asText.format, putText(1, asText.text), asText.path),
        ),
      );
}

/** Reads what a patch made of `before`: `text` is all of it, or what is new in it. */
function made(before: string, text: string): TextEdit<string> {
  const { cuts, ...said } = report();
  return { text: cuts === undefined ? text : joined(before, cuts, text), ...said };
}

/**
 * Puts what is new into a text: for each stretch, where it begins and ends and how long what comes for it is.
 *
 * The engine makes no copy of what stays until someone reads the whole.
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

/** Instead of a number of stretches: there are none since the text came whole. */
const WHOLE = 2 ** 32 - 1;

/** Reads the module's report on the last patch, where it is. Called inside the guard. */
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

/** Frees the texts that nobody closed. */
const collected = new FinalizationRegistry<{ wasm: WasmInstance; id: number }>(({ wasm, id }) => free(wasm, id));

function free(wasm: WasmInstance, id: number): void {
  if (!wasm.isDead) wasm.call(() => glue.textFree(id));
}

/**
 * A text in the module's memory. It never changes: {@link apply} makes another one.
 *
 * It holds as many bytes as it has in UTF-8 until it is closed, or collected.
 */
export class Text {
  readonly #wasm: WasmInstance;
  /** Which text it is in the module. */
  readonly #id: number;
  #closed = false;

  /** @internal */
  constructor(wasm: WasmInstance, id: number) {
    this.#wasm = wasm;
    this.#id = id;
    collected.register(this, { wasm, id }, this);
  }

  /** How many bytes it has in UTF-8. */
  get byteLength(): number {
    return this.#call(glue.textByteLength);
  }

  /** How many lines it has. Lines end in LF, CRLF or CR. */
  get lineCount(): number {
    return this.#call(glue.textLineCount);
  }

  /** The hash that names this state of a file, as {@link Edit.hash} gives it. */
  get hash(): string {
    return this.#call(glue.textHash);
  }

  /**
   * Carries out a patch on this text, whatever path the patch names.
   *
   * @throws {EmendError} as {@link Edit.editText} does.
   */
  apply(patch: PatchInput): TextEdit<Text> {
    const asText = written(patch);
    return asText === undefined
      ? withPatch(patch, (_, handle) => this.#call((id) => this.#made(glue.textApply(id, handle))))
      : this.#call((id) => this.#made(glue.textApplyWritten(id, asText.format, putText(0, asText.text), asText.path)));
  }

  /** Returns the lines from `first` to `last`, both included and counted from 1, each with its ending. */
  lines(first: number, last: number): string {
    const [from, end] = [requireCount("`first`", first), requireCount("`last`", last)];
    if (from === 0) throw invalid("lines are counted from 1");
    return this.#call((id) => glue.textLines(id, from - 1, end)) as string;
  }

  /** Returns all of it as a string. */
  toString(): string {
    return this.#call(glue.textString) as string;
  }

  /** Returns its bytes, UTF-8. */
  toBytes(): Uint8Array {
    return this.#call(glue.textBytes);
  }

  /** Frees its memory. Nothing else can be asked of it then. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    collected.unregister(this);
    free(this.#wasm, this.#id);
  }

  /** Takes the text that a patch just made, with what the module reports. */
  #made(id: number): TextEdit<Text> {
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
  if (typeof content !== "string" && !(content instanceof Uint8Array)) {
    throw invalid("the content must be a string or a Uint8Array");
  }
  const wasm = editModule.live();
  return new Text(
    wasm,
    wasm.call(() => (typeof content === "string" ? glue.textOf(putText(0, content)) : glue.textFrom(content))),
  );
}
