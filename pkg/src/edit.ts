/**
 * `emend/edit`: patches, diffs and the line log, without an agent.
 *
 * Importing it does nothing; {@link load} loads the module, once. Everything after that is synchronous: a diff is wanted
 * inside a render or a transaction, where waiting would tear.
 */

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
import { invalid, optionalCount, requireText } from "./validate.js";
import { editModule, glue, putText } from "./wasm/edit.js";
import type { InitOptions } from "./wasm/types.js";

export type { ChangeRef, LineLog } from "./edit/line-log.js";
export type * from "./edit/log-types.js";
export { type PatchStream, patchProblem } from "./edit/patch.js";
export type { Text, TextEdit } from "./edit/text.js";
export type * from "./edit/types.js";
export {
  ClosedError,
  ConflictError,
  EmendError,
  type ErrorCode,
  type ErrorDetails,
  isEmendError,
  NotInitializedError,
  PanicError,
} from "./errors.js";
export type { InitOptions, WasmSource } from "./wasm/types.js";

/**
 * Everything `emend/edit` does. The functions need no `this`: take them apart as you like.
 *
 * Strings with lone surrogates are taken as if each were U+FFFD, as everywhere where text becomes bytes.
 */
export interface Edit {
  /** Returns the hash that names one state of a file: `sha256:` and 64 digits. A string is hashed as UTF-8. */
  hash(content: string | Uint8Array): string;

  /** Cuts what a tool printed to what a model may see. The limits are those of the tool unless given. */
  truncateOutput(tool: string, output: string, limits?: Omit<TruncateLimits, "keep">): Truncated;

  /** Cuts a text by characters, then by lines. */
  truncate(text: string, limits: TruncateLimits): Truncated;

  /** Returns the hunks between two texts, none if they are equal. Lines own their endings: LF, CRLF or CR. */
  diff(before: string, after: string, options?: DiffOptions): DiffHunk[];

  /** Returns the words in which two forms of a line differ. */
  diffWords(before: string, after: string): WordDiff;

  /** Returns a unified diff that git and patch can apply, empty if the texts are equal. */
  unifiedDiff(before: string, after: string, options?: UnifiedOptions): string;

  /** Merges what two sides made of `base`. With 0 conflicts `text` is the merge; else they stand in it between markers. */
  merge3(base: string, ours: string, theirs: string): { text: string; conflicts: number };

  /** Lays three texts side by side: stretches that cover all of each. */
  compare3(base: string, ours: string, theirs: string): Region[];

  /**
   * Reads a patch without carrying it out.
   *
   * @throws {EmendError} with code `invalid_argument` or `unsupported` if it is none.
   */
  parse(patch: PatchInput): ParsedPatch;

  /** Begins to read a v4a patch that is still arriving. */
  parseStream(): patches.PatchStream;

  /**
   * Says what a patch makes of some files: all of it, or it throws. `files` is asked for the paths the patch names.
   *
   * @throws {EmendError} `not_found`, `already_exists`, `ambiguous`, `conflict`, `stale` or `invalid_argument`, with
   * `suggestions`; `patchProblem(error)` has the place and what stands there.
   */
  plan(patch: PatchInput, files: FileSource): Planned;

  /** Returns `files` with a patch carried out; the record given stays as it is. Throws as {@link plan} does. */
  apply(patch: PatchInput, files: Readonly<Record<string, string>>): Record<string, string>;

  /**
   * Carries out a patch on one text, whatever path the patch names.
   *
   * @throws {EmendError} as {@link plan} does; `invalid_argument` too for a patch that creates, deletes or moves a file,
   * or names two.
   */
  editText(text: string, patch: PatchInput): TextEdit<string>;

  /**
   * Takes a text into the module, where patches are carried out on it without it crossing again: for a text that is
   * edited more than once. Close it when it is no longer needed.
   *
   * @throws {EmendError} with code `unsupported` for bytes that are binary or not UTF-8.
   */
  openText(content: string | Uint8Array): Text;

  /** Begins a log for a file with this text; `null` if the file does not exist yet. */
  openLog(base: string | null): LineLog;

  /**
   * Loads a log from what {@link LineLog.save} gave.
   *
   * @throws {EmendError} with code `invalid_argument` if it is damaged or was saved by a later version.
   */
  loadLog(saved: string): LineLog;
}

const edit: Edit = Object.freeze({
  hash(content) {
    if (typeof content === "string") return editModule.live().call(() => glue.hashText(putText(0, content)));
    if (!(content instanceof Uint8Array)) throw invalid("the content must be a string or a Uint8Array");
    return editModule.live().call(() => glue.hashBytes(content));
  },
  truncateOutput(tool, output, limits = {}) {
    const [name, text] = [requireText("the tool", tool), requireText("the output", output)];
    const [chars, lines] = [optionalCount("`chars`", limits.chars), optionalCount("`lines`", limits.lines)];
    return truncated(
      text,
      editModule.live().call(() => glue.truncateOf(name, text, chars, lines)),
    );
  },
  truncate(text, { keep = "head_tail", ...limits }) {
    const [whole, part] = [requireText("the text", text), requireText("`keep`", keep)];
    const [chars, lines] = [optionalCount("`chars`", limits.chars), optionalCount("`lines`", limits.lines)];
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
 * Loads the module, and returns everything it does.
 *
 * The first call that succeeds decides where the module comes from; later ones do nothing. After a failure it may be
 * called again.
 *
 * @throws {EmendError} with code `load_failed` if there is no module where it was looked for.
 */
export async function load(options: InitOptions = {}): Promise<Edit> {
  await editModule.load(options);
  return edit;
}
