/**
 * Checks of arguments, made before a call into wasm.
 *
 * The guard around wasm treats every unexpected exception as a defect of the module, so wrong arguments must not get
 * there.
 */

import { bytesOf } from "./bytes.js";
import { camelName, type Names, snakeKeys, toSnake } from "./case.js";
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

/** Returns a flag; false if `value` is `undefined`. */
export function optionalFlag(what: string, value: unknown): boolean {
  if (value !== undefined && typeof value !== "boolean") throw invalid(`${what} must be true or false`);
  return value === true;
}

/** Returns why `value` is not an object with properties, or `undefined` if it is. */
function recordProblem(what: string, value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return `${what} must be an object`;
  if (isThenable(value)) return `${what} must be an object, not a promise; put \`await\` before it`;
  // The content of a Map or a Date is not in its properties: it would be read as an object without any.
  const isPlain = /^\[object (?:Object|Module)\]$/.test(Object.prototype.toString.call(value));
  return isPlain || Object.keys(value).length > 0 ? undefined : `${what} must be an object with properties`;
}

/** Returns whether `value` is a promise, perhaps of another realm. */
function isThenable(value: object): boolean {
  return typeof (value as Partial<PromiseLike<unknown>>).then === "function";
}

/** Returns `value` if it is an object with properties: not an array, a Map or a promise. */
export function requireRecord(what: string, value: unknown): Record<string, unknown> {
  const problem = recordProblem(what, value);
  if (problem !== undefined) throw invalid(problem);
  return value as Record<string, unknown>;
}

/** Returns why `files` is not a record of files, or `undefined` if it is. `what` names it. */
export function filesProblem(what: string, files: unknown): string | undefined {
  if (bytesOf(files) !== undefined || typeof (Object(files) as Partial<Blob>).arrayBuffer === "function")
    return `${what} must be a record of contents by path; unpack an archive with \`await fromZip(…)\``;
  const problem = recordProblem(what, files);
  // The entries of a Map are not the properties of a record: there would be no file without a word.
  if (typeof files !== "object" || Array.isArray(files) || !(Symbol.iterator in Object(files))) return problem;
  return `${what} must be a record of contents by path; use \`Object.fromEntries\``;
}

/** Returns the options of a call if it has no other names than `known`. */
export function optionsOf<T extends object>(value: T, known: readonly (keyof T & string)[]): T {
  const given = requireRecord("the options", value);
  for (const name of Object.keys(given)) {
    if (!(known as readonly string[]).includes(name) && given[name] !== undefined)
      throw invalid(`unknown option ${JSON.stringify(name)}, expected one of ${known.join(", ")}`);
  }
  return value;
}

/** Encodes options as JSON for Rust, with snake_case keys. Rust rejects unknown keys. */
export function optionsJson(what: string, value: unknown): string {
  try {
    return toJson(snakeKeys(value), rejectNaN) ?? "null";
  } catch (cause) {
    const why = cause instanceof NotANumber ? `: ${cause.message}` : "";
    throw new EmendError("invalid_argument", `${what} must be plain data${why}`, { cause });
  }
}

/** Thrown for a number that JSON does not have: `JSON.stringify` would turn it into an absent option. */
class NotANumber extends Error {}

function rejectNaN(name: string, value: unknown): unknown {
  if (Number.isNaN(value)) throw new NotANumber(`\`${camelName(name)}\` is NaN`);
  return value;
}

const NOT_PLAIN = "the options must be plain data, except for documented functions";

/** Encodes the options of a client or a request as JSON for Rust. The names of a table are renamed. */
export function settingsJson(settings: unknown, names?: Names, replacer = rejectNaN): string {
  try {
    return toJson(names === undefined ? settings : toSnake(settings, names), replacer) ?? "null";
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    const found = cause instanceof NotANumber ? `${cause.message}; ` : "";
    throw new ConfigError("configuration", `${found}${NOT_PLAIN}`, { cause });
  }
}

/**
 * Encodes the options of an agent as JSON for Rust. `JSON.stringify` alone would drop a function and turn NaN into an
 * absent option. `Infinity`, a limit that does not limit, is one.
 */
export function agentJson(settings: object): string {
  return settingsJson(settings, undefined, (name, value) => {
    if (typeof value === "function" || typeof value === "symbol" || Number.isNaN(value)) {
      throw new ConfigError(
        "configuration",
        `\`${name}\` is ${typeof value === "number" ? "NaN" : `a ${typeof value}`}; ${NOT_PLAIN}`,
      );
    }
    return value === Infinity ? undefined : value;
  });
}

/** Returns `value` if it is an object with properties. `what` names the options in the error. */
export function requireOptions<T>(what: string, value: T): T {
  const problem = recordProblem(what, value);
  if (problem !== undefined) throw new ConfigError("configuration", problem);
  return value;
}

/** Maximum length of a value in an error message, in characters. */
const SHOWN_MAX = 60;

/** Returns a value as an error message quotes it. */
export function shown(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // Not plain data, for example a cycle.
  }
  text ??= String(value);
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}

/** Returns the error for a wrong argument. */
export function invalid(message: string): EmendError {
  return new EmendError("invalid_argument", message);
}
