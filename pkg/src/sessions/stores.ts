/** Saved sessions: calls of a store, the list of sessions, and two stores that run everywhere. */

import { ConfigError, ConflictError, EmendError } from "../errors.js";
import { messageOf } from "../exceptions.js";
import { requireText } from "../validate.js";
import type { SessionStore, SessionSummary, Turn } from "./types.js";

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

/** Version of the format that this package reads. The core rejects other versions too. */
const VERSION = 1;

/** Lists the sessions of a store, most recently used first. */
export async function listSessions(store: SessionStore): Promise<SessionSummary[]> {
  checkStore(store);
  const names = (await ask(store, "names", "")) ?? "";
  const summaries: SessionSummary[] = [];
  for (const id of names.split("\n").filter((name) => name !== "" && !name.includes("."))) {
    const text = await ask(store, "load", id);
    // `undefined`: the session was removed after the names were listed.
    if (text !== undefined) summaries.push(summaryOf(id, text));
  }
  return summaries.sort((a, b) => b.lastMs - a.lastMs || (a.id < b.id ? -1 : 1));
}

/** Removes a session and its other documents. Returns whether the session existed. */
export async function removeSession(store: SessionStore, id: string): Promise<boolean> {
  checkStore(store);
  const names = ((await ask(store, "names", "")) ?? "").split("\n");
  for (const name of names) if (name.startsWith(`${id}.`)) await ask(store, "remove", name);
  return names.includes(id) && (await ask(store, "remove", id)) !== undefined;
}

/** Calls a store for a caller in JavaScript, which gets an {@link EmendError}. */
async function ask(store: SessionStore, operation: string, name: string): Promise<string | undefined> {
  try {
    return await callStore(store, operation, name);
  } catch (cause) {
    throw new EmendError("io_error", `${name || "the store"}: ${messageOf(cause)}`, { cause });
  }
}

/** Summarizes a document as the core would read it. Damaged lines are skipped and counted. */
function summaryOf(id: string, text: string): SessionSummary {
  const unreadable = (problem: string): SessionSummary => ({
    id,
    beganMs: 0,
    lastMs: 0,
    provider: "",
    model: "",
    title: "",
    nTurns: 0,
    problem,
  });
  const lines = text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map(parsed);
  const nBefore = Math.max(
    0,
    lines.findIndex((line) => line !== undefined),
  );
  const [header, ...records] = lines.slice(nBefore);
  if (header?.type !== "session")
    return unreadable("this document is not a saved session: it does not begin with a header");
  if (header.version !== VERSION)
    return unreadable(`this session was saved in version ${header.version} of the format`);
  let turns: SavedTurn[] = [];
  let nDamaged = nBefore;
  for (const record of records) {
    if (record?.type === "turn" && Number.isInteger(record.index) && isTurn(record))
      turns.splice(record.index as number, Infinity, record);
    else if (record?.type === "history" && Array.isArray(record.turns) && record.turns.every(isTurn))
      turns = [...record.turns];
    else nDamaged += 1;
  }
  const { at_ms: beganMs, provider, model, forked_from: origin } = header as unknown as Header;
  const first = turns
    .find((turn) => turn.kind === "user")
    ?.message.content.map((part) => (part.kind === "text" ? part.text : ""))
    .join("");
  return {
    id,
    beganMs,
    lastMs: Math.max(beganMs, turns.at(-1)?.at_ms ?? 0),
    provider,
    model,
    title: first?.trimStart().split("\n")[0] ?? "",
    nTurns: turns.length,
    ...(origin && { forkedFrom: { id: origin.id, nTurns: origin.n_turns } }),
    ...(nDamaged > 0 && { nDamaged }),
  };
}

function isTurn(value: unknown): value is SavedTurn {
  return Array.isArray((Object(value) as Partial<SavedTurn>).message?.content);
}

/** The part of a saved history entry that a summary needs. */
interface SavedTurn {
  kind: Turn["kind"];
  at_ms: number;
  message: { content: { kind: string; text?: string }[] };
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
