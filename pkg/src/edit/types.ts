/** The plain data of `emend/edit`. Lines are counted from 1; places inside a text are indices of its UTF-16 code units. */

/** From where to where in a string: `text.slice(start, end)`. */
export type Span = [start: number, end: number];

/** What {@link Edit.diff} takes. */
export interface DiffOptions {
  /** Unchanged lines around each change. Default 3. */
  context?: number;
  /** Whether to say which words of a line differ. Default `false`. */
  words?: boolean;
}

/** One hunk of a diff. */
export interface DiffHunk {
  /** First old line; with no old line, the line before (0 at the top), as unified diffs count. */
  oldStart: number;
  oldLines: number;
  /** First new line, by the same rule. */
  newStart: number;
  newLines: number;
  /** The lines, removed before added. */
  lines: DiffLine[];
}

/** One line of a hunk. `text` has the line's own ending; `spans` say where it differs from the line it replaces. */
export type DiffLine =
  | { kind: "context"; text: string; oldNumber: number; newNumber: number; spans?: Span[] }
  | { kind: "removed"; text: string; oldNumber: number; newNumber?: never; spans?: Span[] }
  | { kind: "added"; text: string; oldNumber?: never; newNumber: number; spans?: Span[] };

/** Where two forms of a line differ, word by word. */
export interface WordDiff {
  /** What the new form lacks, in the old one. */
  old: Span[];
  /** What the old form lacks, in the new one. */
  new: Span[];
}

/** What {@link Edit.unifiedDiff} takes. */
export interface UnifiedOptions {
  /** Unchanged lines around each change. Default 3. */
  context?: number;
  /** The name after `---`; `null` for a file that is created. Default `a/file`. */
  oldName?: string | null;
  /** The name after `+++`; `null` for a file that is deleted. Default `b/file`. */
  newName?: string | null;
}

/** Some lines of a text. With none, `start` is the line before which they would be. */
export interface LineRange {
  start: number;
  lines: number;
}

/** A stretch of three texts. `same`: both sides changed it to the same text. */
export interface Region {
  kind: "unchanged" | "ours" | "theirs" | "same" | "conflict";
  base: LineRange;
  ours: LineRange;
  theirs: LineRange;
}

/** What a text is cut to. */
export interface TruncateLimits {
  /** Most characters (Unicode scalar values) kept, markers aside. */
  chars?: number;
  /** Most lines kept. */
  lines?: number;
  /** What stays of too many characters: the first and last half, or the end. Default `head_tail`. */
  keep?: "head_tail" | "tail";
}

/** A text as a model may see it. */
export interface Truncated {
  /** The text, with a marker wherever something is missing. */
  text: string;
  truncated: boolean;
}

/** A patch, in one of five formats. */
export type PatchInput =
  /** What `apply_patch` takes: hunks that find their own place. `overwrite`: creating and moving may replace files. */
  | { format: "v4a"; text: string; overwrite?: boolean }
  /**
   * A unified diff. `unified`: every hunk must stand exactly where it says. `located`: the numbers are hints, a hunk is
   * found by its lines. With `path` the diff is for that file, whatever its headers say.
   */
  | { format: "unified" | "located"; text: string; path?: string }
  /** Replaces one string, which must be there once unless `replaceAll`; an empty `oldText` creates the file. */
  | { format: "replace"; path: string; oldText: string; newText: string; replaceAll?: boolean }
  /** Replaces, inserts and deletes lines by number. */
  | { format: "lines"; path: string; edits: readonly LinesEdit[]; expectedHash?: string };

/** One edit by line numbers. All numbers are those of the text before any edit. */
export interface LinesEdit {
  operation: "replace" | "insert" | "delete";
  /** The first line; for an insertion the line to insert before, one past the last to append. */
  startLine: number;
  /** The last line, included. Default: `startLine`. */
  endLine?: number | null;
  /** The new lines. */
  newText?: string;
  /** The hash of the file, or of these lines, as they were read. */
  expectedHash?: string | null;
}

/** What a patch says about one file. */
export type ParsedEdit =
  | { operation: "create"; path: string; text: string; hunks?: never }
  | { operation: "create"; path: string; text?: never; hunks: ParsedHunk[]; executable?: boolean }
  | { operation: "delete"; path: string; hunks?: ParsedHunk[] }
  | { operation: "update"; path: string; moveTo?: string; hunks: ParsedHunk[]; executable?: boolean }
  | { operation: "replace"; path: string; oldText: string; newText: string; replaceAll: boolean }
  | { operation: "lines"; path: string; edits: LinesEdit[] };

/** A hunk as a patch writes it. */
export interface ParsedHunk {
  /** The old line that a unified diff states. */
  oldStart?: number;
  /** The lines that v4a names after `@@`, outermost first. */
  anchors?: string[];
  /** Whether v4a says that it ends where the file ends. */
  endOfFile?: boolean;
  /** The line of the patch it starts on. */
  patchLine: number;
  lines: { kind: "context" | "added" | "removed"; text: string }[];
}

/** Something that was accepted and should be done differently next time. */
export interface Diagnostic {
  /** Stable, e.g. `loose_match`. */
  code: string;
  message: string;
  /** The line of the patch; for notes about a file's text, of the file. */
  line: number | null;
}

/** A patch that was read. */
export interface ParsedPatch {
  edits: ParsedEdit[];
  /** Every file it touches. */
  paths: string[];
  diagnostics: Diagnostic[];
}

/** Where {@link Edit.plan} finds texts: by path, or asked for one by one. No text means no file. */
export type FileSource =
  | Readonly<Record<string, string>>
  | ReadonlyMap<string, string>
  | ((path: string) => string | null | undefined);

/** What a patch does to one file. */
export type FileChange = {
  path: string;
  /** Whether the file is to be one that can be run, if a git diff says so. */
  executable?: boolean;
  /** Where its hunks went, in the patch's order. */
  hunks: AppliedHunk[];
  diagnostics: Diagnostic[];
} & (
  | { operation: "create"; before: null; after: string; overwritten: string | null }
  | { operation: "update"; before: string; after: string; overwritten: null }
  | { operation: "delete"; before: string; after: null; overwritten: null }
  | { operation: "rename"; from: string; before: string; after: string; overwritten: string | null }
);

/** Where a hunk was put. */
export interface AppliedHunk {
  /** Its number in its file's edit, from 1. */
  number: number;
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  /** How its lines were found, the strictest way first. */
  matched: "exact" | "trailing_blanks" | "indentation" | "look_alikes";
}

/** What {@link Edit.plan} gives. */
export interface Planned {
  changes: FileChange[];
  /** What was odd about the patch itself. */
  diagnostics: Diagnostic[];
}

/** Why a patch was refused, with the places its author may have meant: `patchProblem(error)`. */
export type PatchProblem =
  | { kind: "empty" }
  | { kind: "not_found"; path: string; verb: string }
  | { kind: "already_exists"; path: string; moved: boolean }
  | { kind: "not_whole"; path: string; nLines: number }
  | { kind: "not_an_edit"; path: string }
  | { kind: "hunk"; path: string; error: { hunk: number; nHunks: number; patchLine: number; reason: HunkReason } }
  | { kind: "replace"; path: string; error: ReplaceReason }
  | { kind: "lines"; path: string; error: LinesReason };

/** Why a hunk was refused. Lines are the file's. */
export type HunkReason =
  | { kind: "anchor_not_found"; anchor: string; nearest: Nearest[] }
  | { kind: "not_found"; nearest: Nearest[] }
  | { kind: "already_applied" | "out_of_order" | "not_at_end" | "open_end" | "overlap"; line: number }
  | { kind: "elided"; placeholder: string }
  | { kind: "ambiguous"; lines: number[]; nPlaces: number }
  | { kind: "no_context" }
  | { kind: "not_in_place"; line: number; differsAt: number; asked: string; found: string | null }
  | { kind: "past_end"; line: number; nLines: number };

/** Why a replacement was refused. */
export type ReplaceReason =
  | { kind: "no_change" | "empty_old" }
  | { kind: "leaves_out"; placeholder: string; inNew: boolean }
  | { kind: "not_found"; nearest: Nearest[] }
  | { kind: "already_applied" | "over_escaped"; line: number }
  | { kind: "ambiguous"; lines: number[]; blocks: (string | null)[]; nPlaces: number; strategy: string };

/** Why line edits were refused. Edits are counted from 1; 0 stands for all of them. */
export type LinesReason =
  | { kind: "no_edits" }
  | { kind: "out_of_range"; edit: number; line: number; nLines: number; insert: boolean }
  | { kind: "backwards"; edit: number; start: number; end: number }
  | { kind: "overlap"; first: number; second: number; line: number }
  | { kind: "text_mismatch"; edit: number; deletes: boolean }
  | { kind: "stale"; edit: number; expected: string; actual: string };

/** A region of the file that resembles what was asked for. */
export interface Nearest {
  line: number;
  nLines: number;
  /** The first line that differs; `null` on a side that has a line less. */
  difference: { askedLine: number; asked: string | null; line: number; found: string | null } | null;
  /** What was asked for (`-`) against what is there (`+`). */
  diff: string;
}
