/** An environment of the host's, as the core calls it: what it gives is checked, what it throws is mapped. */

import { ConfigError, EmendError } from "../errors.js";
import { codeOf, describe } from "./environment-errors.js";
import type { ExecutionEnvironment, FileStat, FoundFile, ListEntry } from "./environment-types.js";
import { HostCommand } from "./host-command.js";

/** A call under way. `cancel` runs nothing of the host's before it returns. */
interface Call {
  result: Promise<unknown>;
  cancel(): void;
}

const REQUIRED = ["read", "write", "remove", "stat", "list"] as const;
const PLATFORMS = ["wasm", "linux", "darwin", "windows"];
const OPTIONAL = ["initialize", "glob", "grep", "exec"] as const;

/** How many answers of the host's are waited for at a time. */
const AT_ONCE = 16;

/** What is told of an entry, in the order in which it crosses. */
type Fields = [kind: string, size: string, modifiedMs: string];

/** The core's `HostEnvironment`; what its operations give is said there. */
export class HostFiles {
  readonly root: string;
  /** Its place in the list that the core has, too. */
  readonly platform: number;
  readonly osVersion: string;
  readonly #host: ExecutionEnvironment;
  readonly #methods: ReadonlySet<string>;
  /** Ends the calls that may be given up. */
  readonly #reading = new Set<() => void>();

  /** @throws {ConfigError} if `host` lacks a method, or something in it is of the wrong kind. */
  constructor(host: ExecutionEnvironment) {
    const given = Object(host) as Record<string, unknown>;
    const missing = REQUIRED.filter((name) => typeof given[name] !== "function");
    if (missing.length > 0) throw wrong(`the environment lacks ${missing.map((name) => `\`${name}\``).join(", ")}`);
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
    if (typeof osVersion !== "string" || osVersion === "") throw wrong("the environment's `osVersion` must be a text");
    this.root = workingDirectory;
    this.osVersion = osVersion;
    this.#host = host;
    this.#methods = new Set(others);
  }

  has(method: string): boolean {
    return this.#methods.has(method);
  }

  /** Starts an operation; the host's code runs after this has returned, since it may call back in. */
  call(operation: string, path: string, given: unknown): Call {
    const abort = new AbortController();
    let over = false;
    const result = new Promise((resolve, reject) => {
      const giveUp = (): void => {
        abort.abort();
        reject(JSON.stringify({ code: "aborted", message: "the run was cancelled" }));
      };
      // What writes is waited for, so that nothing stays half-way.
      if (operation !== "write" && operation !== "remove") this.#reading.add(giveUp);
      this.#do(operation, path, given, abort.signal)
        .then(resolve, (thrown: unknown) => reject(describe(thrown, operation)))
        .finally(() => {
          over = true;
          this.#reading.delete(giveUp);
        });
    });
    return {
      result,
      cancel: () => {
        if (!over) queueMicrotask(() => abort.abort());
      },
    };
  }

  exec(settings: string): HostCommand {
    return new HostCommand(this.#host, settings);
  }

  /** Ends the wait for all pending calls that only read. */
  abandonReads(): void {
    for (const end of [...this.#reading]) end();
  }

  async #do(operation: string, path: string, given: unknown, signal: AbortSignal): Promise<unknown> {
    await undefined;
    switch (operation) {
      case "initialize":
        return void (await this.#host.initialize?.({ signal }));
      case "stat":
        return (await this.#stat(path, signal))?.join("\0");
      case "list":
      case "walk":
        return this.#directories(path, (given as string).split("\0"), operation === "walk", signal);
      case "rules":
        return this.#rules(path, signal);
      case "read":
        return this.#read(path, signal);
      case "contents":
        return each((given as string).split("\0"), (file) => passedOver(this.#read(file, signal)));
      case "write":
        if (path === "") throw new EmendError("invalid_argument", "it is the root");
        return void (await this.#host.write(path, given as Uint8Array, { signal }));
      case "remove":
        return void (await this.#host.remove(path, { signal }));
      case "glob": {
        const found = await gather("glob", await this.#host.glob?.(given as string, { path, signal }));
        return (await this.#described("glob", "", found, signal)).join("\0");
      }
      default: {
        const [pattern = "", letter, glob] = (given as string).split("\0");
        const options = { path, ignoreCase: letter === "i", glob: glob || undefined, signal };
        const found = await gather("grep", await this.#host.grep?.(pattern, options));
        // They are read anyway.
        return found.flatMap((item) => [nameOf("grep", item), "f", "0", "0"]).join("\0");
      }
    }
  }

  async #stat(path: string, signal: AbortSignal): Promise<Fields | undefined> {
    let given: unknown;
    try {
      given = await this.#host.stat(path, { signal });
    } catch (thrown) {
      // What is below a file is not there either.
      if (codeOf(thrown, "stat").code === "not_found") return undefined;
      throw thrown;
    }
    return given === null || given === undefined ? undefined : fieldsOf("stat", given as FileStat);
  }

  async #read(path: string, signal: AbortSignal): Promise<Uint8Array> {
    const given: unknown = await this.#host.read(path, { signal });
    if (typeof given === "string") return new TextEncoder().encode(given);
    if (given instanceof Uint8Array) return given;
    if (given instanceof ArrayBuffer) return new Uint8Array(given);
    if (given === null || given === undefined) throw new EmendError("not_found", `${path} does not exist`);
    throw unfit("read", "a Uint8Array, an ArrayBuffer, a string, or null", given);
  }

  /** Gives of each directory its `.gitignore`, if `rules` are wanted, and its entries. */
  async #directories(start: string, paths: readonly string[], rules: boolean, signal: AbortSignal): Promise<string> {
    const listed = await each(paths, async (path) => {
      const listing = this.#directory(path, rules, signal);
      // Below the start, one that is gone or forbidden is passed over; whatever else fails must not look like no files.
      return path === start ? listing : ((await passedOver(listing)) ?? ["", "0"]);
    });
    return listed.flat().join("\0");
  }

  async #directory(path: string, rules: boolean, signal: AbortSignal): Promise<string[]> {
    const entries = await gather("list", await this.#host.list(path, { signal }));
    const fields = await this.#described("list", path === "" ? "" : `${path}/`, entries, signal);
    const has = rules && entries.some((item) => nameOf("list", item) === ".gitignore");
    return [has ? await this.#rules(path, signal) : "", String(fields.length / 4), ...fields];
  }

  /** Gives a directory's `.gitignore`, which need not be there. */
  async #rules(path: string, signal: AbortSignal): Promise<string> {
    const rules = await passedOver(this.#read(path === "" ? ".gitignore" : `${path}/.gitignore`, signal));
    return new TextDecoder().decode(rules).replaceAll("\0", "\ufffd");
  }

  /** Gives the name and the fields of each entry, four texts in all. One that is gone since is left out. */
  async #described(
    method: "list" | "glob",
    base: string,
    items: readonly Item[],
    signal: AbortSignal,
  ): Promise<string[]> {
    const described = await each(items, async (item) => {
      const name = nameOf(method, item);
      const known =
        typeof item === "object" && item.kind !== undefined && (item.kind !== "file" || item.size !== undefined);
      // What a link says is only asked when it is followed.
      const fields = known
        ? fieldsOf(method, { target: "", ...(item as FileStat) })
        : await passedOver(this.#stat(base + name, signal));
      return fields === undefined ? [] : [name, ...fields];
    });
    return described.flat();
  }
}

type Item = string | ListEntry | FoundFile;

async function gather(method: string, given: unknown): Promise<Item[]> {
  const { [Symbol.iterator]: some, [Symbol.asyncIterator]: later } = Object(given) as Partial<
    Iterable<Item> & AsyncIterable<Item>
  >;
  if (typeof given === "string" || (typeof some !== "function" && typeof later !== "function")) {
    throw unfit(method, "an array, or anything else to iterate over", given);
  }
  const items: Item[] = [];
  for await (const item of given as Iterable<Item> | AsyncIterable<Item>) items.push(item);
  return items;
}

/** Returns the name of an entry; a path where files are found. */
function nameOf(method: "list" | "glob" | "grep", item: Item): string {
  const key = method === "list" ? "name" : "path";
  const name: unknown = typeof item === "string" ? item : (Object(item) as Record<string, unknown>)[key];
  if (typeof name !== "string" || name === "" || name.includes("\0"))
    throw unfit(method, `texts, or objects with a \`${key}\``, item);
  if (method === "list" && (name.includes("/") || name === "." || name === "..")) {
    throw unfit(method, "names of entries, without their directory", item);
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

/** Does without what is gone, forbidden, or something else than it was. */
async function passedOver<T>(answer: Promise<T>): Promise<T | undefined> {
  return answer.catch((thrown: unknown) => {
    if (codeOf(thrown, "read").code === "io_error") throw thrown;
    return undefined;
  });
}

/** Does something with each item, with a few at a time. */
async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const done = new Array<R>(items.length);
  const ahead = items.entries();
  const some = async (): Promise<void> => {
    for (const [index, item] of ahead) done[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, some));
  return done;
}

/** Refuses what a method gave. */
export function unfit(method: string, expected: string, given: unknown): TypeError {
  return new TypeError(`\`${method}\` must give ${expected}; it gave ${shown(given)}`);
}

/** How much of a value an error shows, in characters. */
const SHOWN_MAX = 60;

function shown(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // What is no plain data has a name at least.
  }
  text ??= String(value);
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}

function wrong(message: string): ConfigError {
  return new ConfigError("configuration", message);
}
