/** The plain data that goes in and comes out. */

import type { Files } from "./agent.js";
import type { ExecutionEnvironment } from "./environment-types.js";
import type { CustomProvider, Message, Tool } from "./llm-types.js";
import type { SessionStore } from "./stores.js";

/** A compiled module. Programs whose types know no `WebAssembly` have none to give. */
type CompiledModule = typeof globalThis extends { WebAssembly: { Module: abstract new (...bytes: never[]) => infer M } }
  ? M
  : never;

export type {
  CallOptions,
  ExecOptions,
  ExecResult,
  ExecutionEnvironment,
  FileStat,
  FoundFile,
  HostGlobOptions,
  HostGrepOptions,
  ListEntry,
} from "./environment-types.js";

/** What the core can be loaded from. A string is an address. */
export type WasmSource = URL | string | Response | ArrayBuffer | ArrayBufferView | CompiledModule;

/** How {@link init} finds the core. */
export interface InitOptions {
  /** Where the core is, if not beside this package's files. */
  wasm?: WasmSource | PromiseLike<WasmSource>;
}

/** Which model answers. */
export type ModelOptions = OfflineModel | AnthropicModel | CustomModel;

/**
 * A deterministic stand-in that needs no key and no network. It is no AI: it carries out a handful of instructions on
 * your real files ("rename A to B", "replace "a" with "b"", …) and says what it understands when it understands nothing.
 */
export interface OfflineModel {
  provider: "offline";
  /** Milliseconds before each piece of an answer, so that a person can watch. Default 0. */
  paceMs?: number;
  /**
   * Its module, `emend/offline.wasm`, which the first request to it loads; by default it is looked for beside the package.
   * The first one loaded stays.
   */
  wasm?: InitOptions["wasm"];
}

/** A model behind Anthropic's Messages API. */
export interface AnthropicModel {
  provider: "anthropic";
  /** The model's id. */
  model?: string;
  /** Sent to the provider and kept nowhere else. */
  apiKey: string;
  /** Another address that speaks the same API, e.g. your own proxy. */
  baseUrl?: string;
}

/** A model of a provider written in JavaScript: WebLLM, one of the browser's own, or anything else. */
export interface CustomModel {
  provider: CustomProvider;
  /** What its requests are told to ask for. */
  model?: string;
}

/** What an agent is made of. */
export interface AgentOptions {
  /**
   * What the in-memory file system holds at first, by path; an empty entry whose path ends in `/` is a directory. `fromZip`
   * and `fromDirectory` give this form. Another agent's `files` are taken as they are saved when this one is made, at no
   * cost however many they are; after that neither sees what the other changes.
   */
  files?: FilesIn | Files;
  /** Files of your own, in place of `files`: the agent reads them and saves to them. See {@link ExecutionEnvironment}. */
  environment?: ExecutionEnvironment;
  /**
   * What the files may take. What would pass it is refused with code `limit_reached`: to the model as a tool's result, to
   * you as an error. What makes files smaller is let through. Default: no limit.
   */
  quota?: Quota;
  /** Who answers. Default: the offline stand-in. */
  model?: ModelOptions;
  /** `staged`: edits wait for a decision. `direct`: they are saved at once. Default `staged`. */
  mode?: "staged" | "direct";
  /**
   * The names of tools and parameters, and the instructions, that a family of models works best with. `auto`: that of
   * the model's family, if it has one. `none`: the tools by their own names. Default `auto`.
   */
  profile?: "auto" | "openai" | "anthropic" | "gemini" | "none";
  /**
   * How the model edits. `own`: by patches or by replacing texts, as its family does. `safe_patch`: by diffs over exactly
   * the text they were made for. Default: `safe_patch` for Gemini's models, `own` for others. Needs a profile, and a model
   * that is not the stand-in.
   */
  edits?: "own" | "safe_patch";
  /**
   * Tools of your own, beside the agent's; one of the same name replaces it. `execute` gets arguments that match the
   * schema; what it returns is told to the model, a string as it is and anything else as JSON; what it throws is an
   * error result and ends nothing. Its `signal` fires when the run is cancelled.
   */
  tools?: readonly Tool<any>[];
  /** Whether the model may put a question to the user: the run then ends with reason `awaiting_input`. Default false. */
  questions?: boolean;
  /**
   * Whether the model may fetch pages of the public web (`web_fetch`). A page reaches only what CORS lets it. Node connects
   * to public addresses alone, whatever a name stands for; a `fetch` of yours sees to that itself. Default false.
   */
  webFetch?: boolean;
  /**
   * Whether the model may start subagents, which work on parts of a task at the same time, over the same files and
   * review. They go on while a run does, and are aborted with it. Default false.
   */
  subagents?: boolean;
  /**
   * Whether the model may run commands: an emulated bash over the same files, with grep, sed, awk and some hundred others,
   * but no network and no programs. Its module (1.7 MiB) is loaded when the first command runs. A script that computes
   * without ever waiting holds up the page; it ends as a time-out after a hundred thousand steps. Default false.
   */
  shell?: boolean | ShellOptions;
  /** Appended to the system prompt. */
  instructions?: string | null;
  /** How much the model is to think, e.g. `low`, `medium` or `high`. Default: the provider's. */
  effort?: string | null;
  /** Answers of the whole session; 0, the default, is unlimited. */
  maxTurns?: number;
  /** Rounds of tool calls for one task; 0, the default, is unlimited. */
  maxToolRounds?: number;
  /** Where the conversation is saved as it goes. Default: nowhere. */
  store?: SessionStore;
  /** Sends requests instead of the global `fetch`. */
  fetch?: (url: string, options: RequestInit) => Response | Promise<Response>;
  /**
   * Which calls run, which are refused, and which `approve` is asked about: of the rules that match, the first decides.
   * Calls that none matches are asked about if there is `approve`, and run if not. Default with `approve`: reading runs.
   */
  policy?: readonly PolicyRule[];
  /** Asks the user about a call. The run waits; cancelling it ends the wait. What it throws is a refusal. */
  approve?: Approve;
}

/** What files in memory may take together. */
export interface Quota {
  /** Bytes of all files. */
  bytes?: number;
  /** How many files. */
  files?: number;
}

/** Files by path; an empty one whose path ends in `/` is a directory. */
export type FilesIn = Readonly<Record<string, string | Uint8Array>>;

/** What taking in an archive or a folder is limited by. */
export interface ImportOptions {
  /** Bytes of all files, unpacked. Default 256 MiB. */
  maxBytes?: number;
  /** How many files. Default 50,000. */
  maxFiles?: number;
  /** Says which paths are taken over; those of directories end in `/`. Default: all. */
  filter?: (path: string) => boolean;
}

/** What `toZip` takes besides the files. */
export interface ZipOptions {
  /** From 0, as they are, to 9, as small as it gets. Default 6. */
  level?: number;
  /** The time that all files in it have. Default: now. */
  modified?: Date;
}

/** A `Blob`, a `File` or a `Response`: something with bytes. */
export interface BlobLike {
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** A `FileSystemDirectoryHandle`. */
export interface DirectoryHandle {
  readonly kind: "directory";
  readonly name: string;
}

/** A `File` of an `<input webkitdirectory>`. */
export interface PickedFile extends BlobLike {
  readonly name: string;
  readonly size: number;
  readonly webkitRelativePath: string;
}

/** Where the shell comes from. */
export interface ShellOptions {
  /** The shell's module, `emend/shell.wasm`; by default it is looked for beside the package. The first one loaded stays. */
  wasm?: InitOptions["wasm"];
}

/** What {@link Agent.configure} may change. */
export type AgentChanges = Pick<
  AgentOptions,
  | "model"
  | "profile"
  | "edits"
  | "tools"
  | "questions"
  | "webFetch"
  | "subagents"
  | "instructions"
  | "effort"
  | "maxTurns"
  | "maxToolRounds"
  | "policy"
>;

/** What {@link Agent.fork} takes. */
export interface ForkOptions extends AgentOptions {
  /** How many entries of the conversation are taken over. Default: all. */
  turns?: number;
}

/** What {@link Agent.events} takes. */
export interface EventsOptions {
  /** The cursor of the last event that is known; 0, the default, is from the beginning. */
  after?: number;
}

/** One entry of the conversation. */
export interface Turn {
  kind: "user" | "assistant" | "tool_results" | "system" | "steering";
  /** When it was added, in milliseconds since 1970. */
  at_ms: number;
  /** What the model is sent. */
  message: Message;
  /** What an answer cost. */
  usage?: Usage;
  /** The provider's id of an answer. */
  response_id?: string;
}

/** What {@link Agent.compact} gave, in tokens. */
export interface Compaction {
  tokens_before: number;
  tokens_after: number;
}

/** One saved session, in short. */
export interface SessionSummary {
  id: string;
  /** When it began, in milliseconds since 1970. */
  began_ms: number;
  /** When its last turn was added. */
  last_ms: number;
  provider: string;
  model: string;
  /** The first line of the user's first message. */
  title: string;
  n_turns: number;
  forked_from?: { id: string; n_turns: number };
  /** Why it cannot be read, if it cannot. */
  problem?: string;
}

/** One rule of {@link AgentOptions.policy}. */
export interface PolicyRule {
  action: "allow" | "ask" | "deny";
  /** The tool's name, e.g. `edit_file`; `*` for all. */
  tool: string;
  /** Only calls on paths that match this glob, or on commands, where `*` is any text. */
  pattern?: string;
}

/** A call that waits for the user's word. */
export interface ApprovalRequest {
  call_id: string;
  tool_name: string;
  arguments: unknown;
  /** What the tool shows of what it would do, e.g. a command or a diff; `null` if it shows nothing. Fields may be added. */
  detail: Readonly<Record<string, unknown>> | null;
}

/**
 * The user's word. `always` also allows what is like it for the rest of the session: the same command, or any call of the
 * same tool. `reason` is told to the model.
 */
export type ApprovalAnswer = "allow" | "always" | "deny" | { decision: "allow" | "always" | "deny"; reason?: string };

/** Asks the user. */
export type Approve = (request: ApprovalRequest) => ApprovalAnswer | Promise<ApprovalAnswer>;

/** What {@link Agent.run} takes besides the task. */
export interface RunOptions {
  /** Cancels the run. */
  signal?: AbortSignal;
}

/** Tokens spent. */
export interface Usage {
  /** Tokens in the prompts, cached ones included. */
  input_tokens: number;
  /** Tokens generated, reasoning included. */
  output_tokens: number;
  reasoning_tokens?: number;
  cache_read_tokens?: number;
  cache_write_tokens?: number;
}

/** Why a run ended. */
export type EndReason = "natural" | "turn_limit" | "awaiting_input" | "aborted" | "context_length" | "error";

/** A failure as events show it. */
export interface ErrorInfo {
  /** Stable; see {@link ErrorCode}. */
  code: string;
  /** What happened and what to do. */
  message: string;
  /** What to try instead, best first. */
  suggestions: string[];
  /** Facts, e.g. the present state of a stale file. */
  data?: unknown;
}

/** What each kind of event carries. */
export interface EventData {
  SESSION_START: { model: string; provider: string; offline: boolean };
  SESSION_END: { state: string };
  USER_INPUT: { content: string };
  ASSISTANT_TEXT_START: Record<string, never>;
  ASSISTANT_TEXT_DELTA: { delta: string };
  ASSISTANT_TEXT_END: { text: string };
  REASONING_START: Record<string, never>;
  REASONING_DELTA: { delta: string };
  REASONING_END: { text: string };
  TOOL_CALL_START: { call_id: string; tool_name: string; arguments: unknown };
  /** A call waits for the user's word; `APPROVAL_RESOLVED` follows. */
  APPROVAL_REQUESTED: ApprovalRequest;
  APPROVAL_RESOLVED: { call_id: string; decision: "allowed" | "allowed_always" | "denied" | "aborted"; reason?: string };
  /** A tool printed something while it runs. */
  TOOL_CALL_OUTPUT_DELTA: { call_id: string; delta: string };
  /** `output` is whole, or its beginning if `output_cut`; the model sees it truncated. */
  TOOL_CALL_END: {
    call_id: string;
    tool_name: string;
    ok: boolean;
    output: string;
    /** The name under which the session's store keeps the whole of a large output. */
    output_ref?: string;
    output_cut?: boolean;
    error?: ErrorInfo;
    duration_ms: number;
  };
  FILE_CHANGED: { path: string; revision: number; pending_hunks: number };
  CANVAS_LEASE: { path: string; state: "held" | "released" | "preempted" | "expired"; epoch: number };
  SUBAGENT_START: { agent_id: string; task: string; model: string; working_dir?: string };
  /** Something in a subagent's own session; pieces of text are left out, and `FILE_CHANGED` is the agent's own event. */
  SUBAGENT_EVENT: { agent_id: string; event: { [K in EventKind]: { kind: K; data: EventData[K] } }[EventKind] };
  /** `output` is what it said last, or why it failed. */
  SUBAGENT_END: { agent_id: string; status: "completed" | "failed"; output: string; turns_used: number };
  STEERING_INJECTED: { content: string };
  TURN_LIMIT: { rounds: number; total_turns: number };
  LOOP_DETECTION: { message: string };
  WARNING: { code: string; message: string };
  ERROR: ErrorInfo;
  PROCESSING_END: { reason: EndReason; usage: Usage };
}

/** A kind of event. */
export type EventKind = keyof EventData;

/** One event of kind `K`. */
export interface EventOf<K extends EventKind> {
  /** Counts up by one within a session. */
  cursor: number;
  /** Milliseconds since 1970. */
  ts: number;
  session_id: string;
  kind: K;
  data: EventData[K];
}

/** One event. `kind` tells what `data` holds. Kinds may be added: ignore those you do not know. */
export type AgentEvent = { [K in EventKind]: EventOf<K> }[EventKind];

/** How a run ended. */
export interface RunResult {
  /** What the model said last, after its last tool call. */
  text: string;
  reason: EndReason;
  usage: Usage;
  /** Why it failed, if `reason` is `error`. */
  error?: import("./errors.js").EmendError;
}

/** Everything that waits for a decision. */
export interface Review {
  /** The workspace revision this describes. */
  revision: number;
  /** Files with pending hunks, by path. */
  files: ReviewFile[];
}

/** The pending hunks of one file. */
export interface ReviewFile {
  path: string;
  operation: "create" | "update" | "delete";
  /** In file order. */
  hunks: Hunk[];
  /** Lines its hunks add. */
  added: number;
  /** Lines its hunks remove. */
  removed: number;
}

/** What was decided about a hunk. */
export type HunkStatus = "pending" | "accepted" | "rejected" | "rolled_back";

/** Lines that are decided on together. */
export interface Hunk {
  /** What decisions name it by. */
  id: string;
  status: HunkStatus;
  /** First line in the text without the hunk, from 1. */
  oldStart: number;
  oldLines: number;
  /** First line in the visible text, from 1. */
  newStart: number;
  newLines: number;
  /** The lines, with context around them. */
  lines: HunkLine[];
  /** The user edited inside it, so it is saved although it is pending. */
  keptByUser: boolean;
  /** Later changes, the user's among them, that stand on it. */
  dependents: number;
}

/** One line of a hunk. */
export interface HunkLine {
  kind: "context" | "added" | "removed";
  /** The line with its own ending. */
  text: string;
  /** Its number in the text without the hunk, from 1. */
  oldNumber?: number;
  /** Its number in the visible text, from 1. */
  newNumber?: number;
  /** Where it differs from the line it replaces, as ranges of string indices. */
  spans?: [start: number, end: number][];
}

/** What {@link Agent.reject} does about later changes that stand on a hunk. */
export interface RejectOptions {
  /**
   * `refuse`: throws a {@link ConflictError}. `only`: rejects the hunk alone, what stands on it stays. `with`: rejects
   * both. Default `refuse`.
   */
  dependents?: "refuse" | "only" | "with";
}

/** One file of the project. */
export interface FileInfo {
  path: string;
  /** Bytes of what the user sees. */
  size: number;
  /** How what the user sees differs from what is saved. */
  status: "clean" | "created" | "modified" | "deleted";
  pendingHunks: number;
}

/** What {@link Files.grep} takes besides the pattern. */
export interface GrepOptions {
  /** The directory or file to search. Default: everything. */
  path?: string;
  /** Only files whose path below `path`, or whose name, matches this glob. */
  glob?: string;
  /** Default false. */
  ignoreCase?: boolean;
  /** How many lines before and after each match are given too. Default 0. */
  contextLines?: number;
  /** How many matching lines are given at most. Default: all. */
  maxResults?: number;
}

/** What {@link Files.glob} takes besides the pattern. */
export interface GlobOptions {
  /** The directory that the glob is relative to. Default: the root. */
  path?: string;
}

/** What {@link Files.export} takes. */
export interface ExportOptions {
  /** Whether pending edits are in it. Default false. */
  pending?: boolean;
}

/** What was found in one file. */
export interface FileMatches {
  path: string;
  /** Matching lines, with their context, in file order. */
  lines: LineMatch[];
}

/** A line of a result. */
export interface LineMatch {
  /** Its number, from 1. */
  line: number;
  /** The line without its ending; of more than 1,000 bytes the part around the match, `…` where something was cut. */
  text: string;
  /** Whether it matches; `false` for a line of context. */
  isMatch: boolean;
}

/** A file as the user sees it, pending edits included. */
export interface FileState {
  path: string;
  text: string;
  /** The workspace revision of its last change, 0 if it was never edited. */
  revision: number;
}

/** What {@link Files.write} takes besides the text. */
export interface WriteOptions {
  /**
   * The text that the user's was made from. What the agent changed since is then kept beside it; where both changed
   * the same lines, the user's stand.
   */
  base?: string;
}

/** What an editor shows of the canvas. */
export interface CanvasState {
  /** The open file. */
  path: string | null;
  /** Whether the agent holds it now. */
  held: boolean;
  /** Grows whenever the user takes over. */
  epoch: number;
  /** When the agent's lease ends if nothing renews it, in milliseconds since 1970. */
  expiresAt?: number;
}
