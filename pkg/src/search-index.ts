/**
 * `emend/index`: an index for searches in an environment with thousands of files. It has no wasm, and importing it does nothing.
 */

import { EmendError } from "./errors.js";
import type { ExecutionEnvironment, SearchIndex } from "./host/environment-types.js";
import { FILES_MIN, SignatureIndex } from "./search-index/index.js";
import { restore, written } from "./search-index/stored.js";
import type { IndexedEnvironment, IndexOptions, IndexStore } from "./search-index/types.js";
import { invalid, optionalCount, optionsOf, requireText } from "./validate.js";

export * from "./errors.js";
export type { SearchIndex } from "./host/environment-types.js";
export type * from "./search-index/types.js";

/** The members of an environment that a class can define. */
const MEMBERS = [
  "workingDirectory",
  "platform",
  "osVersion",
  "read",
  "write",
  "remove",
  "stat",
  "list",
  "glob",
  "grep",
  "exec",
];

/** Time after the last change at which the index is stored. */
const SAVE_MS = 5_000;

/**
 * Returns an environment with an index for its searches. The index learns the files that searches read, so the first search takes as
 * long as without it; later ones read only new and changed files, and those that may have a match. Results are the same.
 *
 * A file counts as unchanged if the environment tells the same size, modification time and `version` as before. Files without a
 * modification time are always read.
 */
export function indexed<Environment extends ExecutionEnvironment>(
  environment: Environment,
  options: IndexOptions = {},
): Environment & IndexedEnvironment {
  if (typeof environment !== "object" || environment === null) throw invalid("the environment must be an object");
  const { filesMin, store } = optionsOf(options, ["filesMin", "store"]);
  const index = new SignatureIndex(optionalCount("`filesMin`", filesMin) ?? FILES_MIN);
  const keeper = store === undefined ? undefined : new Keeper(index, store);
  const searchIndex: SearchIndex = {
    filesMin: index.filesMin,
    excludes: (...given) => index.excludes(...given),
    learn: (...given) => index.learn(...given),
    forget: (path) => index.forget(path),
  };
  // Those of a class are not its own, and need it.
  const given = environment as unknown as Record<string, unknown>;
  const own = Object.fromEntries(
    MEMBERS.filter((name) => given[name] !== undefined).map((name) => {
      const member = given[name];
      return [name, typeof member === "function" ? member.bind(environment) : member];
    }),
  );
  return {
    ...environment,
    ...own,
    async initialize(call) {
      await keeper?.load();
      await environment.initialize?.(call);
    },
    searchIndex,
    indexSize: () => index.size,
    saveIndex: async () => keeper?.save(),
  };
}

/** Returns a store in the browser's private file system. Each project needs a name of its own. */
export function opfsIndexStore(name: string): IndexStore {
  const file = `${encodeURIComponent(requireText("the name", name))}.index`;
  const directory = async (): Promise<Folder> => {
    const storage = (globalThis as { navigator?: { storage?: { getDirectory?(): Promise<unknown> } } }).navigator
      ?.storage;
    if (storage?.getDirectory === undefined) {
      throw new EmendError("unsupported", "there is no private file system here (`navigator.storage.getDirectory`)");
    }
    return ((await storage.getDirectory()) as Folder).getDirectoryHandle(".emend-index", { create: true });
  };
  return {
    async load() {
      const handle = await (await directory()).getFileHandle(file, { create: true });
      return new Uint8Array(await (await handle.getFile()).arrayBuffer());
    },
    async save(bytes) {
      const handle = await (await directory()).getFileHandle(file, { create: true });
      const writable = await handle.createWritable();
      await writable.write(bytes);
      await writable.close();
    },
  };
}

/** The methods of a directory of the private file system, which older declarations of the DOM lack. */
interface Folder {
  getDirectoryHandle(name: string, options: { create: boolean }): Promise<Folder>;
  getFileHandle(
    name: string,
    options: { create: boolean },
  ): Promise<{
    getFile(): Promise<{ arrayBuffer(): Promise<ArrayBuffer> }>;
    createWritable(): Promise<{ write(bytes: Uint8Array): Promise<void>; close(): Promise<void> }>;
  }>;
}

/** Loads and saves an index. Without its store the index works, and is empty at the next start. */
class Keeper {
  readonly #index: SignatureIndex;
  readonly #store: IndexStore;
  #loading: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(index: SignatureIndex, store: IndexStore) {
    this.#index = index;
    this.#store = store;
    index.changed = () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.save().catch(() => {}), SAVE_MS);
      (this.#timer as { unref?: () => void }).unref?.();
    };
  }

  load(): Promise<void> {
    this.#loading ??= (async () => {
      const bytes = await this.#store.load();
      if (bytes) restore(this.#index, bytes);
    })().catch(() => {});
    return this.#loading;
  }

  async save(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#store.save(written(this.#index));
  }
}
