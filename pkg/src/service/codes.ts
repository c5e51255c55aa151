/** The error class of each code. The module of `emend/service` has the same table; a test compares them. */

import { makeError } from "../core-errors.js";
import type { EmendError, ErrorDetails } from "../errors.js";

/** Names of classes by code. Other codes belong to `EmendError`. */
const CLASSES: Readonly<Record<string, string>> = {
  aborted: "AbortError",
  authentication: "ProviderError",
  busy: "BusyError",
  configuration: "ConfigError",
  conflict: "ConflictError",
  context_length: "ProviderError",
  internal: "PanicError",
  network: "ProviderError",
  provider: "ProviderError",
  stale: "ConflictError",
  stream: "ProviderError",
  LEASE_EXPIRED: "ConflictError",
  LOCK_NOT_AVAILABLE: "BusyError",
  LOCK_NOT_OWNED: "ConflictError",
  PATCH_REJECTED: "ConflictError",
  STALE_EPOCH: "ConflictError",
};

/** Returns the name of the error class for a code. */
export function classOf(code: string): string {
  return Object.hasOwn(CLASSES, code) ? (CLASSES[code] as string) : "EmendError";
}

/** Returns the error for a code. */
export function errorOf(code: string, message: string, details?: ErrorDetails): EmendError {
  return makeError(classOf(code), code, message, details);
}

/** Returns the error for the body of a failed reply. */
export function errorOfReply(status: number, body: unknown): EmendError {
  const { error } = Object(body) as { error?: Record<string, unknown> };
  const { code, message, suggestions, data } = Object(error) as Record<string, unknown>;
  if (typeof code !== "string" || typeof message !== "string") {
    const found = status < 400 ? "a reply" : "the error";
    const why = `the server answered with status ${status}, and not with ${found} of a service; check its address`;
    return errorOf("network", why, { data: { status }, retryable: status >= 500 });
  }
  const list = Array.isArray(suggestions) ? (suggestions as string[]) : [];
  return errorOf(code, message, { data, suggestions: list, retryable: status === 429 || status === 503 });
}
