/**
 * Reads command lines for rules about commands, with the parser in the shell's module.
 *
 * The core asks for a reading in the way in which it starts a command. The module is loaded by the first reading.
 */

import type { WasmSource } from "../wasm/types.js";
import type { Command } from "./command-feed.js";

/** Returns the line that is to be read, if the core asks for a reading: its fields begin with an empty root. */
export function lineToRead(fields: string): string | undefined {
  return fields.startsWith("\0") ? fields.slice(1) : undefined;
}

/** The reading of a line. Its only item is the encoded reading; it rejects if the line has none. */
export class CommandReading implements Command {
  readonly #reading: Promise<string>;

  constructor(line: string, isWindows: boolean, source?: WasmSource | PromiseLike<WasmSource>) {
    this.#reading = read(line, isWindows, source);
    // Without a reader, a failure is of no interest.
    this.#reading.catch(() => {});
  }

  next(): Promise<string> {
    return this.#reading;
  }

  cancel(): void {}
}

async function read(
  line: string,
  isWindows: boolean,
  source: WasmSource | PromiseLike<WasmSource> | undefined,
): Promise<string> {
  const { glue, shellModule } = await import("../wasm/shell.js");
  await shellModule.load(source === undefined ? {} : { wasm: source });
  const reading = shellModule.live().call(() => glue.readCommandLine(line, isWindows));
  if (reading === undefined) throw new Error("the command line is opaque");
  return reading;
}
