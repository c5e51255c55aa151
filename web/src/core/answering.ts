/** The engine as seen by the models that the worker itself asks: scripts, and models with a second one. */
/** The address of requests to scripts. Nothing is sent there. */
export const SCRIPT_URL = "script:";

/** An item of an answer, as the package takes it from a provider written in JavaScript. */
export type AnswerEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

/** A model that responded, with its tokens. */
export interface Spent {
  readonly model: string;
  /** Its name for the user, which differs from that of the other model. */
  readonly name: string;
  readonly input: number;
  readonly output: number;
}

export interface Answering {
  /** Sends a request and records the response; with `why`, that of the second model, and the failure of the first. */
  send(url: string, init: RequestInit, why: string): Promise<Response>;
  /** Why the second model gave the next response that is repeated; "" if the first one did, or nothing is repeated. */
  next(): string;
  /** Called when the second model takes over. */
  switched(to: string, why: string): void;
  /** Called at the end of each answer. */
  answered(spent: Spent): void;
}
