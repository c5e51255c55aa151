/** The plain data of a {@link LineLog}. Lines are counted from 1. */

/** Who made a change or a decision: the model, the person, or another program that changed the file on the disk. */
export type Origin = "agent" | "user" | "external";

/** What has been decided about a change. `pending` and `accepted` ones show. */
export type Status = "pending" | "accepted" | "rejected" | "rolled_back";

/** Who writes, and what is to be known about it later. */
export interface WriteInfo {
  origin: Origin;
  /** The agent's run, or whatever groups the person's edits. */
  run?: string;
  /** The edit or tool call within the run. */
  edit?: string;
  /** When, in milliseconds since 1970. Default: now. */
  atMs?: number;
  /** What an agent's change begins as. What others wrote is always accepted. Default `pending`. */
  status?: "pending" | "accepted";
}

/** Who decides. */
export interface DecisionInfo {
  /** Default `user`. */
  by?: Origin;
  /** When, in milliseconds since 1970. Default: now. */
  atMs?: number;
}

/** Who decides, and what becomes of later changes that stand on those switched off. */
export interface RejectInfo extends DecisionInfo {
  /** `refuse`: throws. `only`: they stay. `with`: they are switched off too. Default `refuse`. */
  dependents?: "refuse" | "only" | "with";
}

/** A change. */
export interface LogChange {
  id: number;
  origin: Origin;
  meta: { run: string; edit: string; atMs: number };
  /** The revision it was made against. */
  baseRevision: number;
  op: ChangeOp;
  status: Status;
  insertedLines: number;
  deletedLines: number;
  /** The changes it directly stands on. */
  deps: number[];
  /** Whether the text on the disk shows it. */
  onDisk: boolean;
}

/** What a change did. */
export type ChangeOp = "edit" | "create" | "delete" | { rename: { to: string } };

/** One replacement in the visible text. Those of one call are in order, and all count in the text before it. */
export interface VisibleEdit {
  /** The first line replaced; where none is removed, the line to insert before. */
  line: number;
  /** How many lines go. */
  removed: number;
  /** The lines that come, with their endings. */
  inserted: string[];
}

/** What a decision did. */
export interface Applied {
  /** The log's revision now. */
  revision: number;
  /** The changes whose status is another now. */
  changed: number[];
  /** What this does to the visible text. */
  edits: VisibleEdit[];
}

/** Which hunks {@link LineLog.hunks} lists. */
export interface HunkQuery {
  /** Changes of these statuses. Default: pending ones. */
  statuses?: readonly Status[];
  /** Changes of this origin. Default `agent`. */
  origin?: Origin;
  /** Changes of this run only. */
  run?: string;
  /** Unchanged lines around a hunk. Default 3. */
  context?: number;
}

/** What is decided on as one. */
export interface LogHunk {
  /** Its name, which keeps its meaning while the review lasts. Decisions take it in the place of change ids. */
  id: string;
  changeIds: number[];
  status: Status;
  /** What happens to the file itself. */
  entry: ChangeOp | null;
  /** First line in the text without pending changes; with none, the line before. */
  oldStart: number;
  oldLines: number;
  /** First line in the visible text, by the same rule. */
  newStart: number;
  newLines: number;
  lines: LogLine[];
  /** What stands on it. */
  dependents: number[];
  /** It is on the disk although it is pending, because a line that is not the agent's stands on it. */
  keptByUser: boolean;
  /** It is on the disk although it is pending, because something there stands on it. */
  kept: boolean;
  /** It removes a line that the user wrote. */
  removesUserLines: boolean;
  /** The user changed something in its place. */
  contested: boolean;
  /** It is larger than a hunk should be and has no seam: see {@link LineLog.split}. */
  oversized: boolean;
}

/** One line of a hunk, with its own ending; a number is `null` where the line is not. */
export interface LogLine {
  kind: "context" | "added" | "removed";
  text: string;
  old: number | null;
  new: number | null;
}

/** An entry of the history. */
export interface LogEntry {
  /** From 1. */
  number: number;
  by: Origin;
  atMs: number;
  action:
    | "write"
    | "accept"
    | "reject"
    | "reopen"
    | { rollback: { checkpoint: number | null } }
    | { undo: { entry: number } }
    | { redo: { entry: number } };
  /** The statuses it set. */
  set: { change: number; from: Status; to: Status }[];
}

/** The `data` of an error that a decision throws. */
export type DecisionProblem =
  | { kind: "unknown_change" | "unknown_checkpoint"; id: number }
  | { kind: "has_dependents"; dependents: number[]; fromUser: number };
