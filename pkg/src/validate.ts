/** Plain data on its way in and out: arguments are checked, names are given JavaScript's form. */

import { EmendError } from "./errors.js";

// What goes wrong inside the guard counts as a defect of the module, so arguments are checked before they reach it.

export function requireText(what: string, value: unknown): string {
  if (typeof value !== "string") throw invalid(`${what} must be a string`);
  return value;
}

/** A whole number that is not negative; `undefined` if none is given. */
export function optionalCount(what: string, value: unknown): number | undefined {
  return value === undefined ? undefined : requireCount(what, value);
}

export function requireCount(what: string, value: unknown): number {
  if (typeof value !== "number" || !(value >= 0) || (!Number.isInteger(value) && value !== Infinity)) {
    throw invalid(`${what} must be a whole number, 0 or more`);
  }
  return Math.min(value, 2 ** 31 - 1);
}

/** The number of something that is counted from 1, or from 0: as large as a number can be. */
export function requireId(what: string, value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw invalid(`${what} must be a whole number, 0 or more`);
  return value as number;
}

export function requireRecord(what: string, value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(`${what} must be an object`);
  return value as Record<string, unknown>;
}

/** Writes options for Rust, which refuses names that it does not know. */
export function toJson(what: string, value: unknown): string {
  try {
    return JSON.stringify(snake(value)) ?? "null";
  } catch (cause) {
    throw new EmendError("invalid_argument", `${what} holds something that is not plain data`, { cause });
  }
}

export function invalid(message: string): EmendError {
  return new EmendError("invalid_argument", message);
}

/** Gives the names of `value`, however deep, JavaScript's form: `old_start` becomes `oldStart`. */
export function camel<T>(value: unknown): T {
  const capital = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  return renamed(value, (name) => (name.includes("_") ? capital(name) : name)) as T;
}

function snake(value: unknown): unknown {
  return renamed(value, (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}

function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename));
  if (typeof value !== "object" || value === null) return value;
  const out: Record<string, unknown> = {};
  for (const [name, item] of Object.entries(value)) out[rename(name)] = renamed(item, rename);
  return out;
}
