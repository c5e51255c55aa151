/**
 * The files of a server: its list, which is read by parts, and the search in their texts.
 *
 * The list leaves out hidden and ignored files. Those of them that the page has seen are added.
 */
import type { FileMatches } from "emend";
import type { ServiceClient } from "emend/service-client";

/** Number of files of a part of the list, and of the files that are found by a part of their name. */
const PART = 5_000;
const FOUND_MAX = 50;

interface FileEntries {
  readonly files: readonly { readonly file_path: string; readonly n_bytes: number }[];
  readonly next?: string | null;
}

interface SearchResults {
  readonly results: readonly { readonly file_path: string; readonly start_line: number; readonly snippet: string }[];
}

export class RemoteFiles {
  /** The listed files with their sizes. */
  #sizes = new Map<string, number>();
  #next: string | null = null;
  /** Paths that the list may lack. */
  readonly #seen = new Set<string>();
  #isStale = false;

  constructor(private readonly client: ServiceClient) {}

  /** Whether the server has files after those of the list. */
  get hasMore(): boolean {
    return this.#next !== null;
  }

  /** Returns all known paths, in order. */
  get paths(): readonly string[] {
    return [...new Set([...this.#sizes.keys(), ...this.#seen])].sort();
  }

  size(path: string): number {
    return this.#sizes.get(path) ?? 0;
  }

  add(path: string): void {
    if (!this.#sizes.has(path)) this.#seen.add(path);
  }

  remove(path: string): void {
    this.#sizes.delete(path);
    this.#seen.delete(path);
  }

  /** Notes that files may have been created or deleted. */
  noteChange(): void {
    this.#isStale = true;
  }

  /** Reads the list again if files may have been created or deleted since. Returns whether it is another one. */
  async update(): Promise<boolean> {
    // A longer list is read again only by a reload: each part makes the server walk all files.
    if (!this.#isStale || this.hasMore) return false;
    this.#isStale = false;
    const before = this.paths.join("\n");
    const { files, next } = await this.#part("");
    this.#sizes = new Map(files.map(({ file_path, n_bytes }) => [file_path, n_bytes]));
    this.#next = next ?? null;
    // A list has no hidden files; others that it lacks are gone.
    for (const path of this.#seen) if (!isHidden(path) && !this.hasMore) this.#seen.delete(path);
    return this.paths.join("\n") !== before;
  }

  /** Reads the next part of the list. An older server has none: its page has the files that were changed. */
  async more(): Promise<void> {
    try {
      const { files, next } = await this.#part(this.#next ?? "");
      for (const { file_path: path, n_bytes } of files) {
        this.#sizes.set(path, n_bytes);
        this.#seen.delete(path);
      }
      this.#next = next ?? null;
    } catch (error) {
      if ((error as { code?: string }).code !== "not_found") throw error;
      for (const { file_path: path } of (await this.client.call("ChangeLog")).changes) this.add(path);
    }
  }

  #part(after: string): Promise<FileEntries> {
    return this.#get("files", { limit: String(PART), ...(after !== "" && { after }) });
  }

  /** Returns the files of a folder, also those that are not listed yet; the path itself if it is not a folder. */
  async below(path: string): Promise<readonly string[]> {
    const folder = `${path}/`;
    const known = this.paths.filter((each) => each.startsWith(folder));
    if (!this.hasMore) return known.length > 0 ? known : [path];
    const { files } = await this.#get<FileEntries>("files", { prefix: folder, limit: String(2 * PART) });
    const all = [...new Set([...known, ...files.map((file) => file.file_path)])];
    return all.length > 0 ? all : [path];
  }

  /** Returns files with this text in their path, also those that are not listed yet. */
  async found(text: string): Promise<readonly string[]> {
    const glob = `**/*${text.replace(/[*?[\]{}!\\]/g, "?")}*`;
    const { files } = await this.#get<FileEntries>("files", { glob, limit: String(FOUND_MAX) });
    return files.map((file) => file.file_path);
  }

  /** Returns the lines with a text, best files first; without such a line, those with one of its words. */
  async search(text: string): Promise<readonly FileMatches[]> {
    const { results } = await this.#get<SearchResults>("search", { query: text, limit: String(FOUND_MAX) });
    const whole = linesOf(results, [text]);
    return whole.length > 0 ? whole : linesOf(results, text.split(/\s+/));
  }

  #get<T>(what: string, query: Record<string, string>): Promise<T> {
    return this.client.request<T>("GET", `/api/agent/${what}?${new URLSearchParams(query)}`);
  }
}

/** Returns the lines of results with one of the texts, in any case. */
function linesOf(results: SearchResults["results"], texts: readonly string[]): readonly FileMatches[] {
  const wanted = texts.map((text) => text.trim().toLowerCase()).filter((text) => text !== "");
  return results.flatMap(({ file_path: path, start_line, snippet }) => {
    const lines = snippet.split("\n").flatMap((text, index) => {
      const isFound = wanted.some((each) => text.toLowerCase().includes(each));
      return isFound ? [{ line: start_line + index, text, isMatch: true }] : [];
    });
    return lines.length === 0 ? [] : [{ path, lines } as FileMatches];
  });
}

function isHidden(path: string): boolean {
  return path.split("/").some((name) => name.startsWith("."));
}
