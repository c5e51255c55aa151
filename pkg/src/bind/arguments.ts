/** Checks of what the host passes to a binding. */

import { invalid, requireRecord, shown } from "../validate.js";
import type { BindOptions, TextBuffer, TextChange } from "./types.js";

/** Returns `buffer` if it has the functions of a buffer. */
export function checkedBuffer<T extends TextBuffer & BindOptions>(buffer: T): T {
  requireRecord("the buffer", buffer);
  for (const name of ["read", "apply", "onChange"] as const) {
    if (typeof buffer[name] !== "function") throw invalid(`the buffer must have a function \`${name}\``);
  }
  for (const name of ["onError", "onSync", "onEnd"] as const) {
    if (buffer[name] !== undefined && typeof buffer[name] !== "function")
      throw invalid(`\`${name}\` must be a function`);
  }
  return buffer;
}

/** Returns `value` if it is one of `known`, of which the first one is the default. */
export function chosen<T extends string>(what: string, value: T | undefined, known: readonly [T, ...T[]]): T {
  if (value === undefined) return known[0];
  if (!known.includes(value)) throw invalid(`${what} is ${shown(value)}, expected one of ${known.join(", ")}`);
  return value;
}

/**
 * Returns the reported changes in order. Returns undefined if they are not changes of a text of `length`: then only the
 * whole text tells what changed.
 */
export function checkedChanges(changes: readonly TextChange[], length: number): readonly TextChange[] | undefined {
  if (!Array.isArray(changes) || changes.some((change) => typeof change !== "object" || change === null))
    return undefined;
  const sorted = [...(changes as readonly TextChange[])].sort((a, b) => a.from - b.from || a.to - b.to);
  let at = 0;
  for (const { from, to, insert } of sorted) {
    if (!(from >= at && to >= from && to <= length) || typeof insert !== "string") return undefined;
    at = to;
  }
  return sorted;
}
