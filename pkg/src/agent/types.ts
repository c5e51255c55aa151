/** Public types of run results, reviews and files. */

import type { EmendError } from "../errors.js";
import type { Usage } from "../sessions/types.js";
import type { EndReason } from "./events.js";

export type * from "./events.js";

/** Result of {@link Agent.compact}: the size of the history, in tokens. */
export interface Compaction {
  tokensBefore: number;
  tokensAfter: number;
}

/** Result of a run. */
export interface RunResult {
  /** The model's last text, after its last tool call. */
  text: string;
  reason: EndReason;
  /** Tokens of all model calls of the run. */
  usage: Usage;
  /** The failure, if `reason` is `error`. */
  error?: EmendError;
}

/** All pending changes. */
export interface Review {
  /** The workspace revision that this review describes. */
  revision: number;
  /** Files with pending hunks, sorted by path. */
  files: ReviewFile[];
}

/** The pending hunks of one file. */
export interface ReviewFile {
  path: string;
  operation: "create" | "update" | "delete";
  /** Hunks in file order. */
  hunks: Hunk[];
  /** Number of lines that the hunks add. */
  added: number;
  /** Number of lines that the hunks remove. */
  removed: number;
}

/** The decision about a hunk. */
export type HunkStatus = "pending" | "accepted" | "rejected" | "rolled_back";

/** A group of changed lines that is accepted or rejected as a whole. */
export interface Hunk {
  /** Identifier for {@link Agent.accept} and {@link Agent.reject}. */
  id: string;
  status: HunkStatus;
  /** First line in the text without the hunk, from 1. */
  oldStart: number;
  oldLines: number;
  /** First line in the visible text, from 1. */
  newStart: number;
  newLines: number;
  /** The changed lines, with context around them. */
  lines: HunkLine[];
  /** Whether the hunk is saved although it is pending, because the user edited inside it. */
  keptByUser: boolean;
  /** Number of later changes, the user's included, that depend on the hunk; see {@link RejectOptions.dependents}. */
  dependents: number;
  /** Whether the user or another program has changed the same lines since. Then {@link Agent.accept} needs `over`. */
  contested: boolean;
  /** The lines that are now in its place, if it is contested. Left out if there are none. */
  yours?: string[];
  /** Whether it deletes a line that the user wrote. */
  removesUserLines: boolean;
  /** Whether it is larger than a hunk should be and cannot be cut automatically. */
  oversized: boolean;
}

/** One line of a hunk. */
export interface HunkLine {
  kind: "context" | "added" | "removed";
  /** The line, line ending included. */
  text: string;
  /** Line number in the text without the hunk, from 1. */
  oldNumber?: number;
  /** Line number in the visible text, from 1. */
  newNumber?: number;
  /** Ranges that differ from the line it replaces, as string indices. */
  spans?: [start: number, end: number][];
}

/** One file of the project. */
export interface FileInfo {
  path: string;
  /** Size of the visible content, in bytes. */
  size: number;
  /** How the visible content differs from the saved content. */
  status: "clean" | "created" | "modified" | "deleted";
  pendingHunks: number;
}

/** The matches in one file. */
export interface FileMatches {
  path: string;
  /** Matching lines and their context, in file order. */
  lines: LineMatch[];
}

/** One line of a search result. */
export interface LineMatch {
  /** Line number, from 1. */
  line: number;
  /**
   * The line without its line ending. Of a line over 1,000 bytes, the part around the match, with `…` where text is
   * omitted.
   */
  text: string;
  /** Whether the line matches. `false` for a context line. */
  isMatch: boolean;
}

/** The visible content of a file, pending edits included. */
export interface FileState {
  path: string;
  text: string;
  /** The workspace revision of the file's last change, 0 if it was never edited. */
  revision: number;
}

/** State of the canvas, for the editor. */
export interface CanvasState {
  /** Path of the open file, or `null`. */
  path: string | null;
  /** Whether the agent holds the lease. */
  held: boolean;
  /** Number that grows whenever the user takes the canvas back. */
  epoch: number;
  /** Time at which the agent's lease ends unless it is renewed, in milliseconds since 1970. */
  expiresAt?: number;
}

/** Options of {@link Files.grep}. */
export interface GrepOptions {
  /** Directory or file to search. Default: all files. */
  path?: string | undefined;
  /** Glob that selects files by their path relative to `path`, or by their name. */
  glob?: string | undefined;
  /** Default false. */
  ignoreCase?: boolean | undefined;
  /** Number of context lines before and after each match. Default 0. */
  contextLines?: number | undefined;
  /** Maximum number of matching lines. Default: all. */
  maxResults?: number | undefined;
}

/** Options of {@link Files.glob}. */
export interface GlobOptions {
  /** Directory that the glob is relative to. Default: the root. */
  path?: string | undefined;
}

/** Options of {@link Files.export}. */
export interface ExportOptions {
  /** Whether to include pending edits. Default false. */
  pending?: boolean | undefined;
}

/** Options of {@link Files.write}. */
export interface WriteOptions {
  /**
   * The text on which the user's text is based. The agent's changes since then are merged with the user's; where both
   * changed the same lines, the user's win. Without `base` the user's text replaces the file.
   */
  base?: string | undefined;
}
