/** What only Node has: conversations as files. */

import { mkdir, open, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";

import { after, type SessionStore } from "./stores.js";

const EXTENSION = ".jsonl";

/**
 * Returns a store of files in `directory`, which is made when the first conversation is saved. Nobody else may read them.
 * One process at a time may write a session; the same sessions can be read by the `emend` command's own store.
 */
export function fileStore(directory: string): SessionStore {
  const path = (name: string): string => join(directory, name + EXTENSION);
  const missing = (error: unknown): null => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  };
  return {
    async append(name, lines) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const file = await open(path(name), "a+", 0o600);
      try {
        const { size } = await file.stat();
        const last = Buffer.alloc(size > 0 ? 1 : 0);
        if (size > 0) await file.read(last, 0, 1, size - 1);
        await file.writeFile(after(last.toString("latin1"), lines));
        await file.datasync();
      } finally {
        await file.close();
      }
    },
    load: (name) => readFile(path(name), "utf8").catch(missing),
    async names() {
      const files = (await readdir(directory).catch(missing)) ?? [];
      return files.filter((file) => file.endsWith(EXTENSION)).map((file) => file.slice(0, -EXTENSION.length));
    },
    remove: async (name) => (await rm(path(name)).catch(missing)) !== null,
  };
}
