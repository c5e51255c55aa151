/** Connects a host's environment to the core: checks its return values and maps its exceptions to error codes. */

import { bytesOf } from "../bytes.js";
import { ConfigError, EmendError } from "../errors.js";
import { fieldOf, messageOf } from "../exceptions.js";
import type { Bytes } from "../files/types.js";
import type { Command } from "./command-feed.js";
import { CommandReading, lineToRead } from "./command-reading.js";
import { Compared } from "./compared.js";
import { codeOf, exceptionJson, namedError } from "./environment-errors.js";
import type { ExecutionEnvironment, FileStat, HostWriteOptions, MaybePromise } from "./environment-types.js";
import { FailedWrites } from "./failed-writes.js";
import { gather, type Item, unfit } from "./gathering.js";
import { HostCommand } from "./host-command.js";
import { SearchStamps } from "./search-stamps.js";
import { SharedNames } from "./shared-names.js";
import { Stall } from "./stall.js";
import { TimeLimit } from "./time-limit.js";

/** A running call. `cancel` does not run the host's code before it returns. */
interface RunningCall {
  result: Promise<unknown>;
  cancel(): void;
}

const REQUIRED = ["read", "write", "remove", "stat", "list"] as const;
const PLATFORMS = ["wasm", "linux", "darwin", "windows"];
const OPTIONAL = ["initialize", "glob", "grep", "exec"] as const;

/** Maximum number of concurrent calls of the host's methods within one operation. */
const CONCURRENT_MAX = 16;

/** The fields of an entry, in the order in which they are passed to the core. */
type Fields = [kind: string, size: string, modifiedMs: string];

/** The rejection of a call whose run was cancelled, for the core. */
const CANCELLED = JSON.stringify({ code: "aborted", message: "the run was cancelled" });

/** Time that a cancelled run waits for its write, in milliseconds. */
const WRITE_AFTER_CANCEL_MS = 5_000;

/** The rejection of a write that did not end in that time. */
const WRITE_ABANDONED = JSON.stringify({
  code: "aborted",
  message: `the run was cancelled, and this did not end within ${WRITE_AFTER_CANCEL_MS / 1_000} s; it may still happen`,
});

/** The object behind `HostEnvironment` in Rust, which documents the results of the operations. */
export class HostFiles {
  readonly root: string;
  /** Index into a list that the core shares. */
  readonly platform: number;
  readonly osVersion: string;
  /** Whether the core takes names in upper and lower case for the same, as on this platform. */
  readonly ignoresCase: boolean;
  readonly #host: ExecutionEnvironment;
  readonly #methods: ReadonlySet<string>;
  readonly #limit: TimeLimit;
  /** The pending calls that only read: the function that ends a call, and the run that made the call. */
  readonly #reading = new Map<() => void, object | undefined>();
  /** The pending writes: the function that limits the wait for a write, and the run that made the call. */
  readonly #writing = new Map<(endsRun?: boolean) => void, object | undefined>();
  /** The runs whose writes have a time limit for the moment. */
  readonly #hurried = new Set<object>();
  /** The run that is being polled, and therefore makes the calls. */
  #run: object | undefined;
  /** Runs that read no more. */
  readonly #cancelled = new WeakSet<object>();
  /** Cancelled runs that have written since. They may read, because a write that is taken back reads the file first. */
  readonly #wroteLate = new WeakSet<object>();
  /** Texts that could not be written. */
  readonly #failedWrites = new FailedWrites();
  /** The contents that changes replace. */
  readonly #compared = new Compared();
  readonly #names = new SharedNames();
  /** The knowledge of searches about files that they have not read. */
  readonly #known: SearchStamps;
  /** The pending calls, by which a change that waits for ever is noticed. */
  readonly stall = new Stall();
  /** Cancelled runs that wait for no more writes. */
  readonly #stuck = new WeakSet<object>();

  /** @throws {ConfigError} if `host` lacks a method, or has a property of the wrong type. */
  constructor(host: ExecutionEnvironment) {
    const given = Object(host) as Record<string, unknown>;
    const missing = REQUIRED.filter((name) => typeof given[name] !== "function");
    if (missing.length > 0) {
      const needs = `the environment needs ${missing.map((name) => `\`${name}\``).join(", ")}`;
      throw wrong(`${needs}${adviceFor(host)}`);
    }
    const others = OPTIONAL.filter((name) => given[name] !== undefined);
    const strange = others.find((name) => typeof given[name] !== "function");
    if (strange !== undefined) throw wrong(`the environment's \`${strange}\` must be a function`);
    const { workingDirectory = "/workspace", platform = "wasm", osVersion = "unknown" } = host;
    if (typeof workingDirectory !== "string" || !workingDirectory.startsWith("/") || workingDirectory.includes("\0")) {
      throw wrong("the environment's `workingDirectory` must be an absolute path that begins with `/`");
    }
    this.platform = PLATFORMS.indexOf(platform === "win32" ? "windows" : platform);
    if (this.platform < 0) {
      throw wrong("the environment's `platform` must be linux, darwin, windows or wasm");
    }
    if (typeof osVersion !== "string" || osVersion === "")
      throw wrong("the environment's `osVersion` must be a string with at least one character");
    try {
      this.#limit = new TimeLimit(host.timeoutMs);
    } catch {
      throw wrong("the environment's `timeoutMs` must be a number of milliseconds, 0 or more");
    }
    this.root = workingDirectory;
    this.osVersion = osVersion;
    this.ignoresCase = ["darwin", "windows", "win32"].includes(platform);
    this.#host = host;
    this.#methods = new Set(others);
    this.#known = new SearchStamps(host.searchIndex);
  }

  has(method: string): boolean {
    return this.#methods.has(method);
  }

  /** Starts an operation. The host's code runs after this method has returned, because it may call the agent. */
  call(operation: string, path: string, given: unknown): RunningCall {
    // Writes are awaited, so that no change stays incomplete.
    const writes = operation === "write" || operation === "remove";
    const run = this.#run;
    const isCancelled = run !== undefined && this.#cancelled.has(run);
    if (isCancelled && writes) this.#wroteLate.add(run);
    if (isCancelled && (this.#stuck.has(run) || !this.#wroteLate.has(run))) {
      return { result: Promise.reject(writes ? WRITE_ABANDONED : CANCELLED), cancel: () => {} };
    }
    const abort = new AbortController();
    const ended = this.stall.begin(operation, path, run);
    let over = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const result = new Promise((resolve, reject) => {
      const abandon = (): void => {
        abort.abort();
        reject(writes ? WRITE_ABANDONED : CANCELLED);
      };
      const limit = (endsRun = true): void => {
        timer = setTimeout(() => {
          if (endsRun && run !== undefined) this.#stuck.add(run);
          abandon();
        }, WRITE_AFTER_CANCEL_MS);
      };
      if (isCancelled) limit();
      else if (!writes) this.#reading.set(abandon, run);
      else if (run !== undefined && this.#hurried.has(run)) limit(false);
      else this.#writing.set(limit, run);
      this.#do(operation, path, given, abort.signal, run)
        .then(resolve, (thrown: unknown) => {
          if (this.#limit.isOverdue(thrown)) abort.abort();
          reject(exceptionJson(thrown, operation, path));
        })
        .finally(() => {
          over = true;
          ended();
          clearTimeout(timer);
          this.#reading.delete(abandon);
          this.#writing.delete(limit);
        });
    });
    return {
      result,
      cancel: () => {
        if (!over) queueMicrotask(() => abort.abort());
      },
    };
  }

  /** Starts a command, or reads a command line as the host's shell reads it. */
  exec(settings: string): Command {
    const line = lineToRead(settings);
    if (line === undefined) return new HostCommand(this.#host, settings);
    return new CommandReading(line, PLATFORMS[this.platform] === "windows");
  }

  /** A change of the user begins. */
  beginChange(change: object): void {
    this.#names.begin(change);
  }

  /** Calls `poll`, which advances a run or another operation. The calls that it makes belong to `run`. */
  polling<T>(run: object, poll: () => T): T {
    this.#run = run;
    try {
      return poll();
    } finally {
      this.#run = undefined;
    }
  }

  /**
   * Ends the wait for the calls of a cancelled run that only read, and refuses its later ones: each of them could hang
   * again. Writes have some seconds more, so that a cancelled run ends in any case.
   */
  abandon(run: object): void {
    if (this.#cancelled.has(run)) return;
    this.#cancelled.add(run);
    for (const [end, owner] of [...this.#reading]) if (owner === run) end();
    for (const [limit, owner] of [...this.#writing]) {
      if (owner !== run) continue;
      this.#writing.delete(limit);
      this.#wroteLate.add(run);
      limit();
    }
  }

  /** Gives the pending writes of a run some seconds, and those that it begins in the next seconds. */
  hurry(run: object): void {
    this.#hurried.add(run);
    const timer = setTimeout(() => this.#hurried.delete(run), WRITE_AFTER_CANCEL_MS);
    (timer as { unref?: () => void }).unref?.();
    for (const [limit, owner] of [...this.#writing]) {
      if (owner !== run) continue;
      this.#writing.delete(limit);
      limit(false);
    }
  }

  /** Returns the error of a call with what is known about it here. */
  explained(error: unknown): unknown {
    return this.#named(this.#withCause(error));
  }

  #withCause(error: unknown): unknown {
    return this.#limit.explained(this.#compared.explained(this.#failedWrites.explained(error)));
  }

  /** Returns an error about the root with its path: the core has the empty path. */
  #named(error: unknown): unknown {
    if (!(error instanceof EmendError) || !/^(?:"": | does not exist)/.test(error.message)) return error;
    const { message, code, data, retryable, suggestions, cause } = error;
    const named = message.replace(/^(?:"")?/, JSON.stringify(this.root));
    return new EmendError(code, named, { data, retryable, suggestions, cause });
  }

  /** `run` is the run or the change that makes the call. */
  async #do(operation: string, path: string, given: unknown, signal: AbortSignal, run?: object): Promise<unknown> {
    await undefined;
    switch (operation) {
      case "initialize":
        return void (await this.#host.initialize?.({ signal }));
      case "stat":
        return (await this.#stat(path, signal, run))?.join("\0");
      case "list":
      case "walk":
        return this.#directories(path, (given as string).split("\0"), operation === "walk", signal);
      case "rules":
        return this.#rules(path, signal);
      case "read":
        return this.#readToCompare(path, signal, run);
      case "contents":
        return this.#contents(path, given as string, signal);
      case "write":
        if (path === "") throw new EmendError("invalid_argument", "the path is the root");
        return this.#write(path, given as Bytes, signal, run);
      case "remove":
        return this.#change(path, null, signal, run, (options) =>
          this.#limit.of("remove", this.#host.remove(path, options), signal),
        );
      case "glob": {
        const files = this.#host.glob?.(given as string, { path, signal });
        const found = await this.#gathered("glob", files, signal);
        return (await this.#described("glob", "", found, signal)).join("\0");
      }
      default: {
        const [pattern = "", letter, glob] = (given as string).split("\0");
        const options = { path, ignoreCase: letter === "i", glob: glob || undefined, signal };
        const found = await this.#gathered("grep", this.#host.grep?.(pattern, options), signal);
        // The core reads the files anyway, so it needs no sizes.
        return found.flatMap((item) => [nameOf("grep", item), "f", "0", "0"]).join("\0");
      }
    }
  }

  /** Returns the contents of files that a search below `start` asks for. Those without a match are left out like missing ones. */
  #contents(start: string, given: string, signal: AbortSignal): Promise<(Uint8Array | undefined)[]> {
    const end = given.indexOf("\0\0");
    const search = this.#known.searchOf(start, given.slice(end + 2));
    return mapConcurrent(given.slice(0, end).split("\0"), async (file) => {
      if (search?.excludes(file)) return undefined;
      let content: Uint8Array | undefined;
      const read = this.#readOrKept(file, signal, (bytes) => {
        content = bytes;
      });
      const shown = await orSkipped(read).catch((thrown: unknown) => {
        throw namedError(file, thrown);
      });
      if (content !== undefined) search?.learn(file, content);
      return shown;
    });
  }

  async #stat(
    path: string,
    signal: AbortSignal,
    run?: object,
    note?: (stat: FileStat) => void,
  ): Promise<Fields | undefined> {
    let given: unknown;
    try {
      given = await this.#limit.of("stat", this.#host.stat(path, { signal }), signal);
    } catch (thrown) {
      // A path below a file does not exist either.
      if (codeOf(thrown, "stat").code !== "not_found") throw thrown;
    }
    if (given === null || given === undefined) {
      this.#compared.saw(path, null, run);
      return undefined;
    }
    if (this.#compared.replacedBy(path) === null) this.#compared.forget(path);
    this.#names.identify(run, path, (given as FileStat).identity);
    note?.(given as FileStat);
    return fieldsOf("stat", given as FileStat);
  }

  async #read(path: string, signal: AbortSignal): Promise<Uint8Array> {
    const given: unknown = await this.#limit.of("read", this.#host.read(path, { signal }), signal);
    if (typeof given === "string") return new TextEncoder().encode(given);
    if (given instanceof ArrayBuffer) return new Uint8Array(given);
    if (given === null || given === undefined) throw new EmendError("not_found", `${path} does not exist`);
    const bytes = bytesOf(given);
    if (bytes !== undefined) return bytes;
    throw unfit("read", "a Uint8Array, an ArrayBuffer, a string, or null", given);
  }

  /** Reads a file. After a write that failed half-way, returns the text that the file should have. */
  async #readOrKept(path: string, signal: AbortSignal, found?: (bytes: Uint8Array) => void): Promise<Uint8Array> {
    const bytes = await this.#read(path, signal);
    found?.(bytes);
    return this.#failedWrites.seen(path, bytes, async (content) => {
      const written = this.#host.write(path, content as Bytes, { signal, replaces: bytes });
      await this.#limit.of("write", written, signal);
      found?.(content);
    });
  }

  /** As {@link #readOrKept}. A change that follows replaces what is found. */
  async #readToCompare(path: string, signal: AbortSignal, run: object | undefined): Promise<Uint8Array> {
    this.#compared.forget(path);
    const told = (bytes: Uint8Array): Uint8Array => this.#names.told(run, path, bytes);
    return told(await this.#readOrKept(path, signal, (bytes) => this.#compared.saw(path, told(bytes), run)));
  }

  async #write(path: string, content: Bytes, signal: AbortSignal, run: object | undefined): Promise<void> {
    await this.#change(path, content, signal, run, async (options) => {
      if (this.#names.isSaved(run, path, content)) return;
      try {
        await this.#limit.of("write", this.#host.write(path, content, options), signal);
        this.#names.wrote(run, path, options.replaces, content);
      } catch (thrown) {
        const readNow = (): Promise<Uint8Array | undefined> => this.#read(path, signal).catch(() => undefined);
        const isRefused = codeOf(thrown, "write").code === "stale";
        // The core does not restore a file after a write that it gave up.
        const isGivenUp = signal.aborted || this.#limit.isOverdue(thrown);
        if (!isGivenUp && !isRefused) await this.#failedWrites.fail(path, content, readNow);
        throw thrown;
      }
    });
  }

  /** Changes a file, unless that would restore it after a change that the host has refused. */
  async #change(
    path: string,
    content: Uint8Array | null,
    signal: AbortSignal,
    run: object | undefined,
    work: (options: HostWriteOptions) => MaybePromise<void>,
  ): Promise<void> {
    if (this.#compared.restores(path, run, content)) return;
    try {
      const replaces = this.#compared.replacedBy(path);
      await work(replaces === undefined ? { signal } : { signal, replaces });
    } catch (thrown) {
      const { code, reason } = codeOf(thrown, content === null ? "remove" : "write");
      if (code === "stale") this.#compared.refuse(path, run, reason ?? messageOf(thrown));
      throw thrown;
    } finally {
      this.#compared.forget(path);
      this.#known.forget(path);
    }
    this.#failedWrites.done(path);
  }

  /** Returns the entries of each directory and, with `rules`, its `.gitignore`. */
  async #directories(start: string, paths: readonly string[], rules: boolean, signal: AbortSignal): Promise<string> {
    const listed = await mapConcurrent(paths, async (path) => {
      const listing = this.#directory(path, rules, signal);
      // Below the start, a missing or forbidden directory is skipped. Other errors must not look like an empty
      // directory.
      return path === start ? listing : ((await orSkipped(listing)) ?? ["", "0"]);
    });
    return listed.flat().join("\0");
  }

  async #directory(path: string, rules: boolean, signal: AbortSignal): Promise<string[]> {
    const entries = await this.#gathered("list", this.#host.list(path, { signal }), signal);
    const fields = await this.#described("list", path === "" ? "" : `${path}/`, entries, signal, rules);
    const has = rules && entries.some((item) => nameOf("list", item) === ".gitignore");
    return [has ? await this.#rules(path, signal) : "", String(fields.length / 4), ...fields];
  }

  /** Returns a directory's `.gitignore`, or an empty text. */
  async #rules(path: string, signal: AbortSignal): Promise<string> {
    const rules = await orSkipped(this.#read(path === "" ? ".gitignore" : `${path}/.gitignore`, signal));
    return new TextDecoder().decode(rules).replaceAll("\0", "\ufffd");
  }

  /** Returns the items that a method has found. The time limit holds for each item. */
  async #gathered(method: "list" | "glob" | "grep", found: unknown, signal: AbortSignal): Promise<Item[]> {
    return gather(method, await this.#limit.of(method, found, signal), signal, (next) =>
      this.#limit.of(method, next, signal),
    );
  }

  /** Returns the name and the fields of each entry, four texts per entry. Entries that no longer exist are skipped. */
  async #described(
    method: "list" | "glob",
    base: string,
    items: readonly Item[],
    signal: AbortSignal,
    forSearch = false,
  ): Promise<string[]> {
    const described = await mapConcurrent(items, async (item) => {
      const name = nameOf(method, item);
      const known =
        typeof item === "object" && item.kind !== undefined && (item.kind !== "file" || item.size !== undefined);
      // The core asks for a link's target only when it follows the link.
      const note = forSearch ? (stat: FileStat): void => this.#known.see(base + name, stat) : undefined;
      if (known) note?.(item as FileStat);
      const fields = known
        ? fieldsOf(method, { target: "", ...(item as FileStat) })
        : await orSkipped(this.#stat(base + name, signal, undefined, note));
      return fields === undefined ? [] : [name, ...fields];
    });
    return described.flat();
  }
}

/** Returns the name of an entry of `list`, or the path of a file that `glob` or `grep` found. */
function nameOf(method: "list" | "glob" | "grep", item: Item): string {
  const key = method === "list" ? "name" : "path";
  const name: unknown = typeof item === "string" ? item : (Object(item) as Record<string, unknown>)[key];
  if (typeof name !== "string" || name === "" || name.includes("\0"))
    throw unfit(method, `strings, or objects with a \`${key}\``, item);
  if (method === "list" && (name.includes("/") || name === "." || name === "..")) {
    throw unfit(method, "names of entries without their directory", item);
  }
  return name;
}

function fieldsOf(method: string, given: FileStat): Fields {
  const { kind, size = 0, modifiedMs = 0, target } = Object(given) as FileStat;
  const letter = { file: "f", directory: "d", link: "l", other: "o" }[kind];
  if (letter === undefined) throw unfit(method, "a `kind` that is file, directory, link or other", given);
  if (kind === "file" && (given.size === undefined || !(size >= 0 && size <= Number.MAX_SAFE_INTEGER))) {
    throw unfit(method, "the `size` of a file, in bytes", given);
  }
  if (!(Math.abs(modifiedMs) <= Number.MAX_SAFE_INTEGER)) throw unfit(method, "`modifiedMs` as a number", given);
  if (kind === "link" && (typeof target !== "string" || target.includes("\0")))
    throw unfit(method, "the `target` of a link", given);
  return [
    kind === "link" ? `l${target}` : letter,
    String(Math.trunc(size)),
    String(Math.max(0, Math.trunc(modifiedMs))),
  ];
}

/** Returns `undefined` if the entry is missing, forbidden, or of another type than expected. */
async function orSkipped<T>(answer: Promise<T>): Promise<T | undefined> {
  return answer.catch((thrown: unknown) => {
    if (codeOf(thrown, "read").code === "io_error") throw thrown;
    return undefined;
  });
}

/** Maps items with a limited number of concurrent calls, and keeps their order. */
async function mapConcurrent<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const done = new Array<R>(items.length);
  const ahead = items.entries();
  const some = async (): Promise<void> => {
    for (const [index, item] of ahead) done[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENT_MAX, items.length) }, some));
  return done;
}

/** Returns what to do about a value that is given in place of an environment. */
function adviceFor(given: unknown): string {
  if (typeof given === "string") return "; for a directory on disk, use `nodeFs(path)` of `emend/node`";
  return typeof fieldOf(given, "then") === "function" ? "; it is a promise: put `await` before it" : "";
}

function wrong(message: string): ConfigError {
  return new ConfigError("configuration", message);
}
