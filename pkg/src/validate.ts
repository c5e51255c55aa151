/**
 * Checks of arguments, made before a call into wasm.
 *
 * The guard around wasm treats every unexpected exception as a defect of the module, so wrong arguments must not get
 * there.
 */

import { snakeKeys } from "./case.js";
import { ConfigError, EmendError } from "./errors.js";
import { toJson } from "./texts.js";

/** Returns `value` if it is a string. `what` names it in the error. */
export function requireText(what: string, value: unknown): string {
  if (typeof value !== "string") throw invalid(`${what} must be a string`);
  return value;
}

/** Returns a whole number of 0 or more, or `undefined` if `value` is. */
export function optionalCount(what: string, value: unknown): number | undefined {
  return value === undefined ? undefined : requireCount(what, value);
}

/** Returns a whole number of 0 or more, at most 2^31 - 1. `Infinity` is accepted. */
export function requireCount(what: string, value: unknown): number {
  if (typeof value !== "number" || !(value >= 0) || (!Number.isInteger(value) && value !== Infinity)) {
    throw invalid(`${what} must be a whole number, 0 or more`);
  }
  return Math.min(value, 2 ** 31 - 1);
}

/** Returns a whole number of 0 or more that a JavaScript number holds exactly. */
export function requireId(what: string, value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw invalid(`${what} must be a whole number, 0 or more`);
  return value as number;
}

/** Returns `value` if it is an object and not an array. */
export function requireRecord(what: string, value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(`${what} must be an object`);
  return value as Record<string, unknown>;
}

/** Encodes options as JSON for Rust, with snake_case keys. Rust rejects unknown keys. */
export function optionsJson(what: string, value: unknown): string {
  try {
    return toJson(snakeKeys(value)) ?? "null";
  } catch (cause) {
    throw new EmendError("invalid_argument", `${what} must be plain data`, { cause });
  }
}

/** Encodes the options of an agent, a client or a request as JSON for Rust. */
export function settingsJson(settings: unknown): string {
  try {
    return toJson(settings) ?? "null";
  } catch (cause) {
    throw new ConfigError("configuration", "the options must be plain data, except for documented functions", {
      cause,
    });
  }
}

/** Returns the error for a wrong argument. */
export function invalid(message: string): EmendError {
  return new EmendError("invalid_argument", message);
}
