/**
 * The project of this tab, and the handles of folders of kept projects.
 *
 * A reload of the tab finds its project by the session storage. Only one tab works on a kept project: it holds a lock.
 * Handles cannot be stored as text, so they have a database of their own.
 */

const TAB_KEY = "emend.project";
const DATABASE = "emend-folders";
const TABLE = "handles";

/** Time in milliseconds in which the page before a reload gives up its lock. */
const LOCK_MS = 1_500;

/** Returns the project that this tab showed before it was reloaded, or null. */
export function projectOfTab(): string | null {
  try {
    return sessionStorage.getItem(TAB_KEY);
  } catch {
    return null;
  }
}

/** Records the project of this tab, and takes its lock until another project is claimed or the tab is closed. */
export async function claimProject(id: string): Promise<boolean> {
  try {
    sessionStorage.setItem(TAB_KEY, id);
  } catch {
    // Without storage a reload starts afresh.
  }
  release();
  if (!navigator.locks) return true;
  return new Promise((claimed) => {
    const held = new Promise<void>((done) => {
      release = done;
    });
    navigator.locks
      .request(`emend-${id}`, { signal: AbortSignal.timeout(LOCK_MS) }, () => {
        claimed(true);
        return held;
      })
      .catch(() => claimed(false));
  });
}

let release: () => void = () => undefined;

/** Keeps the handle of a project's folder. */
export async function keepFolder(id: string, handle: FileSystemDirectoryHandle): Promise<void> {
  await transact("readwrite", (table) => table.put(handle, id)).catch(() => undefined);
}

/** Returns the handle of a project's folder, or null. */
export async function keptFolder(id: string): Promise<FileSystemDirectoryHandle | null> {
  const found = await transact("readonly", (table) => table.get(id)).catch(() => undefined);
  return (found as FileSystemDirectoryHandle | undefined) ?? null;
}

function transact(mode: IDBTransactionMode, work: (table: IDBObjectStore) => IDBRequest): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(DATABASE, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(TABLE);
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const database = opening.result;
      const transaction = database.transaction(TABLE, mode);
      const request = work(transaction.objectStore(TABLE));
      transaction.oncomplete = () => {
        database.close();
        resolve(request.result);
      };
      transaction.onabort = () => reject(transaction.error);
    };
  });
}
