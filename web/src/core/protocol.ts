/** Messages between the page and the worker that runs the engine. All of them can be cloned. */
import type { AgentEvent, CanvasState, FileInfo, FileMatches, Review, ReviewFile } from "emend";
import type { Draft } from "../drafts.js";
import type { Options, SecondModel, Settings } from "../settings.js";
import type { Written } from "../written.js";
import type { Spent } from "./answering.js";
import type { Decision } from "./journal.js";
import type { Link } from "./remote-link.js";

export type { Spent } from "./answering.js";
export type { Decision } from "./journal.js";
export type { Link } from "./remote-link.js";

/** An error as the page shows it: a stable code, a message, and remedies. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly suggestions: readonly string[];
  /** Facts about the failure, such as the HTTP status of a provider's reply. */
  readonly data?: unknown;
}

/** One undoable step of the user, named by the Undo button. */
export interface Step {
  readonly kind:
    | "typing"
    | "new file"
    | "accept"
    | "reject"
    | "split"
    | "delete"
    | "rename"
    | "go back"
    | "put back"
    | "disk";
  /** The file, or "" for several. */
  readonly path: string;
  /** Number of steps of the engine, 1 if it is left out. */
  readonly count?: number;
  /** Whether it belongs to the step before it, so that both are undone together. */
  readonly joins?: true;
  /** The runs that a step back took back: the first one, and the number of runs at that time. */
  readonly runs?: readonly [first: number, end: number];
}

/** A picture that goes with a message. The engine keeps its bytes under its id. */
export interface Picture {
  readonly kind: "picture";
  readonly id: string;
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: number;
  readonly width: number;
  readonly height: number;
  /** A small copy as a `data:` URL. */
  readonly thumb: string;
  /** Whether it was scaled down, because models take no picture of its size. */
  readonly scaled?: true;
}

/** A task of the user and what it changed: a point to which the project can go back. */
export interface RunInfo {
  /** Number of the run in the project, from 0. */
  readonly number: number;
  readonly conversation: number;
  /** Number of the task in its conversation, from 0. */
  readonly task: number;
  readonly text: string;
  readonly pictures?: readonly Picture[];
  /** Time of its start, in milliseconds since 1970; of the repetition, after a reload of an older record. */
  readonly began: number;
  readonly files: readonly string[];
  /** Whether the project went back to before it. */
  readonly undone: boolean;
}

/** An edit of the user: the text on which it is based, and its result. */
export type OwnEdit = readonly [base: string | null, text: string | null];

/** A file before a run, at its end and now. A missing file is null. */
export interface PastFile {
  readonly path: string;
  /** The text at the start of the run. */
  readonly before: string | null;
  /** The text at the end of the run. */
  readonly after: string | null;
  readonly now: string | null;
  readonly saved: string | null;
  /** The user's edits since the start of the run. A server does not tell them. */
  readonly own: readonly OwnEdit[];
  /** Whether the run or a later one changed it. Otherwise only the user did. */
  readonly byTask: boolean;
}

/** An earlier text of a file: before a task that changed it, or at a save. */
export interface Version {
  readonly kind: "task" | "saved";
  readonly time: number;
  /** The text of the task. */
  readonly title: string;
  readonly text: string | null;
  /** The number of the run, of a task. */
  readonly run?: number;
}

/** A text that a file gets; null if it is removed. */
export interface PutBack {
  readonly path: string;
  readonly text: string | null;
}

/** How the project goes back: without the user's edits since then, and with other texts of some files. */
export interface GoingBack {
  readonly hard?: boolean;
  readonly texts?: readonly PutBack[];
}

/** A rollback of a server: everything as before a run, or only what the assistant changed, in some files or hunks. */
export interface Rollback {
  readonly hard: boolean;
  readonly paths?: readonly string[];
  readonly preview: boolean;
}

/** The effect of a rollback: the files that change, those with a part that stays, and those that lose edits of the user. */
export interface RolledBack {
  readonly changed: readonly string[];
  readonly conflicts: readonly string[];
  readonly lost: readonly { readonly path: string; readonly edits: number }[];
}

/** The parts that go back to before a run. */
export interface Extent {
  readonly files: boolean;
  readonly conversation: boolean;
}

/** The effect of going back on a server: the files that change, those that keep a part, and those it cannot restore. */
export interface Rewound {
  readonly restored: readonly string[];
  readonly kept: readonly string[];
  readonly lost: readonly string[];
}

/** The steps that can be undone and redone, oldest first. */
export interface Steps {
  readonly done: readonly Step[];
  readonly undone: readonly Step[];
}

/**
 * The state to read, cheapest first: hunks and the open text; also the unsaved paths, which only the user's edits and
 * decisions change; also the list of files.
 */
export type Scope = "hunks" | "texts" | "files";

/** The text of a file, or the reason why it has none to show. */
export type Reading = { readonly text: string } | { readonly problem: string; readonly code: string };

/** The result of an edit of the user. */
export interface WriteResult {
  /** The text now: the user's, merged with changes since the text that the user edited. */
  readonly text: string;
  readonly changed: boolean;
  /** Lines that others wrote since that text, and that the edit replaced, each with the number of the line in their place. */
  readonly replaced: readonly { readonly line: number; readonly text: string }[];
}

/** The engine's state at one moment, without the reviews of files that have not changed since the last snapshot. */
export interface Snapshot {
  readonly revision: Review["revision"];
  /** Paths of all files with pending hunks. */
  readonly paths: readonly string[];
  readonly changed: readonly ReviewFile[];
  readonly list: readonly FileInfo[] | null;
  /** Whether a server has files that the list lacks. */
  readonly hasMore?: boolean;
  readonly unsaved: readonly string[] | null;
  /** The requested file. */
  readonly reading: Reading | null;
  readonly lease: CanvasState;
  readonly steps: Steps;
}

/** The project as the journal keeps it. */
export interface ProjectInfo {
  readonly id: string;
  readonly name: string;
  readonly skipped: readonly string[];
  readonly sample: boolean;
  /** Time at which it was opened, in milliseconds since 1970. */
  readonly opened: number;
}

/** The files of a project by path: texts, and bytes of all others. */
export type Contents = Record<string, string | Uint8Array>;

/** The choice of a model without its keys. Older records have no second model. */
export type ModelChoice = Omit<Settings, "apiKey" | "remember" | "second"> & {
  readonly second?: Omit<SecondModel, "apiKey"> | null;
};

/** An event. That of a user's message has its pictures. */
export type ShownEvent = AgentEvent & { readonly pictures?: readonly Picture[] };

/** Events of a run. The worker continues after the page has confirmed them by `number`. */
export interface EventBatch {
  readonly number: number;
  readonly events: readonly ShownEvent[];
  readonly lease: CanvasState;
  /** The state of the connection to a server. */
  readonly link?: Link;
  /** The conversation to which the events belong, counted from 0. */
  readonly conversation: number;
  /** Whether the offline model is in use, which counts characters as tokens. */
  readonly offline: boolean;
  /** The model in use, for its price. */
  readonly model: string;
  /** The models that responded since the run began, with their tokens, if there can be several. */
  readonly spent?: readonly Spent[];
  /** Whether the events are repeated from the journal. */
  readonly replayed: boolean;
  /** The events are the whole conversation, and not its continuation. */
  readonly anew?: boolean;
  /** Whether the title, the mode, a budget or the queue of a server's session has changed. */
  readonly sessionChanged?: boolean;
  /** The conversation begins with the first `tasks` tasks of another one. */
  readonly branched?: { readonly from: number; readonly tasks: number };
}

/** The assistant's text in hunks that the user has edited, by id. */
export type WrittenById = readonly (readonly [id: string, written: Written])[];

/** A project as it was left. */
export interface Restored {
  readonly info: ProjectInfo;
  /** Whether the state is as it was recorded. */
  readonly exact: boolean;
  /** The conversation that was open, and the number of conversations. */
  readonly conversation: number;
  readonly conversations: number;
  /** The titles that the user gave to conversations, by their index. */
  readonly titles: readonly (readonly [index: number, title: string])[];
  readonly written: WrittenById;
}

/** Tokens, cost and time: used ones, or limits, where 0 means unlimited. */
export interface Amounts {
  readonly tokens: number;
  readonly costUsd: number;
  readonly durationMs: number;
}

/** How edits reach the disk of a server: each is asked about, they wait for the review, or they are saved at once. */
export type WorkMode = "ask" | "review" | "direct";

/** A session of a server, which the page calls a conversation. */
export interface SessionInfo {
  readonly id: string;
  /** "" before the first task of a session without a title of the user. */
  readonly title: string;
  readonly archived: boolean;
  /** Time of the last change, in milliseconds since 1970. */
  readonly changed: number;
  /** Number of tasks so far. */
  readonly tasks: number;
  readonly model: string;
  /** Messages that wait for the end of the present task. */
  readonly queued: readonly { readonly id: string; readonly text: string }[];
  readonly mode: WorkMode;
  /** Whether the assistant has the canvas tools. */
  readonly canvas: boolean;
  /** Limits on all tasks together, and on each task. */
  readonly limits: Amounts;
  readonly taskLimits: Amounts;
  readonly spent: Amounts;
  /** Use by the last task. Only that of the joined session is known. */
  readonly spentByTask: Amounts;
}

/** A part of the list of sessions, newest change first. */
export interface SessionPage {
  readonly sessions: readonly SessionInfo[];
  /** Name of the next part, or null. */
  readonly next: string | null;
  readonly total: number;
}

/** The changes of a session. Absent parts stay. */
export interface SessionChange {
  readonly title?: string;
  readonly archived?: boolean;
  readonly mode?: WorkMode;
  readonly canvas?: boolean;
  /** The model from the next task on. */
  readonly model?: string;
  readonly limits?: Amounts;
  readonly taskLimits?: Amounts;
}

/** The operations that only a server has. */
export interface OfServer {
  /** Lists the sessions with a text in their title or conversation: the active ones, or all. */
  sessions(query: string, archived: boolean, after: string | null): Promise<SessionPage>;
  /** Returns the joined session. */
  sessionInfo(): Promise<SessionInfo>;
  /** Returns the messages that only the model got: the user's edits of the canvas, as diffs. */
  hiddenMessages(): Promise<readonly string[]>;
  /** Starts a session with this model, or with that of the server for "". Returns its id. */
  startSession(model: string, canvas: boolean): Promise<string>;
  changeSession(id: string, change: SessionChange): Promise<void>;
  removeSession(id: string): Promise<void>;
  /** Adds a message to those that follow the present task, takes one of them out, or sends it now. */
  queueMessage(text: string): Promise<void>;
  withdrawMessage(id: string): Promise<void>;
  sendMessage(id: string): Promise<void>;
  /** Writes text that waits in these files to the server's disk. */
  saveFiles(paths: readonly string[]): Promise<void>;
  /** Lists further files, of a server with too many for one list. */
  listMore(): Promise<void>;
  /** Returns files with a text in their path, also those that are not listed yet. */
  findFiles(text: string): Promise<readonly string[]>;
}

/** The operations of the worker. Each of them is a message of the page and an answer. */
export interface CoreApi extends OfServer {
  open(info: ProjectInfo, files: Contents, settings: Settings, options: Options): Promise<void>;
  /**
   * Joins a session of a server (`emend serve`): that of `id` if there is one, else that which was used last. `canvas` tells
   * whether a session that is started for it has the canvas tools.
   */
  join(url: string, token: string, id: string | null, canvas: boolean): Promise<void>;
  /** Joins another session of the same server. */
  enter(id: string): Promise<void>;
  /**
   * Opens a project from the journal and repeats its operations, then the edits of `drafts` that are not in the journal.
   * Returns null if there is none.
   */
  restore(id: string, settings: Settings, options: Options, drafts: readonly Draft[]): Promise<Restored | null>;
  /** Lists the projects in the journal, last opened first. */
  projects(): Promise<readonly ProjectInfo[]>;
  /** Removes a project from the journal. */
  forget(id: string): Promise<void>;
  /** Loads the engine's module, so that a project opens at once. */
  warm(): Promise<void>;
  /** Returns the project with all operations as one text, without keys. */
  recording(): Promise<string>;
  /** Keeps a recording as a project with this id. */
  keepRecording(text: string, id: string): Promise<void>;
  /** Ends the run and the record of the project, so that another tab can go on with it. */
  close(): Promise<void>;
  /** Unpacks an archive. */
  unzip(archive: Blob): Promise<{ files: Contents; skipped: readonly string[] }>;
  /** Whether operations are recorded, so that a reload of the page loses nothing. */
  recorded(): Promise<boolean>;
  snapshot(scope: Scope, path: string | null): Promise<Snapshot>;
  read(path: string): Promise<string | null>;
  readDisk(path: string): Promise<string | null>;
  savedText(path: string): Promise<string | null>;
  noteSaved(path: string, text: string | null): Promise<void>;
  /**
   * Writes the user's edit. `written` has the assistant's text in hunks that the user edits, to be kept with them. `key`
   * names the edit in the journal.
   */
  write(
    path: string,
    text: string,
    base: string | null,
    step: Step,
    written?: WrittenById,
    key?: string,
  ): Promise<WriteResult>;
  /** Deletes a file, or all files of a folder. */
  remove(path: string): Promise<void>;
  /** Renames a file, or a folder. */
  rename(path: string, to: string): Promise<void>;
  diff(): Promise<string>;
  /** Returns the bytes of all files, with their accepted text. */
  exportFiles(): Promise<Contents>;
  /** Packs all files: the accepted text, or with `pending` the visible one. */
  zipAll(pending: boolean): Promise<Uint8Array>;
  zip(files: Contents): Promise<Uint8Array>;
  /** Finds lines with a text, in any case. A server returns its best results, also those with one of several words. */
  search(text: string): Promise<readonly FileMatches[]>;
  accept(ids: readonly string[], over: boolean, path: string): Promise<void>;
  reject(ids: readonly string[], dependents: "refuse" | "only" | "with", path: string): Promise<void>;
  /** Splits a hunk in two. The second one begins with a line, an index in those of the hunk. */
  split(id: string, line: number, path: string): Promise<void>;
  /** Accepts all hunks of a file, or of all files, except contested ones. Returns whether there were any. */
  acceptAll(path: string | null): Promise<boolean>;
  rejectAll(path: string | null): Promise<boolean>;
  undo(): Promise<void>;
  redo(): Promise<void>;
  canvas(): Promise<CanvasState>;
  openCanvas(path: string | null): Promise<void>;
  takeBack(): Promise<void>;
  setModel(settings: Settings): Promise<void>;
  setOptions(options: Options): Promise<void>;
  /** Returns the cost of these tokens in US dollars at list price, or null if the model's price is not known. */
  cost(model: string, input: number, output: number): Promise<number | null>;
  /** Decides on a call that waits for the user. */
  answer(call: string, decision: Decision, reason: string): Promise<void>;
  /** Lists the runs of the project. */
  runs(): Promise<readonly RunInfo[]>;
  /** Returns the ids of the pending hunks that were there before the last run. */
  hunksBefore(): Promise<readonly string[]>;
  /** Compares the files that a run, later ones, or the user since then changed with their texts before it. */
  past(run: number): Promise<readonly PastFile[]>;
  /** Lists the earlier texts of a file, oldest first. */
  versions(path: string): Promise<readonly Version[]>;
  /** Takes the project back to before a run. The user's own edits since then stay, unless it is hard. One undoable step. */
  goBack(run: number, how: GoingBack): Promise<void>;
  /** On a server: takes the files back to before a run. One undoable step. With `preview`, nothing changes. */
  rollBack(run: number, how: Rollback): Promise<RolledBack>;
  /**
   * On a server: takes its files, the conversation or both back to before a run. The user's own lines stay. One undoable
   * step. With `preview`, nothing changes.
   */
  rewind(run: number, extent: Extent, preview: boolean): Promise<Rewound>;
  /** Gives files texts from before a run, as one step of the user. The changes since the run are rejected. */
  putBack(run: number, files: readonly PutBack[]): Promise<void>;
  /** Starts a conversation with the first `tasks` tasks of the open one. */
  branch(tasks: number): Promise<void>;
  /** Starts a run with pictures, by their ids, and resolves at its end. */
  run(text: string, pictures: readonly string[]): Promise<void>;
  /** Keeps a picture for a message, scaled down if it is too large. Fails with the reason if it cannot go with one. */
  addPicture(file: File): Promise<Picture>;
  /** Opens a conversation, or starts one if `index` is their number. Files and review stay. */
  converse(index: number): Promise<void>;
  /** Names a conversation. An empty title is its first message again. */
  entitle(index: number, title: string): Promise<void>;
  steer(text: string, pictures: readonly string[]): Promise<void>;
  stop(): Promise<void>;
  preloadOffline(): Promise<void>;
}

export type CoreMethod = keyof CoreApi;

/** A message to the worker: a call, or the confirmation of events. */
export type ToWorker =
  | { readonly id: number; readonly method: CoreMethod; readonly args: readonly unknown[] }
  | { readonly seen: number };

/** A message from the worker: the answer to a call, or events. */
export type FromWorker =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly failure: Failure }
  /** A request to a script of the page, which answers at the port. */
  | { readonly script: string; readonly port: MessagePort }
  | { readonly batch: EventBatch };
