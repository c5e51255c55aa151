/**
 * The project of this tab, and the handles of folders of kept projects.
 *
 * A reload of the tab finds its project by the session storage. Only one tab works on a kept project: it holds a lock.
 * Handles cannot be stored as text, so they have a database of their own.
 */
import { lockOf } from "./locks.js";

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
      .request(lockOf(id), { signal: AbortSignal.timeout(LOCK_MS) }, () => {
        claimed(true);
        return held;
      })
      .catch(() => claimed(false));
  });
}

/** Gives up the project of this tab. A reload shows the start view. */
export function releaseProject(): void {
  release();
  try {
    sessionStorage.removeItem(TAB_KEY);
  } catch {
    // Without storage there is nothing to remove.
  }
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

/** The folder of the projects in the browser's own storage, which other programs cannot see. */
const PROJECTS = "emend-projects";

/** Returns the folder of a project in the browser's storage, and creates it if necessary. */
export async function browserFolder(name: string): Promise<FileSystemDirectoryHandle> {
  const root = await navigator.storage.getDirectory();
  // Otherwise the browser may remove the files when the disk is full.
  await navigator.storage.persist?.().catch(() => false);
  const projects = await root.getDirectoryHandle(PROJECTS, { create: true });
  return projects.getDirectoryHandle(name, { create: true });
}

/** Lists the projects in the browser's storage. */
export async function browserProjects(): Promise<readonly string[]> {
  try {
    const names: string[] = [];
    const projects = await (await navigator.storage.getDirectory()).getDirectoryHandle(PROJECTS);
    for await (const [name, handle] of projects.entries()) if (handle.kind === "directory") names.push(name);
    return names.sort();
  } catch {
    return [];
  }
}

/** Deletes a project from the browser's storage. */
export async function deleteBrowserProject(name: string): Promise<void> {
  const projects = await (await navigator.storage.getDirectory()).getDirectoryHandle(PROJECTS);
  await projects.removeEntry(name, { recursive: true });
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
