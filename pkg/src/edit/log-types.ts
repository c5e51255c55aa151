/** Public types of the {@link LineLog}. Line numbers start at 1. */

/** The origin of a change or a decision: the agent, the user, or another program that changed the file on disk. */
export type Origin = "agent" | "user" | "external";

/** The status of a change. `pending` and `accepted` changes are part of the visible text. */
export type Status = "pending" | "accepted" | "rejected" | "rolled_back";

/** The origin and metadata of a change. */
export interface WriteInfo {
  origin: Origin;
  /** Id of the agent's run, or of a group of the user's edits. */
  run?: string | undefined;
  /** Id of the edit or tool call within the run. */
  edit?: string | undefined;
  /** Time, in milliseconds since 1970. Default: now. */
  atMs?: number | undefined;
  /** Initial status of an agent's change. Changes of other origins are always accepted. Default `pending`. */
  status?: "pending" | "accepted" | undefined;
}

/** The origin and time of a decision. */
export interface DecisionInfo {
  /** Default `user`. */
  by?: Origin | undefined;
  /** Time, in milliseconds since 1970. Default: now. */
  atMs?: number | undefined;
}

/** A decision that switches changes off, and its effect on dependent changes. */
export interface RejectInfo extends DecisionInfo {
  /**
   * `refuse`: throws if there are dependent changes. `only`: they stay. `with`: they are switched off too, also those of
   * the user. Default `refuse`.
   */
  dependents?: "refuse" | "only" | "with" | undefined;
}

/** One change in the log. */
export interface LogChange {
  id: number;
  origin: Origin;
  meta: { run: string; edit: string; atMs: number };
  /** Revision of the log on which the change is based. */
  baseRevision: number;
  op: ChangeOp;
  status: Status;
  insertedLines: number;
  deletedLines: number;
  /** Ids of the changes on which it directly depends. */
  deps: number[];
  /** Whether the text on disk contains it. */
  onDisk: boolean;
}

/** The operation of a change. */
export type ChangeOp = "edit" | "create" | "delete" | { rename: { to: string } };

/**
 * One replacement in the visible text. The edits of one call are in order, and their line numbers refer to the text
 * before the call.
 */
export interface VisibleEdit {
  /** First replaced line. If no line is removed, the line before which to insert. */
  line: number;
  /** Number of removed lines. */
  removed: number;
  /** Inserted lines, with their line endings. */
  inserted: string[];
}

/** Effect of a decision. */
export interface Applied {
  /** Revision of the log after the decision. */
  revision: number;
  /** Ids of the changes whose status changed. */
  changed: number[];
  /** Edits of the visible text. */
  edits: VisibleEdit[];
}

/** Query of {@link LineLog.hunks}. */
export interface HunkQuery {
  /** Statuses of the changes. Default: `pending` only. */
  statuses?: readonly Status[] | undefined;
  /** Origin of the changes. Default `agent`. */
  origin?: Origin | undefined;
  /** Run of the changes. Default: all runs. */
  run?: string | undefined;
  /** Number of unchanged lines around a hunk. Default 3. */
  context?: number | undefined;
}

/** A group of changes that is accepted or rejected as a whole. */
export interface LogHunk {
  /** Id, stable during the review. Decisions accept it instead of change ids. */
  id: string;
  changeIds: number[];
  status: Status;
  /** Operation on the file itself, if any. */
  entry: ChangeOp | null;
  /** First line in the text without pending changes. If there is none, the line before. */
  oldStart: number;
  oldLines: number;
  /** First line in the visible text. If there is none, the line before. */
  newStart: number;
  newLines: number;
  lines: LogLine[];
  /** Ids of the changes that depend on it. */
  dependents: number[];
  /** Whether it is on disk although it is pending, because a line that is not the agent's depends on it. */
  keptByUser: boolean;
  /** Whether it is on disk although it is pending, because a change on disk depends on it. */
  kept: boolean;
  /** Whether it removes a line that the user wrote. */
  removesUserLines: boolean;
  /** Whether the user changed the same place. */
  contested: boolean;
  /** Whether it is larger than a hunk should be and cannot be divided automatically; see {@link LineLog.split}. */
  oversized: boolean;
}

/** One line of a hunk, line ending included. A line number is `null` on the side that lacks the line. */
export interface LogLine {
  kind: "context" | "added" | "removed";
  text: string;
  old: number | null;
  new: number | null;
}

/** An entry of the log. */
export interface LogEntry {
  /** Number, from 1. */
  number: number;
  by: Origin;
  atMs: number;
  action:
    | "write"
    | "accept"
    | "reject"
    | "apply"
    | "reopen"
    | { split: { change: number } }
    | { rollback: { checkpoint: number | null } }
    | { undo: { entry: number } }
    | { redo: { entry: number } };
  /** Statuses that the entry changed. */
  set: { change: number; from: Status; to: Status }[];
}

/** The `data` of an error thrown by a decision. */
export type DecisionProblem =
  | { kind: "unknown_change" | "unknown_checkpoint"; id: number }
  | { kind: "has_dependents"; dependents: number[]; fromUser: number };
