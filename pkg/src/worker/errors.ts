/** Errors on their way between threads: they keep their class, their code and their data. */

import * as errors from "../errors.js";
import { fieldOf, messageOf } from "../exceptions.js";

/** An error as a message has it. */
export interface SentError {
  name: string;
  message: string;
  code: unknown;
  /** Whether it is one of this package. */
  isOwn: boolean;
  data: unknown;
  retryable: boolean;
  suggestions: readonly string[];
  cause: unknown;
}

const CLASSES: Readonly<Record<string, unknown>> = errors;

/** Describes an exception. `pack` makes its parts fit for a message. */
export function sentError(thrown: unknown, pack: (value: unknown) => unknown): SentError {
  const isOwn = errors.isEmendError(thrown);
  const [name, code] = [fieldOf(thrown, "name"), fieldOf(thrown, "code")];
  const cause = fieldOf(thrown, "cause");
  return {
    name: typeof name === "string" ? name : "Error",
    message: messageOf(thrown),
    code: typeof code === "string" || typeof code === "number" ? code : undefined,
    isOwn,
    data: isOwn ? pack(thrown.data) : undefined,
    retryable: isOwn && thrown.retryable,
    suggestions: isOwn ? [...thrown.suggestions] : [],
    cause: cause === undefined ? undefined : pack(cause),
  };
}

/** Returns the error that was described. */
export function receivedError(sent: SentError, unpack: (value: unknown) => unknown): Error {
  const cause = sent.cause === undefined ? {} : { cause: unpack(sent.cause) };
  if (sent.isOwn) {
    const isClass = /Error$/.test(sent.name) && Object.hasOwn(CLASSES, sent.name);
    const known = isClass ? CLASSES[sent.name] : errors.EmendError;
    const { retryable, suggestions } = sent;
    const details = { data: unpack(sent.data), retryable, suggestions, ...cause };
    return new (known as typeof errors.EmendError)(String(sent.code), sent.message, details);
  }
  const error = new Error(sent.message, cause);
  Object.defineProperty(error, "name", { value: sent.name, configurable: true, writable: true });
  return sent.code === undefined ? error : Object.assign(error, { code: sent.code });
}
