/** Errors that the core names. */

import {
  AbortError,
  BusyError,
  ConfigError,
  ConflictError,
  EmendError,
  type ErrorDetails,
  PanicError,
  ProviderError,
} from "./errors.js";

const CLASSES = { AbortError, BusyError, ConfigError, ConflictError, PanicError, ProviderError };

/**
 * Creates an error of the class that the core names.
 * @internal
 */
export function makeError(className: string, code: string, message: string, details?: ErrorDetails): EmendError {
  // Of the core's tools, only the model sees the code. A call of the caller times out because a provider was slow.
  const name = code === "timeout" ? "ProviderError" : className;
  const known = Object.hasOwn(CLASSES, name) ? CLASSES[name as keyof typeof CLASSES] : EmendError;
  return new known(code, message, details);
}
