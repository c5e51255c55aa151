/// <reference lib="esnext.disposable" preserve="true" />

/** Patches on single texts, and texts that stay in the module, so that only the patches cross. */

import type { TextHandle } from "./edit-core.js";
import { glue, put, editModule } from "./edit-module.js";
import type { AppliedHunk, Diagnostic, PatchInput } from "./edit-types.js";
import { ClosedError } from "./errors.js";
import type { Core } from "./instance.js";
import { appliedHunks, withPatch, written } from "./patch.js";
import { camel, invalid, requireCount, requireText } from "./plain.js";

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
  const core = editModule.live();
  const units = before.length;
  const [after, hunks, diagnostics, cuts, fresh] = (
    asText === undefined
      ? withPatch(patch, (_, handle) => core.call(() => glue.editText(put(0, before), units, handle)))
      : core.call(() => glue.editTextWritten(put(0, before), units, asText.format, put(1, asText.text), asText.path))
  ) as [string, Uint32Array, string | undefined] | [undefined, Uint32Array, string | undefined, Uint32Array, string];
  return { text: after ?? joined(before, cuts!, fresh!), ...report(hunks, diagnostics) };
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

function report(numbers: Uint32Array, diagnostics: string | undefined): Omit<TextEdit<never>, "text"> {
  return {
    hunks: appliedHunks(numbers),
    diagnostics: diagnostics === undefined ? [] : camel<Diagnostic[]>(JSON.parse(diagnostics)),
  };
}

/**
 * A text in the module's memory. It never changes: {@link apply} makes another one.
 *
 * It holds as many bytes as it has in UTF-8 until it is closed, or collected.
 */
export class Text {
  readonly #core: Core;
  readonly #handle: TextHandle;
  #closed = false;

  /** @internal */
  constructor(core: Core, handle: TextHandle) {
    this.#core = core;
    this.#handle = handle;
  }

  /** How many bytes it has in UTF-8. */
  get byteLength(): number {
    return this.#call((handle) => handle.byteLength);
  }

  /** How many lines it has. Lines end in LF, CRLF or CR. */
  get lineCount(): number {
    return this.#call((handle) => handle.lineCount);
  }

  /** The hash that names this state of a file, as {@link Edit.hash} gives it. */
  get hash(): string {
    return this.#call((handle) => handle.hash());
  }

  /**
   * Carries out a patch on this text, whatever path the patch names.
   *
   * @throws {EmendError} as {@link Edit.editText} does.
   */
  apply(patch: PatchInput): TextEdit<Text> {
    const asText = written(patch);
    const handle =
      asText === undefined
        ? withPatch(patch, (_, opened) => this.#call((text) => text.apply(opened)))
        : this.#call((text) => text.applyWritten(asText.format, put(0, asText.text), asText.path));
    const [hunks, diagnostics] = this.#core.call(() => [handle.hunks(), handle.diagnostics()] as const);
    return { text: new Text(this.#core, handle), ...report(hunks, diagnostics) };
  }

  /** Returns the lines from `first` to `last`, both included and counted from 1, each with its ending. */
  lines(first: number, last: number): string {
    const [from, end] = [requireCount("`first`", first), requireCount("`last`", last)];
    if (from === 0) throw invalid("lines are counted from 1");
    return this.#call((handle) => handle.lines(from - 1, end)) as string;
  }

  /** Returns all of it as a string. */
  toString(): string {
    return this.#call((handle) => handle.text()) as string;
  }

  /** Returns its bytes, UTF-8. */
  toBytes(): Uint8Array {
    return this.#call((handle) => handle.bytes());
  }

  /** Frees its memory. Nothing else can be asked of it then. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (!this.#core.isDead) this.#handle.free();
  }

  #call<T>(work: (handle: TextHandle) => T): T {
    if (this.#closed) throw new ClosedError("closed", "the text is closed");
    return this.#core.call(() => work(this.#handle));
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
  const core = editModule.live();
  const open = (): TextHandle =>
    typeof content === "string" ? glue.TextHandle.of(put(0, content)) : glue.TextHandle.fromBytes(content);
  return new Text(core, core.call(open));
}
