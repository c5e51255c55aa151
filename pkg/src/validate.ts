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

const NOT_PLAIN = "the options must be plain data, except for documented functions";

/** Encodes the options of a client or a request as JSON for Rust. */
export function settingsJson(settings: unknown, replacer?: (name: string, value: unknown) => unknown): string {
  try {
    return toJson(settings, replacer) ?? "null";
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    throw new ConfigError("configuration", NOT_PLAIN, { cause });
  }
}

/**
 * Encodes the options of an agent as JSON for Rust. `JSON.stringify` alone would drop a function and turn NaN into an
 * absent option. `Infinity`, a limit that does not limit, is one.
 */
export function agentJson(settings: object): string {
  return settingsJson(settings, (name, value) => {
    if (typeof value === "function" || typeof value === "symbol" || Number.isNaN(value)) {
      throw new ConfigError(
        "configuration",
        `\`${name}\` is ${typeof value === "number" ? "NaN" : `a ${typeof value}`}; ${NOT_PLAIN}`,
      );
    }
    return value === Infinity ? undefined : value;
  });
}

/** Returns `value` if it is an object and not an array. `what` names the options in the error. */
export function requireOptions<T>(what: string, value: T): T {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new ConfigError("configuration", `${what} must be an object`);
}

/** Returns the error for a wrong argument. */
export function invalid(message: string): EmendError {
  return new EmendError("invalid_argument", message);
}
