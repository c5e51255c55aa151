/**
 * `emend/edit`: patches, diffs and the line log, without an agent.
 *
 * Importing it loads nothing; {@link load} loads the wasm module once. All other functions are synchronous, because a
 * render or a transaction cannot wait for a diff.
 */

import { bytesOf } from "./bytes.js";
import * as diffs from "./edit/diff.js";
import { type LineLog, loadLog, openLog } from "./edit/line-log.js";
import * as patches from "./edit/patch.js";
import { editText, openText, type Text, type TextEdit } from "./edit/text.js";
import type {
  DiffHunk,
  DiffOptions,
  FileSource,
  ParsedPatch,
  PatchInput,
  Planned,
  Region,
  Truncated,
  TruncateLimits,
  UnifiedOptions,
  WordDiff,
} from "./edit/types.js";
import { invalid, optionalCount, optionsOf, requireText } from "./validate.js";
import { editModule, glue, putText } from "./wasm/edit.js";
import type { InitOptions } from "./wasm/types.js";

export type { ChangeRef, LineLog } from "./edit/line-log.js";
export type * from "./edit/log-types.js";
export { type PatchStream, patchProblem } from "./edit/patch.js";
export type { Text, TextEdit } from "./edit/text.js";
export type * from "./edit/types.js";
export * from "./errors.js";
export type { InitOptions, WasmSource } from "./wasm/types.js";

/**
 * The functions of `emend/edit`. They do not use `this`, so they can be destructured.
 *
 * Lone surrogates in strings are read as U+FFFD, as in every conversion of text to bytes.
 */
export interface Edit {
  /** Returns the hash of a file's content: `sha256:` and 64 hexadecimal digits. A string is hashed as UTF-8. */
  hash(content: string | Uint8Array): string;

  /**
   * Truncates a tool's output for the model. The default limits are those of the tool by its canonical name; a tool of
   * your own has 30,000 characters.
   */
  truncateOutput(tool: string, output: string, limits?: Omit<TruncateLimits, "keep">): Truncated;

  /** Truncates a text to a number of characters, then to a number of lines. */
  truncate(text: string, limits: TruncateLimits): Truncated;

  /** Returns the hunks between two texts, none if they are equal. A line includes its line ending: LF, CRLF or CR. */
  diff(before: string, after: string, options?: DiffOptions): DiffHunk[];

  /** Returns the words in which two versions of a line differ. */
  diffWords(before: string, after: string): WordDiff;

  /** Returns a unified diff that git and patch can apply, empty if the texts are equal. */
  unifiedDiff(before: string, after: string, options?: UnifiedOptions): string;

  /** Merges two versions of `base`. If there are conflicts, `text` contains them between conflict markers. */
  merge3(base: string, ours: string, theirs: string): { text: string; conflicts: number };

  /** Aligns three texts: returns regions that cover each text completely. */
  compare3(base: string, ours: string, theirs: string): Region[];

  /**
   * Parses a patch without applying it.
   *
   * @throws {EmendError} with code `invalid_argument` if it is not a patch, `unsupported` if its operations are not
   *   supported.
   */
  parse(patch: PatchInput): ParsedPatch;

  /** Returns a parser for a v4a patch that arrives in pieces. */
  parseStream(): patches.PatchStream;

  /**
   * Computes the changes that a patch makes to some files. Only the paths that the patch names are looked up in
   * `files`.
   *
   * @throws {EmendError} if any part of the patch fails, with code `not_found`, `already_exists`, `ambiguous`,
   *   `conflict`, `stale` or `invalid_argument`, and with `suggestions`. {@link patchProblem} returns the place and its
   *   content.
   */
  plan(patch: PatchInput, files: FileSource): Planned;

  /** Returns a copy of `files` with a patch applied. Throws as {@link plan} does. */
  apply(patch: PatchInput, files: Readonly<Record<string, string>>): Record<string, string>;

  /**
   * Applies a patch to one text. The path in the patch is ignored.
   *
   * @throws {EmendError} as {@link plan} does, and with code `invalid_argument` for a patch that creates, deletes or
   *   moves a file, or that names two files.
   */
  editText(text: string, patch: PatchInput): TextEdit<string>;

  /**
   * Copies a text into the module, where patches are applied to it without copying it again. Use it for a text that is
   * edited more than once, and close it when it is no longer needed.
   *
   * @throws {EmendError} with code `unsupported` for bytes that are binary or not UTF-8.
   */
  openText(content: string | Uint8Array): Text;

  /** Creates a line log for a file with this text, or with `null` for a file that does not exist yet. */
  openLog(base: string | null): LineLog;

  /**
   * Creates a line log from the result of {@link LineLog.save}.
   *
   * @throws {EmendError} with code `invalid_argument` if the data is damaged or was saved by a later version.
   */
  loadLog(saved: string): LineLog;
}

const edit: Edit = Object.freeze({
  hash(content) {
    if (typeof content === "string") return editModule.live().call(() => glue.hashText(putText(0, content)));
    const bytes = bytesOf(content);
    if (bytes === undefined) throw invalid("the content must be a string or a Uint8Array");
    return editModule.live().call(() => glue.hashBytes(bytes));
  },
  truncateOutput(tool, output, limits = {}) {
    const [name, text] = [requireText("the tool", tool), requireText("the output", output)];
    const given = optionsOf(limits, ["chars", "lines"]);
    const [chars, lines] = [optionalCount("`chars`", given.chars), optionalCount("`lines`", given.lines)];
    return truncated(
      text,
      editModule.live().call(() => glue.truncateOf(name, text, chars, lines)),
    );
  },
  truncate(text, limits) {
    const { keep = "head_tail", ...given } = optionsOf(limits, ["chars", "lines", "keep"]);
    const [whole, part] = [requireText("the text", text), requireText("`keep`", keep)];
    const [chars, lines] = [optionalCount("`chars`", given.chars), optionalCount("`lines`", given.lines)];
    return truncated(
      whole,
      editModule.live().call(() => glue.truncateTo(whole, part, chars, lines)),
    );
  },
  diff: diffs.diff,
  diffWords: diffs.diffWords,
  unifiedDiff: diffs.unifiedDiff,
  merge3: diffs.merge3,
  compare3: diffs.compare3,
  parse: patches.parse,
  parseStream: () => new patches.PatchStream(),
  plan: patches.plan,
  apply: patches.apply,
  editText,
  openText,
  openLog,
  loadLog,
} satisfies Edit);

function truncated(whole: string, cut: string | undefined): Truncated {
  return cut === undefined ? { text: whole, truncated: false } : { text: cut, truncated: true };
}

/**
 * Loads the wasm module, and returns its functions.
 *
 * The first successful call decides which source is used; later calls do nothing. After a failure it can be called
 * again.
 *
 * @throws {EmendError} with code `load_failed` if the source does not hold the module.
 */
export async function load(options: InitOptions = {}): Promise<Edit> {
  await editModule.load(optionsOf(options, ["wasm"]));
  return edit;
}
