/** Loads the module with the editing engines, and hands texts to it. */

import * as glue from "./edit-core.js";
import { editUrl } from "./edit-url.js";
import { Loader } from "./loader.js";

export { glue };

export const editModule = new Loader(glue, editUrl);

/** The module's memory; another one after a panic. */
export const memory = (): WebAssembly.Memory => glue.roomMemory() as WebAssembly.Memory;

const encoder = new TextEncoder();

/**
 * Puts a text into a slot of the module's memory, and returns how many bytes it takes there. Called inside the guard.
 *
 * Most texts are ASCII: room for one byte a character is tried first.
 */
export function put(slot: number, text: string): number {
  let [read, written, room] = [0, 0, text.length];
  do {
    const start = glue.roomFor(slot, room);
    const { buffer } = memory();
    const done = encoder.encodeInto(read === 0 ? text : text.slice(read), new Uint8Array(buffer, start + written, room - written));
    read += done.read;
    written += done.written;
    room = written + 3 * (text.length - read);
  } while (read < text.length);
  return written;
}
