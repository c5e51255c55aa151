/** Public types of `emend/edit`. Line numbers start at 1. Positions in a text are indices of UTF-16 code units. */

/** A range of a string: `text.slice(start, end)`. */
export type Span = [start: number, end: number];

/** Options of {@link Edit.diff}. */
export interface DiffOptions {
  /** Number of unchanged lines around each change. Default 3. */
  context?: number | undefined;
  /** Whether to compute the words that differ within lines. Default `false`. */
  words?: boolean | undefined;
}

/** One hunk of a diff. */
export interface DiffHunk {
  /** First old line. If there is none, the line before it (0 at the top), as in unified diffs. */
  oldStart: number;
  oldLines: number;
  /** First new line. If there is none, the line before it. */
  newStart: number;
  newLines: number;
  /** The lines. Removed lines precede added lines. */
  lines: DiffLine[];
}

/** One line of a hunk. `text` includes the line ending. `spans` are the ranges that differ from the replaced line. */
export type DiffLine =
  | { kind: "context"; text: string; oldNumber: number; newNumber: number; spans?: Span[] }
  | { kind: "removed"; text: string; oldNumber: number; newNumber?: never; spans?: Span[] }
  | { kind: "added"; text: string; oldNumber?: never; newNumber: number; spans?: Span[] };

/** The words in which two versions of a line differ. */
export interface WordDiff {
  /** Ranges of the old version that the new version lacks. */
  old: Span[];
  /** Ranges of the new version that the old version lacks. */
  new: Span[];
}

/** Options of {@link Edit.unifiedDiff}. */
export interface UnifiedOptions {
  /** Number of unchanged lines around each change. Default 3. */
  context?: number | undefined;
  /** File name after `---`, or `null` if the file is created. Default `a/file`. */
  oldName?: string | null | undefined;
  /** File name after `+++`, or `null` if the file is deleted. Default `b/file`. */
  newName?: string | null | undefined;
}

/** A range of lines. If it is empty, `start` is the line that follows it. */
export interface LineRange {
  start: number;
  lines: number;
}

/** A region of three texts. `same`: both sides changed it to the same text. */
export interface Region {
  kind: "unchanged" | "ours" | "theirs" | "same" | "conflict";
  base: LineRange;
  ours: LineRange;
  theirs: LineRange;
}

/** Limits of a truncation. */
export interface TruncateLimits {
  /** Maximum number of characters (Unicode scalar values), without markers. */
  chars?: number | undefined;
  /** Maximum number of lines. */
  lines?: number | undefined;
  /** Which characters to keep: those at the start and the end, or only those at the end. Default `head_tail`. */
  keep?: "head_tail" | "tail" | undefined;
}

/** A truncated text. */
export interface Truncated {
  /** The text, with a marker at each omission. */
  text: string;
  truncated: boolean;
}

/** A patch, in one of five formats. */
export type PatchInput =
  /** The format of `apply_patch`: hunks are located by their lines. `overwrite`: create and move may replace files. */
  | { format: "v4a"; text: string; overwrite?: boolean | undefined }
  /**
   * A unified diff. `unified`: every hunk must match exactly at its line number. `located`: line numbers are hints, and
   * hunks are located by their lines. `path` replaces the file name in the headers.
   */
  | { format: "unified" | "located"; text: string; path?: string | undefined }
  /**
   * Replaces a string, which must occur exactly once unless `replaceAll` is set. An empty `oldText` creates the file.
   */
  | { format: "replace"; path: string; oldText: string; newText: string; replaceAll?: boolean | undefined }
  /** Replaces, inserts and deletes lines by line number. */
  | { format: "lines"; path: string; edits: readonly LinesEdit[]; expectedHash?: string | undefined };

/** One edit by line number. All line numbers refer to the text before all edits. */
export interface LinesEdit {
  operation: "replace" | "insert" | "delete";
  /** First line. For an insertion, the line to insert before; the last line plus one appends. */
  startLine: number;
  /** Last line, inclusive. Default: `startLine`. */
  endLine?: number | null | undefined;
  /** Text of the new lines. */
  newText?: string | undefined;
  /** Hash of the file, or of these lines, at the time they were read. */
  expectedHash?: string | null | undefined;
}

/** The edit of one file in a patch. */
export type ParsedEdit =
  | { operation: "create"; path: string; text: string; hunks?: never }
  | { operation: "create"; path: string; text?: never; hunks: ParsedHunk[]; executable?: boolean }
  | { operation: "delete"; path: string; hunks?: ParsedHunk[] }
  | { operation: "update"; path: string; moveTo?: string; hunks: ParsedHunk[]; executable?: boolean }
  | { operation: "replace"; path: string; oldText: string; newText: string; replaceAll: boolean }
  | { operation: "lines"; path: string; edits: LinesEdit[] };

/** A hunk as written in the patch. */
export interface ParsedHunk {
  /** Old line number in a unified diff. */
  oldStart?: number;
  /** Anchor lines after `@@` in v4a, outermost first. */
  anchors?: string[];
  /** Whether the hunk ends at the end of the file (v4a). */
  endOfFile?: boolean;
  /** First line of the hunk in the patch. */
  patchLine: number;
  lines: { kind: "context" | "added" | "removed"; text: string }[];
}

/** A deviation that was accepted but should be avoided. */
export interface Diagnostic {
  /** Stable code, e.g. `loose_match`. */
  code: string;
  message: string;
  /** Line of the patch, or of the file if the diagnostic concerns its text. */
  line: number | null;
}

/** A parsed patch. */
export interface ParsedPatch {
  edits: ParsedEdit[];
  /** Paths of all files that the patch touches. */
  paths: string[];
  diagnostics: Diagnostic[];
}

/** Source of the texts for {@link Edit.plan}. A missing text means that there is no such file. */
export type FileSource =
  | Readonly<Record<string, string>>
  | ReadonlyMap<string, string>
  | ((path: string) => string | null | undefined);

/** The effect of a patch on one file. */
export type FileChange = {
  path: string;
  /** Whether the file becomes executable, if a git diff specifies it. */
  executable?: boolean;
  /** Where its hunks were applied, in the order of the patch. */
  hunks: AppliedHunk[];
  diagnostics: Diagnostic[];
} & (
  | { operation: "create"; before: null; after: string; overwritten: string | null }
  | { operation: "update"; before: string; after: string; overwritten: null }
  | { operation: "delete"; before: string; after: null; overwritten: null }
  | { operation: "rename"; from: string; before: string; after: string; overwritten: string | null }
);

/** The place at which a hunk was applied. */
export interface AppliedHunk {
  /** Number of the hunk in the edit of its file, from 1. */
  number: number;
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  /** How loosely its lines matched, from strict to loose. */
  matched: "exact" | "trailing_blanks" | "indentation" | "look_alikes";
}

/** Result of {@link Edit.plan}. */
export interface Planned {
  changes: FileChange[];
  /** Deviations in the patch itself that were accepted. */
  diagnostics: Diagnostic[];
}

/** Why a patch could not be applied, with similar places: the result of `patchProblem(error)`. */
export type PatchProblem =
  | { kind: "empty" }
  | { kind: "not_found"; path: string; verb: string }
  | { kind: "already_exists"; path: string; moved: boolean }
  | { kind: "not_whole"; path: string; nLines: number }
  | { kind: "not_an_edit"; path: string }
  | { kind: "hunk"; path: string; error: { hunk: number; nHunks: number; patchLine: number; reason: HunkReason } }
  | { kind: "replace"; path: string; error: ReplaceReason }
  | { kind: "lines"; path: string; error: LinesReason };

/** Why a hunk could not be applied. Line numbers refer to the file. */
export type HunkReason =
  | { kind: "anchor_not_found"; anchor: string; nearest: Nearest[] }
  | { kind: "not_found"; nearest: Nearest[] }
  | { kind: "already_applied" | "out_of_order" | "not_at_end" | "open_end" | "overlap"; line: number }
  | { kind: "elided"; placeholder: string }
  | { kind: "ambiguous"; lines: number[]; nPlaces: number }
  | { kind: "no_context" }
  | { kind: "not_in_place"; line: number; differsAt: number; asked: string; found: string | null }
  | { kind: "past_end"; line: number; nLines: number };

/** Why a replacement could not be applied. */
export type ReplaceReason =
  | { kind: "no_change" | "empty_old" }
  | { kind: "leaves_out"; placeholder: string; inNew: boolean }
  | { kind: "not_found"; nearest: Nearest[] }
  | { kind: "already_applied" | "over_escaped"; line: number }
  | { kind: "ambiguous"; lines: number[]; blocks: (string | null)[]; nPlaces: number; strategy: string };

/** Why line edits could not be applied. Edits are numbered from 1; 0 means all of them. */
export type LinesReason =
  | { kind: "no_edits" }
  | { kind: "out_of_range"; edit: number; line: number; nLines: number; insert: boolean }
  | { kind: "backwards"; edit: number; start: number; end: number }
  | { kind: "overlap"; first: number; second: number; line: number }
  | { kind: "text_mismatch"; edit: number; deletes: boolean }
  | { kind: "stale"; edit: number; expected: string; actual: string };

/** A region of the file that is similar to the requested text. */
export interface Nearest {
  line: number;
  nLines: number;
  /** The first line that differs. A text is `null` on the side that has fewer lines. */
  difference: { askedLine: number; asked: string | null; line: number; found: string | null } | null;
  /** Diff of the requested text (`-`) and the text of the file (`+`). */
  diff: string;
}
