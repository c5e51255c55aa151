/** Reads the iterables that methods of an environment return: in pieces, up to a limit, and no longer than they are needed. */

import { EmendError } from "../errors.js";
import { inNewTurn } from "../macrotask.js";
import { shown } from "../validate.js";
import type { FoundFile, ListEntry } from "./environment-types.js";

/** A directory entry, or a file that was found. */
export type Item = string | ListEntry | FoundFile;

/** Maximum number of items of one iterable. */
const ITEMS_MAX = 1_000_000;

/** Number of items after which other work gets a turn. */
const PIECE = 10_000;

/** Limits the wait for the next item. */
type Limited = <T>(next: PromiseLike<T>) => PromiseLike<T>;

/**
 * Returns the items of `given`. An iterator is told its end with `return` when `signal` fires or the limit is reached.
 *
 * @throws {TypeError} if `given` is not iterable.
 * @throws {EmendError} with code `limit_reached`.
 */
export async function gather(
  method: string,
  given: unknown,
  signal: AbortSignal,
  limited: Limited = (next) => next,
): Promise<Item[]> {
  if (Array.isArray(given) && given.length <= PIECE) return [...given] as Item[];
  const { [Symbol.iterator]: some, [Symbol.asyncIterator]: later } = Object(given) as Partial<
    Iterable<Item> & AsyncIterable<Item>
  >;
  if (typeof given === "string" || (typeof some !== "function" && typeof later !== "function")) {
    throw unfit(method, "an array or another iterable", given);
  }
  const iterator =
    typeof later === "function" ? later.call(given as AsyncIterable<Item>) : some?.call(given as Iterable<Item>);
  return taken(method, iterator as Iterator<Item> | AsyncIterator<Item>, signal, limited);
}

async function taken(
  method: string,
  iterator: Iterator<Item> | AsyncIterator<Item>,
  signal: AbortSignal,
  limited: Limited,
): Promise<Item[]> {
  const items: Item[] = [];
  let stop = (_reason: unknown): void => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = reject;
  });
  stopped.catch(() => {});
  const abort = (): void => stop(signal.reason);
  signal.addEventListener("abort", abort);
  let isOpen = true;
  try {
    if (signal.aborted) abort();
    for (;;) {
      const next = iterator.next();
      const { done, value } = isThenable(next) ? await Promise.race([limited(next), stopped]) : next;
      if (done) {
        isOpen = false;
        return items;
      }
      items.push(isThenable(value) ? await value : value);
      if (items.length > ITEMS_MAX) throw tooMany(method);
      if (items.length % PIECE === 0) await Promise.race([new Promise<void>((turn) => inNewTurn(turn)), stopped]);
    }
  } finally {
    signal.removeEventListener("abort", abort);
    if (isOpen) end(iterator);
  }
}

/** Tells an iterator that no more items are needed. */
function end(iterator: Iterator<Item> | AsyncIterator<Item>): void {
  // It may wait for the next item first.
  new Promise((resolve) => resolve(iterator.return?.())).catch(() => {});
}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (Object(value) as Partial<PromiseLike<T>>).then === "function";
}

function tooMany(method: string): EmendError {
  const message = `\`${method}\` returned more than ${ITEMS_MAX.toLocaleString("en")} items; return fewer for one directory`;
  return new EmendError("limit_reached", message);
}

/** Returns the error for a wrong return value of a method. */
export function unfit(method: string, expected: string, given: unknown): TypeError {
  return new TypeError(`\`${method}\` must return ${expected}; it returned ${shown(given)}`);
}
