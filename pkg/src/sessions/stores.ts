/** Saved sessions: calls of a store, and two stores that run everywhere. */

import { ConfigError, ConflictError, EmendError } from "../errors.js";
import { requireText } from "../validate.js";
import type { SessionStore } from "./types.js";

/**
 * Checks a store.
 *
 * @throws {ConfigError} if it lacks a method.
 */
export function checkStore(store: SessionStore): void {
  for (const method of ["append", "load", "names", "remove"] as const) {
    if (typeof (Object(store) as SessionStore)[method] !== "function") {
      const article = method === "append" ? "an" : "a";
      throw new ConfigError("configuration", `the store needs ${article} \`${method}\` function`);
    }
  }
}

/** Calls a store and checks its answer. Names are returned sorted, one per line. */
export async function callStore(store: SessionStore, operation: string, name: string): Promise<string | undefined> {
  switch (operation) {
    case "load": {
      const text: unknown = (await store.load(name)) ?? undefined;
      if (text !== undefined && typeof text !== "string") throw new TypeError("`load` must return a string or null");
      return text;
    }
    case "names": {
      const names: unknown = await store.names();
      if (typeof (Object(names) as Iterable<string>)[Symbol.iterator] !== "function")
        throw new TypeError("`names` must return an iterable of strings");
      return [...(names as Iterable<string>)].sort().join("\n");
    }
    default:
      return (await store.remove(name)) ? "removed" : undefined;
  }
}

/** Returns the error for a document that has another text than the writer expects. */
export function conflict(name: string): ConflictError {
  return new ConflictError("conflict", `another writer has continued or removed the document ${name}`);
}

/** Returns the text to append to a document. It begins with a newline if the document ends inside a line. */
export function continued(text: string, lines: string): string {
  return text === "" || text.endsWith("\n") ? lines : `\n${lines}`;
}

/** Returns a store in memory. Its sessions last as long as the page or the process. */
export function memoryStore(): SessionStore {
  const documents = new Map<string, string>();
  return {
    append(name, lines, { expected } = {}) {
      const text = documents.get(name) ?? "";
      if (expected !== undefined && expected !== text.length) throw conflict(name);
      documents.set(name, text + continued(text, lines));
    },
    load: (name) => documents.get(name) ?? null,
    names: () => documents.keys(),
    remove: (name) => documents.delete(name),
  };
}

function noDatabase(): EmendError {
  const suggestions = ["in Node use `fileStore(directory)` of `emend/node`", "use `memoryStore()`"];
  return new EmendError("unsupported", `there is no IndexedDB here; ${suggestions[0]}`, { suggestions });
}

/** One record of the database: the lines of one `append`, and the length of the document after it. */
interface Piece {
  name: string;
  lines: string;
  end?: number;
}

const joined = (pieces: readonly Piece[]): string => pieces.map((piece) => piece.lines).join("");

/**
 * Returns a store in the browser's IndexedDB. Its sessions outlive the page. Each `append` adds one record, so a long
 * session is never rewritten.
 */
export function indexedDbStore(database = "emend"): SessionStore {
  requireText("the database", database);
  const TABLE = "lines";
  let opening: Promise<IDBDatabase> | undefined;
  const open = (): Promise<IDBDatabase> => {
    opening ??= new Promise<IDBDatabase>((resolve, reject) => {
      // Not when the store is created: that may happen while a page is rendered on a server.
      if (globalThis.indexedDB === undefined) throw noDatabase();
      const request = indexedDB.open(database, 1);
      request.onupgradeneeded = () => {
        request.result.createObjectStore(TABLE, { autoIncrement: true }).createIndex("name", "name");
      };
      request.onsuccess = () => {
        // A tab that upgrades the database must not wait for this connection.
        request.result.onversionchange = () => {
          request.result.close();
          opening = undefined;
        };
        resolve(request.result);
      };
      request.onerror = () => reject(request.error);
    }).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  /** Runs one transaction. Resolves when its writes are durable. `fail` undoes it and rejects. */
  const transact = async <T>(
    mode: IDBTransactionMode,
    work: (table: IDBObjectStore, give: (value: T) => void, fail: (error: EmendError) => void) => void,
  ): Promise<T> => {
    const transaction = (await open()).transaction(TABLE, mode);
    return new Promise<T>((resolve, reject) => {
      let given: T;
      let failure: EmendError | undefined;
      transaction.oncomplete = () => resolve(given);
      transaction.onabort = () => reject(failure ?? transaction.error);
      const fail = (error: EmendError): void => {
        failure = error;
        transaction.abort();
      };
      work(
        transaction.objectStore(TABLE),
        (value) => {
          given = value;
        },
        fail,
      );
    });
  };
  return {
    append: (name, lines, { expected } = {}) =>
      transact<undefined>("readwrite", (table, give, fail) => {
        give(undefined);
        const add = (length: number, text: string): void => {
          const added = continued(text, lines);
          if (expected !== undefined && expected !== length) fail(conflict(name));
          else table.add({ name, lines: added, end: length + added.length } satisfies Piece);
        };
        const last = table.index("name").openCursor(IDBKeyRange.only(name), "prev");
        last.onsuccess = () => {
          const piece = last.result?.value as Piece | undefined;
          if (piece === undefined || piece.end !== undefined) return add(piece?.end ?? 0, piece?.lines ?? "");
          // Earlier versions did not count.
          const all = table.index("name").getAll(name);
          all.onsuccess = () => add(joined(all.result as Piece[]).length, piece.lines);
        };
      }),
    load: (name) =>
      transact<string | null>("readonly", (table, give) => {
        const request = table.index("name").getAll(name);
        request.onsuccess = () => give(request.result.length === 0 ? null : joined(request.result as Piece[]));
      }),
    names: () =>
      transact<string[]>("readonly", (table, give) => {
        const names: string[] = [];
        const request = table.index("name").openKeyCursor(null, "nextunique");
        request.onsuccess = () => {
          const cursor = request.result;
          if (cursor === null) return give(names);
          names.push(cursor.key as string);
          cursor.continue();
        };
      }),
    remove: (name) =>
      transact<boolean>("readwrite", (table, give) => {
        const request = table.index("name").getAllKeys(name);
        request.onsuccess = () => {
          for (const key of request.result) table.delete(key);
          give(request.result.length > 0);
        };
      }),
  };
}
