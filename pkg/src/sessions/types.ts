/** Public types of saved sessions. */

import type { Message } from "../llm/types.js";

/**
 * Stores sessions as documents of lines. Every method may return a promise.
 *
 * A document's name is one word of letters, digits, `-`, `_` and `.`. The id of a session is the name of its document.
 * Documents whose names continue with a dot, such as `ID.output-1`, belong to the session before the dot.
 */
export interface SessionStore {
  /**
   * Appends lines, each with its newline, to a document, and creates the document if there is none. The lines are
   * durable when the promise resolves. If the document ends inside a line, after a crash, write a newline first.
   *
   * If two agents continue one session, each of them would hide the turns of the other. A store prevents this: it
   * compares `expected` with the document in the same transaction, and throws an error with code `conflict` if they
   * differ. Then the run ends with that error.
   *
   * After 30 seconds without an answer, or 2 seconds after the run was cancelled, the agent reports a `WARNING` and goes
   * on; it appends the lines again later.
   */
  append(name: string, lines: string, options: AppendOptions): void | PromiseLike<void>;
  /** Returns the text of a document, or `null` if there is none. */
  load(name: string): string | null | undefined | PromiseLike<string | null | undefined>;
  /** Returns the names of all documents, in any order. */
  names(): Iterable<string> | PromiseLike<Iterable<string>>;
  /** Removes a document. Returns whether it existed. */
  remove(name: string): boolean | PromiseLike<boolean>;
}

/** Options of {@link SessionStore.append}. */
export interface AppendOptions {
  /** Length of the document's text as the agent knows it, in UTF-16 units; 0 if it must not exist. */
  readonly expected?: number;
}

/** Tokens spent. */
export interface Usage {
  /** Tokens in the prompts, cached ones included. */
  inputTokens: number;
  /** Tokens generated, reasoning included. */
  outputTokens: number;
  /** Sum of input and output tokens. */
  totalTokens: number;
  reasoningTokens?: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
}

/** One entry of the session's history. */
export interface Turn {
  kind: "user" | "assistant" | "tool_results" | "system" | "steering" | "hidden";
  /** Time at which the entry was added, in milliseconds since 1970. */
  atMs: number;
  /** The message as the model receives it. */
  message: Message;
  /** Tokens that the model response cost. */
  usage?: Usage;
  /** The provider's id of the model response. */
  responseId?: string;
}

/** Summary of one saved session. */
export interface SessionSummary {
  id: string;
  /** Time at which the session began, in milliseconds since 1970. */
  beganMs: number;
  /** Time at which its last history entry was added, in milliseconds since 1970. */
  lastMs: number;
  provider: string;
  model: string;
  /** First line of the user's first message. */
  title: string;
  /** Number of history entries. */
  nTurns: number;
  /** The session that this one was forked from, and how many entries it took over. */
  forkedFrom?: { id: string; nTurns: number };
  /**
   * Number of lines of the document that cannot be read, e.g. because a crash cut one off. They are skipped, and a session
   * that is resumed begins with the event `WARNING`, code `session_damaged`. Absent if there are none.
   */
  nDamaged?: number;
  /** Why the session cannot be read. Absent if it can. */
  problem?: string;
}
