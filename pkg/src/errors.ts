/** What can be thrown. Branch on `code`: codes never change, messages may. */

/** The code of an {@link EmendError}. New ones may be added. */
export type ErrorCode =
  | "aborted"
  | "already_exists"
  | "ambiguous"
  | "authentication"
  | "busy"
  | "closed"
  | "configuration"
  | "conflict"
  | "context_length"
  | "internal"
  | "invalid_argument"
  | "io_error"
  | "limit_reached"
  | "load_failed"
  | "network"
  | "not_found"
  | "not_initialized"
  | "permission_denied"
  | "provider"
  | "resync_required"
  | "stale"
  | "stream"
  | "timeout"
  | "unknown_tool"
  | "unsupported"
  | "LEASE_EXPIRED"
  | "LOCK_NOT_AVAILABLE"
  | "LOCK_NOT_OWNED"
  | "PATCH_REJECTED"
  | "STALE_EPOCH"
  | (string & {});

/** What an error may carry besides its code and message. */
export interface ErrorDetails {
  /** Facts for the caller, e.g. the hunks that stand in the way. */
  data?: unknown;
  /** Whether the same call may succeed later. */
  retryable?: boolean;
  /** What to try instead, best first. */
  suggestions?: readonly string[];
  cause?: unknown;
}

/** Marks errors of every copy of this package, so that two installed copies recognise each other's. */
const BRAND = Symbol.for("emend.error");

/** The base of everything this package throws. */
export class EmendError extends Error {
  // A literal, because minifiers rename classes.
  override readonly name: string = "EmendError";
  readonly code: ErrorCode;
  readonly data: unknown;
  readonly retryable: boolean;
  readonly suggestions: readonly string[];

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, "cause" in details ? { cause: details.cause } : undefined);
    this.code = code;
    this.data = details.data;
    this.retryable = details.retryable ?? false;
    this.suggestions = details.suggestions ?? [];
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/** The caller's signal fired. `cause` is the signal's reason. */
export class AbortError extends EmendError {
  override readonly name = "AbortError";
}

/** Someone else holds it: the agent already runs, or the canvas is leased. */
export class BusyError extends EmendError {
  override readonly name = "BusyError";
}

/** The change does not fit the present state; nothing was changed. */
export class ConflictError extends EmendError {
  override readonly name = "ConflictError";
}

/** The model's provider refused, failed or could not be reached. */
export class ProviderError extends EmendError {
  override readonly name = "ProviderError";
}

/** The options are wrong. */
export class ConfigError extends EmendError {
  override readonly name = "ConfigError";
}

/** A bug in this package stopped the core. Every agent of that core is lost; a new one starts a fresh core. */
export class PanicError extends EmendError {
  override readonly name = "PanicError";
}

/** An object was made without the function that initialises it. */
export class NotInitializedError extends EmendError {
  override readonly name = "NotInitializedError";
}

/** The agent was closed. */
export class ClosedError extends EmendError {
  override readonly name = "ClosedError";
}

/** Returns whether `value` is an error of this package, or of another copy of it, and has `code` if one is given. */
export function isEmendError(value: unknown, code?: ErrorCode): value is EmendError {
  if (!(value instanceof Error) || !(BRAND in value)) return false;
  return code === undefined || (value as Partial<EmendError>).code === code;
}

const CLASSES = { AbortError, BusyError, ConfigError, ConflictError, PanicError, ProviderError };

/**
 * Makes the error that the core names.
 * @internal
 */
export function makeError(className: string, code: string, message: string, details?: ErrorDetails): EmendError {
  const known = Object.hasOwn(CLASSES, className) ? CLASSES[className as keyof typeof CLASSES] : EmendError;
  return new known(code, message, details);
}
