/** The wasm module of `emend/edit`: its glue, its default source and its loader, and texts on their way into its memory. */

import { source } from "#wasm/edit.js";
import * as glue from "../edit-core.js";
import { LazyModule } from "./lazy-module.js";

export { glue };

const NAME = { name: "the module of `emend/edit`", option: "await load({ wasm })", file: "emend/edit.wasm" };

export const editModule = new LazyModule(glue, NAME, source);

/** Returns the module's memory. After a panic it is a different object. */
export const memory = (): WebAssembly.Memory => glue.roomMemory() as WebAssembly.Memory;

const encoder = new TextEncoder();

/**
 * Writes a text into a slot of the module's memory as UTF-8, and returns its length in bytes. Call it inside the guard.
 *
 * Most texts are ASCII, so a buffer of one byte per character is tried first.
 */
export function putText(slot: number, text: string): number {
  let [read, written, room] = [0, 0, text.length];
  do {
    const start = glue.roomFor(slot, room);
    const { buffer } = memory();
    const done = encoder.encodeInto(
      read === 0 ? text : text.slice(read),
      new Uint8Array(buffer, start + written, room - written),
    );
    read += done.read;
    written += done.written;
    room = written + 3 * (text.length - read);
  } while (read < text.length);
  return written;
}
