/**
 * Commands: joins the shell's module to the files in the core.
 *
 * The two modules share no memory. A command's script runs in the one, and whatever it does to files is a call into the
 * other.
 */

import { type Command, type CommandEnd, CommandFeed, type OutputStream, settingsOf } from "./command-feed.js";
import type { FilesHandle } from "./core.js";
import { ConfigError } from "./errors.js";
import type { Core, Driver } from "./instance.js";
import type { ShellOptions } from "./types.js";

/** Returns what starts commands over the files of `core`; `undefined` if there is to be no shell. */
export function shellOf(
  core: Core,
  option: boolean | ShellOptions | undefined,
): ((settings: string, files: FilesHandle) => Command) | undefined {
  if (option === undefined || option === false) return undefined;
  if (option !== true && (typeof option !== "object" || option === null)) {
    throw new ConfigError("configuration", "`shell` must be true, false or an object");
  }
  const wasm = option === true ? undefined : option.wasm;
  return (settings, files) => new Script(core, settings, files, wasm);
}

class Script implements Command {
  readonly #feed = new CommandFeed();
  readonly #drivers = new Set<Driver>();
  #stop: (() => void) | undefined;
  #cancelled = false;

  constructor(core: Core, settings: string, files: FilesHandle, wasm: ShellOptions["wasm"]) {
    this.#run(core, settings, files, wasm)
      .then(
        (end) => this.#feed.end(end),
        (thrown: unknown) => this.#feed.fail(thrown instanceof Error ? thrown.message : String(thrown)),
      )
      .finally(() => {
        if (!core.isDead) core.call(() => files.free());
      });
  }

  next(): Promise<string> {
    return this.#feed.next();
  }

  cancel(): void {
    this.#cancelled = true;
    // The core is in the middle of a call now.
    queueMicrotask(() => this.#stop?.());
  }

  async #run(core: Core, settings: string, files: FilesHandle, wasm: ShellOptions["wasm"]): Promise<CommandEnd> {
    const { glue, shellModule } = await import("./shell-module.js");
    await shellModule.load(wasm === undefined ? {} : { wasm });
    const shell = shellModule.live();
    const script = shell.call(() => new glue.ScriptHandle());
    this.#stop = () => {
      if (!shell.isDead) shell.call(() => script.cancel());
    };
    if (this.#cancelled) this.#stop();
    const given = JSON.stringify(settingsOf(settings));
    const decoders = { stdout: decoder(), stderr: decoder() };
    const output = (number: number, bytes: Uint8Array): void => {
      const stream: OutputStream = number === 1 ? "stdout" : "stderr";
      // Characters come whole.
      this.#feed.tell(stream, decoders[stream].decode(bytes, { stream: true }));
    };
    try {
      const end = await shell.run<CommandEnd>(() => script.run(given, bridge(core, files), output), this.#drivers);
      for (const stream of ["stdout", "stderr"] as const) this.#feed.tell(stream, decoders[stream].decode());
      return end;
    } finally {
      this.#stop = undefined;
      if (!shell.isDead) shell.call(() => script.free());
    }
  }
}

/** Reads UTF-8 that comes in pieces; a mark of byte order is a character like any other. */
function decoder(): TextDecoder {
  return new TextDecoder("utf-8", { ignoreBOM: true });
}

/** The files as the shell's module calls them. Each call goes through the core's guard. */
function bridge(core: Core, files: FilesHandle): object {
  return {
    entry: (path: string) => core.call(() => files.entry(path)),
    entries: (path: string) => core.call(() => files.entries(path)),
    read: (path: string) => core.call(() => files.read(path)),
    // The bytes lie in the shell's memory; the core copies them.
    write: (path: string, content: Uint8Array) => core.call(() => files.write(path, content)),
    make: (path: string, target?: string) => core.call(() => files.make(path, target)),
    readLink: (path: string) => core.call(() => files.readLink(path)),
    remove: (path: string, recursive: boolean) => core.call(() => files.remove(path, recursive)),
    rename: (from: string, to: string) => core.call(() => files.rename(from, to)),
  };
}
