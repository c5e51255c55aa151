/**
 * Connects the searches of the core with the index of an environment.
 *
 * A search lists the files before it asks for their contents. A file is left out only if the index excludes it in the state that
 * this listing has shown.
 */

import { ConfigError } from "../errors.js";
import type { FileStat, SearchIndex } from "./environment-types.js";

/** One search, as the index sees it. */
export interface IndexedSearch {
  excludes(file: string): boolean;
  learn(file: string, content: Uint8Array): void;
}

/** The properties of the files that searches have listed. */
export class SearchStamps {
  #index: SearchIndex | undefined;
  readonly #stamps = new Map<string, FileStat>();

  /** @throws {ConfigError} if the index lacks a method. */
  constructor(index: SearchIndex | undefined) {
    if (index === undefined) return;
    const given = Object(index) as Record<string, unknown>;
    const missing = ["excludes", "learn", "forget"].find((name) => typeof given[name] !== "function");
    if (missing !== undefined || typeof given.filesMin !== "number") {
      const message = `the environment's \`searchIndex\` needs \`${missing ?? "filesMin"}\``;
      throw new ConfigError("configuration", message);
    }
    this.#index = index;
  }

  /** Notes the properties of a file that a search has listed. */
  see(path: string, stat: FileStat): void {
    if (this.#index !== undefined && stat.kind === "file") this.#stamps.set(path, stat);
  }

  /** Notes that the agent has changed a file. */
  forget(path: string): void {
    this.#stamps.delete(path);
    this.#index?.forget(path);
  }

  /**
   * Returns the search below `start` for a query, which is what the operation `grep` gets; `undefined` if the index is not used. A
   * search of one file lists nothing.
   */
  searchOf(start: string, query: string): IndexedSearch | undefined {
    const index = this.#index;
    const fields = query.split("\0");
    // A pattern may contain the separator.
    if (index === undefined || fields.length !== 3 || this.#stamps.size < index.filesMin) return undefined;
    const [pattern, letter] = fields as [string, string, string];
    const stampOf = (file: string): FileStat | undefined => (file === start ? undefined : this.#stamps.get(file));
    return {
      excludes: (file) => {
        const stat = stampOf(file);
        const verdict: unknown = stat !== undefined && index.excludes(file, stat, pattern, letter === "i");
        // That of another thread answers late.
        if (typeof verdict !== "boolean") this.#index = undefined;
        return verdict === true;
      },
      learn: (file, content) => {
        const stat = stampOf(file);
        if (stat !== undefined) this.#index?.learn(file, stat, content);
      },
    };
  }
}
