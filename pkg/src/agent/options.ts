/** Public types of the options that an agent takes. */

import type { FilesIn } from "../files/types.js";
import type { ExecutionEnvironment } from "../host/environment-types.js";
import type { AgentTool, Approve, ShellOptions } from "../host/types.js";
import type { CustomProvider } from "../llm/types.js";
import type { SessionStore } from "../sessions/types.js";
import type { InitOptions } from "../wasm/types.js";
import type { Files } from "./files.js";
import type { Telemetry } from "./telemetry-types.js";

/** The model that an agent uses. */
export type ModelOptions = OfflineModel | AnthropicModel | HttpModel | CustomModel;

/**
 * The offline model: deterministic, without a key and without network access. It is not an AI. It understands a handful
 * of instructions ("rename A to B", "replace "a" with "b"", …) and carries them out on the real files. To any other
 * text it answers with the list of instructions that it understands.
 */
export interface OfflineModel {
  provider: "offline";
  /** Delay before each piece of an answer, in milliseconds, so that a user can watch. Default 0. */
  paceMs?: number | undefined;
  /**
   * Source of its wasm module, `emend/offline.wasm`, which the first request loads. Default: the file beside this
   * package's own. The first load decides.
   */
  wasm?: InitOptions["wasm"] | undefined;
}

/** A model behind Anthropic's Messages API. With `headers` or another further option it is an {@link HttpModel}. */
export interface AnthropicModel {
  provider: "anthropic";
  /** The model's id. Default: the newest model in the catalogue. */
  model?: string | undefined;
  /** Sent to the provider and stored nowhere. A missing key is an error unless there is a `baseUrl`. */
  apiKey: string | undefined;
  /** URL of another server that speaks the same API, e.g. your own proxy, without the endpoint. */
  baseUrl?: string | undefined;
  headers?: undefined;
  betas?: undefined;
  providerOptions?: undefined;
  webSearch?: undefined;
  safety?: undefined;
  constrainedTools?: undefined;
  fallback?: undefined;
  fallbackAttempts?: undefined;
  fallbackAfterMs?: undefined;
}

/**
 * A model behind OpenAI's Responses API (`openai`), Gemini's API (`gemini`), or any server with OpenAI's Chat
 * Completions API (`openai_compatible`), such as Ollama, vLLM or OpenRouter. With `headers` or another further
 * option also a model behind Anthropic's API; then `model` is required. The module of `emend/llm` is loaded by the first
 * request.
 *
 * A page can call only a server that allows its origin (CORS). Use a proxy of your own otherwise, which also keeps the
 * key out of the page.
 */
export interface HttpModel {
  provider: "openai" | "openai_compatible" | "gemini" | "anthropic";
  /** The provider's id of the model. */
  model: string;
  /** Sent to the provider and stored nowhere. A missing key is an error unless there is a `baseUrl`. */
  apiKey?: string | undefined;
  /**
   * URL of another server that speaks the same API, without the endpoint, e.g. `http://127.0.0.1:11434/v1`. Required for
   * `openai_compatible`.
   */
  baseUrl?: string | undefined;
  /** Additional headers of each request. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Names of beta features (Anthropic only). */
  betas?: readonly string[] | undefined;
  /** Parameters of the provider's API that are added to each request, e.g. `{ service_tier: "flex" }`. */
  providerOptions?: Readonly<Record<string, unknown>> | undefined;
  /** Whether the provider searches the web (not `openai_compatible`). The provider charges for it. Default false. */
  webSearch?: boolean | undefined;
  /** Safety filters by category, e.g. `{ HARM_CATEGORY_HARASSMENT: "BLOCK_ONLY_HIGH" }` (Gemini only). */
  safety?: Readonly<Record<string, string>> | undefined;
  /**
   * Whether the model writes tool calls as JSON objects, because it has no native tool calls. The server should enforce a
   * JSON schema, as llama.cpp and Ollama do. Default false.
   */
  constrainedTools?: boolean | undefined;
  /**
   * Model that responds if this one fails, calls an unknown tool or writes arguments that do not match their schema. The
   * responses of this model are then held back until they are complete.
   */
  fallback?: HttpModel | undefined;
  /** With `fallback`: number of attempts of this model. Default 2. */
  fallbackAttempts?: number | undefined;
  /** With `fallback`: time limit of a response of this model, in milliseconds. Default: none. */
  fallbackAfterMs?: number | undefined;
}

/** A model of a provider written in JavaScript, such as WebLLM or the browser's built-in model. */
export interface CustomModel {
  provider: CustomProvider;
  /** Model id that requests to the provider carry. Default: an empty text. */
  model?: string | undefined;
  /** Whether the model writes tool calls as JSON objects, because it has no native tool calls. Default false. */
  constrainedTools?: boolean | undefined;
}

/** Options of {@link Agent.create}. */
export interface AgentOptions {
  /**
   * Initial content of the in-memory file system, by path. An empty entry whose path ends in `/` is a directory.
   * `fromZip` and `fromDirectory` return this form. The `files` of another agent are accepted too: this agent gets
   * their saved content without copying it, and later changes of one agent are not visible to the other.
   */
  files?: FilesIn | Files | undefined;
  /** Files of your own instead of `files`: the agent reads and saves them. See {@link ExecutionEnvironment}. */
  environment?: ExecutionEnvironment | undefined;
  /**
   * Limits of the in-memory files. A write that would exceed them is rejected with code `limit_reached`: the model gets
   * an error result, your own calls throw. Writes that make files smaller are allowed. Default: no limit.
   */
  quota?: Quota | undefined;
  /** The model. Default: the offline model. */
  model?: ModelOptions | undefined;
  /** `staged`: edits wait for review. `direct`: edits are saved at once. Default `staged`. */
  mode?: "staged" | "direct" | undefined;
  /**
   * The tool names, parameters and instructions that suit a family of models. `auto`: the profile of the model's
   * family, if there is one. `none`: tools by their canonical names. Default `auto`.
   */
  profile?: "auto" | "openai" | "anthropic" | "gemini" | "none" | undefined;
  /**
   * How the model edits. `own`: with patches or text replacement, as the profile says. `safe_patch`: with diffs that
   * are bound to the exact text they were made for. `edit_lines`: lines by number. Default: `safe_patch` for Gemini
   * models, `own` for others. Requires a profile and a model other than the offline model.
   */
  edits?: "own" | "safe_patch" | "edit_lines" | undefined;
  /**
   * Your own tools, in addition to the agent's. A tool replaces the agent's tool of the same name; two of your own tools
   * must not have the same name. `execute` gets arguments that match the schema. The model is shown its return value: a
   * string as it is, other values as JSON. An exception, an `Error` that is returned, or a value that JSON cannot represent
   * becomes an error result and does not end the run. `signal` fires when the run is cancelled. Without an `effect` the user is asked about every call, if there is an `approve` function
   * and no `policy`.
   */
  // biome-ignore lint/suspicious/noExplicitAny: each tool has arguments of its own.
  tools?: readonly AgentTool<any>[] | undefined;
  /** Whether the model may ask the user a question, which ends the run with reason `awaiting_input`. Default false. */
  questions?: boolean | undefined;
  /**
   * Whether the model may fetch public web pages (`web_fetch`). In a browser, CORS decides which pages can be read. In
   * Node only public addresses are connected to, after name resolution; a `fetch` of yours must check that itself.
   * Default false.
   */
  webFetch?: boolean | undefined;
  /**
   * Whether the model may start subagents, which work on parts of a task concurrently, with the same files and review.
   * They advance only while a run does, and are aborted with it. Default false.
   */
  subagents?: boolean | undefined;
  /**
   * Whether the model may run commands: an emulated bash over the same files, with grep, sed, awk and about a hundred
   * other commands, without network access and without programs. Its module (1.7 MiB) is loaded with the first command.
   * A script that computes without waiting blocks the page; it times out after a hundred thousand steps. Default false.
   */
  shell?: boolean | ShellOptions | undefined;
  /**
   * Whether calls of the agent's tools that change files or run commands are denied. Rules of `policy` cannot allow them.
   * Your own `tools` are not restricted. Default false.
   */
  readOnly?: boolean | undefined;
  /** Text appended to the system prompt. */
  instructions?: string | null | undefined;
  /** Reasoning effort, e.g. `low`, `medium` or `high`. Default: the provider's. */
  effort?: string | null | undefined;
  /** Maximum number of model responses in the session. 0, the default, means unlimited. */
  maxTurns?: number | undefined;
  /** Maximum number of rounds of tool calls in one run. 0, the default, means unlimited. */
  maxToolRounds?: number | undefined;
  /**
   * Maximum number of tokens of one run with its subagents, requests and responses together. The run ends with the
   * reason `budget`. 0, the default, means unlimited. It has no effect if the provider reports no usage.
   */
  maxTokens?: number | undefined;
  /** Maximum cost of one run in US dollars, at list price. No effect if the model's price is unknown. Default: 0, unlimited. */
  maxCostUsd?: number | undefined;
  /** Maximum duration of one run in milliseconds. The run is cancelled then. Default: 0, unlimited. */
  maxDurationMs?: number | undefined;
  /** Store in which the session is saved as it proceeds. Default: none. */
  store?: SessionStore | undefined;
  /** Sends HTTP requests. Default: the global `fetch`. */
  fetch?: ((url: string, options: RequestInit) => Response | Promise<Response>) | undefined;
  /**
   * Rules that allow, deny or ask about tool calls. The first rule that matches a call decides. A call that no rule
   * matches is asked about if there is an `approve` function, and allowed otherwise. Default with `approve`: reading is
   * allowed.
   *
   * With `mode: "direct"` and an `environment`, a write of a file that programs run or obey by themselves (`.git/` and hooks,
   * `.envrc` and other settings of shells, tasks of editors, settings of coding agents) is asked about, and refused without
   * `approve`. Only a rule whose pattern names such a file, as `.vscode/*.json` does and `**` does not, allows it.
   */
  policy?: readonly PolicyRule[] | undefined;
  /**
   * Asks the user about a call. The run waits for the answer; cancelling the run ends the wait. An exception denies the
   * call.
   */
  approve?: Approve | undefined;
  /**
   * The module `@opentelemetry/api`: each run then has a span, and in it each tool call and each subagent. The parent is
   * the span that is active when `run` is called. Spans have no texts, arguments or paths. Default: none.
   */
  telemetry?: Telemetry | undefined;
}

/** Limits of the in-memory files. */
export interface Quota {
  /** Maximum of all files together, in bytes. */
  bytes?: number | undefined;
  /** Maximum number of files. */
  files?: number | undefined;
}

/** Options that {@link Agent.configure} can change. */
export type Changeable = Pick<
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
  | "maxTokens"
  | "maxCostUsd"
  | "maxDurationMs"
  | "readOnly"
  | "policy"
>;

/** Changes for {@link Agent.configure}. `null` resets an option to its default. */
export type AgentChanges = { [K in keyof Changeable]: Changeable[K] | null };

/** Options of {@link Agent.fork}. */
export interface ForkOptions extends AgentOptions {
  /** Number of history entries to take over. Default: all. */
  turns?: number | undefined;
}

/** Options of {@link Agent.newSession}. */
export interface NewSessionOptions {
  /** Number of history entries to take over. Default 0. */
  turns?: number | undefined;
}

/** Options of {@link Agent.events}. */
export interface EventsOptions {
  /** Cursor of the last event that the caller has seen. 0, the default, starts at the beginning. */
  after?: number | undefined;
}

/** An image for the model: PNG, JPEG, GIF or WebP. */
export interface ImageInput {
  /** The type of the image, e.g. `image/png`. The contents decide if they are of another one. */
  mediaType?: string | undefined;
  data: Uint8Array;
  /** The name of the image for the model. */
  name?: string | undefined;
}

/** Options of {@link Agent.followUp} and {@link Run.steer}. */
export interface MessageOptions {
  /**
   * Images that the model gets with the message: at most 10, each of at most 3,932,160 bytes. They are saved with the
   * session. A model that takes no images is an error with code `unsupported`.
   */
  images?: readonly ImageInput[] | undefined;
}

/** Options of {@link Agent.run}. */
export interface RunOptions extends MessageOptions {
  /** Cancels the run. */
  signal?: AbortSignal | undefined;
}

/** One rule of {@link AgentOptions.policy}. */
export interface PolicyRule {
  action: "allow" | "ask" | "deny";
  /** The tool's canonical name, e.g. `edit_file`; `read`, `edit` or `run` for all tools with that effect; `*` for all. */
  tool: string;
  /**
   * Restricts the rule to calls whose path matches this glob, or whose command does. In commands `*` matches any text.
   */
  pattern?: string | undefined;
}

/** Options of {@link Agent.accept}. */
export interface AcceptOptions {
  /** Whether the lines of a contested hunk replace the lines in `yours`. Default `false`. */
  over?: boolean | undefined;
}

/** Options of {@link Agent.reject}. */
export interface RejectOptions {
  /**
   * Treatment of later changes that depend on a rejected hunk, such as lines that the agent or the user has added among
   * its lines. `refuse`: the call throws a {@link ConflictError} and nothing changes. `only`: they stay, in the place of
   * the hunk's lines. `with`: they are removed too, **also those of the user**. Default `refuse`.
   */
  dependents?: "refuse" | "only" | "with" | undefined;
}
