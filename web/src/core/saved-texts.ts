/** The texts on the user's disk, as far as the page knows them, and the paths whose accepted text differs from them. */

export class SavedTexts {
  /** A missing path means that there is no such text file. */
  readonly #saved: Map<string, string>;
  /** Paths whose accepted text may have changed since the last reading. */
  readonly #touched = new Set<string>();
  readonly #unsaved = new Set<string>();

  constructor(files: Readonly<Record<string, string | Uint8Array>>) {
    this.#saved = new Map(
      Object.entries(files).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
    );
  }

  of(path: string): string | null {
    return this.#saved.get(path) ?? null;
  }

  set(path: string, text: string | null): void {
    if (text === null) this.#saved.delete(path);
    else this.#saved.set(path, text);
    this.touch(path);
  }

  touch(...paths: readonly string[]): void {
    for (const path of paths) this.#touched.add(path);
  }

  /** Touches every file that ever differed. */
  touchAll(): void {
    this.touch(...this.#unsaved, ...this.#saved.keys());
  }

  /** Returns the unsaved paths. `read` returns the accepted text of a file. */
  async unsaved(read: (path: string) => Promise<string | null>): Promise<readonly string[]> {
    const touched = [...this.#touched];
    this.#touched.clear();
    for (const path of touched) {
      // A path without a text, such as a folder, must not keep the page from reading the others.
      if ((await read(path).catch(() => null)) === this.of(path)) this.#unsaved.delete(path);
      else this.#unsaved.add(path);
    }
    return [...this.#unsaved];
  }
}
