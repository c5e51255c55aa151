/** The functions that the page and the worker of an agent call of each other. */

import type { Agent } from "../agent/agent.js";
import type { MessageOptions, RunOptions } from "../agent/options.js";
import type { AgentEvent, RunResult } from "../agent/types.js";
import { fieldOf } from "../exceptions.js";

/** The number of the worker's function that opens an agent. */
export const OPEN = -1;

/** The worker's message when it begins to open an agent, however long that takes. */
export const BEGUN = { kind: "begun" } as const;

/** Returns whether a message is {@link BEGUN}. */
export function isBegun(message: unknown): boolean {
  return fieldOf(message, "kind") === BEGUN.kind;
}

/** How an agent is opened. */
export interface Opening {
  how: "create" | "resume" | "fork";
  /** The session to continue. */
  id: string;
  options: object;
  wasm: unknown;
  regex: unknown;
}

/** A run, as the worker offers it. */
export interface OfferedRun {
  next(): Promise<IteratorResult<AgentEvent, undefined>>;
  return(): Promise<unknown>;
  result(): Promise<RunResult>;
  steer(text: string, options: MessageOptions): void;
  cancel(): void;
}

/** An agent, as the worker offers it. */
export interface Offered {
  call(part: "agent" | "files" | "canvas", name: string, args: unknown[]): unknown;
  sessionId(): string;
  /** Returns when the worker has sent what it had to send. */
  idle(): Promise<void>;
  events(options: unknown): AsyncIterable<AgentEvent>;
  subscribe(listener: Parameters<Agent["subscribe"]>[0]): () => void;
  /** Starts a run, passes it to `begin`, and returns when it has ended: the signal of `options` works until then. */
  run(text: string, options: RunOptions, begin: (run: OfferedRun) => void): Promise<void>;
}

/** The offered functions as the page calls them. */
export type Called<T> = {
  [Name in keyof T]: T[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};
