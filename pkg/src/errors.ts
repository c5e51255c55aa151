/**
 * The error classes. Branch on `code`: codes never change, messages may.
 *
 * All names of this module are public: entries of the package export them with `export *`.
 */

/** Code of an {@link EmendError}. Codes may be added. */
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
  | "method_not_allowed"
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

/** Optional details of an error. */
export interface ErrorDetails {
  /** Structured facts for the caller, e.g. the dependent hunks. */
  data?: unknown;
  /** Whether the same call may succeed later. */
  retryable?: boolean;
  /** Alternatives to try, best first. */
  suggestions?: readonly string[];
  cause?: unknown;
}

/** Property that marks errors of this package. It is the same in every installed copy. */
const BRAND = Symbol.for("emend.error");

/** Base class of all errors of this package. */
export class EmendError extends Error {
  // A literal: minifiers rename classes.
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

/** The caller's signal fired. `cause` is the reason of the signal. */
export class AbortError extends EmendError {
  override readonly name = "AbortError";
}

/** The resource is in use: the agent has a run, or the events already have a reader. */
export class BusyError extends EmendError {
  override readonly name = "BusyError";
}

/** The change does not fit the current state. Nothing was changed. */
export class ConflictError extends EmendError {
  override readonly name = "ConflictError";
}

/** The provider rejected the request, failed, or could not be reached. */
export class ProviderError extends EmendError {
  override readonly name = "ProviderError";
}

/** The options are wrong. */
export class ConfigError extends EmendError {
  override readonly name = "ConfigError";
}

/** A bug in this package stopped the core. All its agents are lost. A new agent starts a fresh core. */
export class PanicError extends EmendError {
  override readonly name = "PanicError";
}

/** An object was created without its initialization, e.g. with `new Agent()`. */
export class NotInitializedError extends EmendError {
  override readonly name = "NotInitializedError";
}

/** The agent, client or text was closed. */
export class ClosedError extends EmendError {
  override readonly name = "ClosedError";
}

/** Returns whether `value` is an error of any installed copy of this package and, if `code` is given, has that code. */
export function isEmendError(value: unknown): value is EmendError;
export function isEmendError<C extends ErrorCode>(value: unknown, code: C): value is EmendError & { readonly code: C };
export function isEmendError(value: unknown, code?: ErrorCode): value is EmendError {
  if (!(value instanceof Error) || !(BRAND in value)) return false;
  return code === undefined || (value as Partial<EmendError>).code === code;
}
