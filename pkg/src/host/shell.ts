/**
 * Runs commands in the emulated shell, over the files in the core.
 *
 * The shell and the core are two wasm modules that share no memory. A script runs in the shell's module; each of its
 * file operations is a call into the core.
 */

import type { FilesHandle } from "../core.js";
import { ConfigError } from "../errors.js";
import { messageOf } from "../exceptions.js";
import { requireOptions } from "../validate.js";
import type { Driver, WasmInstance } from "../wasm/instance.js";
import { type Command, type CommandEnd, CommandFeed, commandSettings, type OutputStream } from "./command-feed.js";
import { CommandReading, lineToRead } from "./command-reading.js";
import type { ShellOptions } from "./types.js";

/** Returns the function that starts commands over the files of `core` and reads command lines, or `undefined` if the option is off. */
export function shellOf(
  core: WasmInstance,
  option: boolean | ShellOptions | undefined,
): ((settings: string, files: FilesHandle | undefined) => Command) | undefined {
  if (option === undefined || option === false) return undefined;
  const { wasm: source, ...others } = option === true ? {} : requireOptions("`shell`, if not true or false,", option);
  if (Object.keys(others).length > 0) throw new ConfigError("configuration", "`shell` takes only `wasm`");
  return (settings, files) => {
    const line = lineToRead(settings);
    if (line !== undefined) return new CommandReading(line, false, source);
    return new Script(core, settings, files as FilesHandle, source);
  };
}

class Script implements Command {
  readonly #feed = new CommandFeed();
  readonly #drivers = new Set<Driver>();
  #stop: (() => void) | undefined;
  #cancelled = false;

  constructor(core: WasmInstance, settings: string, files: FilesHandle, source: ShellOptions["wasm"]) {
    this.#run(core, settings, files, source)
      .then(
        (end) => this.#feed.end(end),
        (thrown: unknown) => this.#feed.fail(messageOf(thrown)),
      )
      .finally(() => core.release(files));
  }

  next(): Promise<string> {
    return this.#feed.next();
  }

  cancel(): void {
    this.#cancelled = true;
    // The core is inside a call here and must not be entered.
    queueMicrotask(() => this.#stop?.());
  }

  async #run(
    core: WasmInstance,
    settings: string,
    files: FilesHandle,
    source: ShellOptions["wasm"],
  ): Promise<CommandEnd> {
    const { glue, shellModule } = await import("../wasm/shell.js");
    await shellModule.load(source === undefined ? {} : { wasm: source });
    const shell = shellModule.live();
    const script = shell.call(() => new glue.ScriptHandle());
    this.#stop = () => {
      if (!shell.isDead) shell.call(() => script.cancel());
    };
    if (this.#cancelled) this.#stop();
    const given = JSON.stringify(commandSettings(settings));
    const decoders = { stdout: decoder(), stderr: decoder() };
    const output = (number: number, bytes: Uint8Array): void => {
      const stream: OutputStream = number === 1 ? "stdout" : "stderr";
      // Decoding as a stream never splits a character.
      this.#feed.print(stream, decoders[stream].decode(bytes, { stream: true }));
    };
    try {
      const end = await shell.run<CommandEnd>(
        () => script.run(given, fileOperations(core, files), output),
        this.#drivers,
      );
      for (const stream of ["stdout", "stderr"] as const) this.#feed.print(stream, decoders[stream].decode());
      return end;
    } finally {
      this.#stop = undefined;
      shell.release(script);
    }
  }
}

/** Returns a decoder of UTF-8 in pieces. It keeps a byte order mark as a character. */
function decoder(): TextDecoder {
  return new TextDecoder("utf-8", { ignoreBOM: true });
}

/** Returns the file operations that the shell's module calls. Each one goes through the core's guard. */
function fileOperations(core: WasmInstance, files: FilesHandle): object {
  return {
    entry: (path: string) => core.call(() => files.entry(path)),
    entries: (path: string) => core.call(() => files.entries(path)),
    read: (path: string) => core.call(() => files.read(path)),
    // `content` is a view of the shell's memory. The core copies it.
    write: (path: string, content: Uint8Array) => core.call(() => files.write(path, content)),
    make: (path: string, target?: string) => core.call(() => files.make(path, target)),
    readLink: (path: string) => core.call(() => files.readLink(path)),
    remove: (path: string, recursive: boolean) => core.call(() => files.remove(path, recursive)),
    rename: (from: string, to: string) => core.call(() => files.rename(from, to)),
  };
}
