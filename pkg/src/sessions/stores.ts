/** Saved sessions: calls to a store from the core, the list of sessions, and two stores that run everywhere. */

import { ConfigError, EmendError } from "../errors.js";
import { messageOf } from "../exceptions.js";
import type { SessionStore, SessionSummary, Turn } from "./types.js";

/** The function through which the core calls a store. It rejects with a message as text. */
export type StoreCall = (operation: string, name: string, lines: string) => Promise<string | undefined>;

/** Checks a store, and returns the function through which the core calls it. */
export function storeCallback(store: SessionStore): StoreCall {
  for (const method of ["append", "load", "names", "remove"] as const) {
    if (typeof (Object(store) as SessionStore)[method] !== "function") {
      throw new ConfigError("configuration", `the store needs a \`${method}\` function`);
    }
  }
  return async (operation, name, lines) => {
    // Runs after the core has returned: the store's code may call the agent.
    await undefined;
    try {
      return await call(store, operation, name, lines);
    } catch (thrown) {
      throw messageOf(thrown);
    }
  };
}

async function call(store: SessionStore, operation: string, name: string, lines: string): Promise<string | undefined> {
  switch (operation) {
    case "append":
      await store.append(name, lines);
      return undefined;
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

/** Version of the format that this package reads. The core rejects other versions too. */
const VERSION = 1;

/** Lists the sessions of a store, most recently used first. */
export async function listSessions(store: SessionStore): Promise<SessionSummary[]> {
  const call = storeCallback(store);
  const names = (await ask(call, "names", "")) ?? "";
  const summaries: SessionSummary[] = [];
  for (const id of names.split("\n").filter((name) => name !== "" && !name.includes("."))) {
    const text = await ask(call, "load", id);
    // `undefined`: the session was removed after the names were listed.
    if (text !== undefined) summaries.push(summaryOf(id, text));
  }
  return summaries.sort((a, b) => b.last_ms - a.last_ms || (a.id < b.id ? -1 : 1));
}

/** Removes a session and its other documents. Returns whether the session existed. */
export async function removeSession(store: SessionStore, id: string): Promise<boolean> {
  const call = storeCallback(store);
  const names = ((await ask(call, "names", "")) ?? "").split("\n");
  for (const name of names) if (name.startsWith(`${id}.`)) await ask(call, "remove", name);
  return names.includes(id) && (await ask(call, "remove", id)) !== undefined;
}

/** Calls a store for a caller in JavaScript, which gets an {@link EmendError}. */
async function ask(call: StoreCall, operation: string, name: string): Promise<string | undefined> {
  try {
    return await call(operation, name, "");
  } catch (reason) {
    throw new EmendError("io_error", `${name || "the store"}: ${String(reason)}`);
  }
}

/** Summarizes a document as the core would read it. Damaged lines are skipped. */
function summaryOf(id: string, text: string): SessionSummary {
  const unreadable = (problem: string): SessionSummary => ({
    id,
    began_ms: 0,
    last_ms: 0,
    provider: "",
    model: "",
    title: "",
    n_turns: 0,
    problem,
  });
  const [header, ...records] = text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map(parsed);
  if (header?.type !== "session")
    return unreadable("this document is not a saved session: it does not begin with a header");
  if (header.version !== VERSION)
    return unreadable(`this session was saved in version ${header.version} of the format`);
  let turns: Turn[] = [];
  for (const record of records) {
    if (record?.type === "turn") turns.splice(record.index as number, Infinity, record as unknown as Turn);
    else if (record?.type === "history") turns = record.turns as Turn[];
  }
  const { at_ms: began_ms, provider, model, forked_from } = header as unknown as Header;
  const first = turns
    .find((turn) => turn.kind === "user")
    ?.message.content.map((part) => (part.kind === "text" ? part.text : ""))
    .join("");
  return {
    id,
    began_ms,
    last_ms: Math.max(began_ms, turns.at(-1)?.at_ms ?? 0),
    provider,
    model,
    title: first?.trimStart().split("\n")[0] ?? "",
    n_turns: turns.length,
    ...(forked_from && { forked_from }),
  };
}

interface Header {
  at_ms: number;
  provider: string;
  model: string;
  forked_from?: { id: string; n_turns: number };
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    return Object(JSON.parse(line)) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** Returns the text to append to a document. It begins with a newline if the document ends inside a line. */
export function continued(text: string, lines: string): string {
  return text === "" || text.endsWith("\n") ? lines : `\n${lines}`;
}

/** Returns a store in memory. Its sessions last as long as the page or the process. */
export function memoryStore(): SessionStore {
  const documents = new Map<string, string>();
  return {
    append(name, lines) {
      const text = documents.get(name) ?? "";
      documents.set(name, text + continued(text, lines));
    },
    load: (name) => documents.get(name) ?? null,
    names: () => documents.keys(),
    remove: (name) => documents.delete(name),
  };
}

/**
 * Returns a store in the browser's IndexedDB. Its sessions outlive the page. Each `append` adds one record, so a long
 * session is never rewritten.
 */
export function indexedDbStore(database = "emend"): SessionStore {
  const TABLE = "lines";
  let opening: Promise<IDBDatabase> | undefined;
  const open = (): Promise<IDBDatabase> => {
    opening ??= new Promise<IDBDatabase>((resolve, reject) => {
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
  /** Runs one transaction. Resolves when its writes are durable. */
  const transact = async <T>(
    mode: IDBTransactionMode,
    work: (table: IDBObjectStore, give: (value: T) => void) => void,
  ): Promise<T> => {
    const transaction = (await open()).transaction(TABLE, mode);
    return new Promise<T>((resolve, reject) => {
      let given: T;
      transaction.oncomplete = () => resolve(given);
      transaction.onabort = () => reject(transaction.error);
      work(transaction.objectStore(TABLE), (value) => {
        given = value;
      });
    });
  };
  return {
    append: (name, lines) =>
      transact<undefined>("readwrite", (table, give) => {
        table.add({ name, lines });
        give(undefined);
      }),
    load: (name) =>
      transact<string | null>("readonly", (table, give) => {
        const request = table.index("name").getAll(name);
        request.onsuccess = () => {
          const pieces = request.result as { lines: string }[];
          give(pieces.length === 0 ? null : pieces.map((piece) => piece.lines).join(""));
        };
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
