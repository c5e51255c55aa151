/**
 * Converts the flat list of files into the rows of a file tree.
 *
 * A folder whose only content is one folder shares a row with it.
 */
import type { FileInfo } from "./engine.js";

/** State that the dot beside a file or folder shows, strongest first. */
export type Mark = "pending" | "unsaved" | "none";

/** One visible row of the tree. */
export interface TreeRow {
  readonly kind: "folder" | "file";
  readonly path: string;
  readonly name: string;
  /** Depth from 1, for `aria-level`. */
  readonly level: number;
  readonly open: boolean;
  /** Number of pending hunks in the file or below the folder. */
  readonly pending: number;
  readonly mark: Mark;
  readonly status: FileInfo["status"];
  /** Position among its siblings, from 1. */
  readonly position: number;
  readonly siblings: number;
}

interface Folder {
  readonly folders: Map<string, Folder>;
  readonly files: FileInfo[];
}

/** Returns the visible rows from top to bottom. */
export function treeRows(
  files: readonly FileInfo[],
  unsaved: ReadonlySet<string>,
  closed: ReadonlySet<string>,
): TreeRow[] {
  const root: Folder = { folders: new Map(), files: [] };
  for (const file of files) {
    const names = file.path.split("/");
    let folder = root;
    for (const name of names.slice(0, -1)) {
      const next = folder.folders.get(name) ?? { folders: new Map(), files: [] };
      folder.folders.set(name, next);
      folder = next;
    }
    folder.files.push(file);
  }
  const rows: TreeRow[] = [];
  addRows(rows, root, "", 1, unsaved, closed);
  return rows;
}

function addRows(
  rows: TreeRow[],
  folder: Folder,
  prefix: string,
  level: number,
  unsaved: ReadonlySet<string>,
  closed: ReadonlySet<string>,
): void {
  const folders = [...folder.folders].sort(([a], [b]) => compareNames(a, b));
  const files = folder.files.toSorted((a, b) => compareNames(baseName(a.path), baseName(b.path)));
  const siblings = folders.length + files.length;
  folders.forEach(([firstName, first], index) => {
    let [name, inner, path] = [firstName, first, prefix + firstName];
    while (inner.files.length === 0 && inner.folders.size === 1) {
      const [onlyName, only] = [...inner.folders][0]!;
      [name, inner, path] = [`${name}/${onlyName}`, only, `${path}/${onlyName}`];
    }
    const { pending, mark } = summary(inner, unsaved);
    const open = !closed.has(path);
    rows.push({
      kind: "folder",
      path,
      name,
      level,
      open,
      pending,
      mark,
      status: "clean",
      position: index + 1,
      siblings,
    });
    if (open) addRows(rows, inner, `${path}/`, level + 1, unsaved, closed);
  });
  files.forEach((file, index) => {
    const pending = file.pendingHunks;
    rows.push({
      kind: "file",
      path: file.path,
      name: baseName(file.path),
      level,
      open: false,
      pending,
      mark: markOf(pending, unsaved.has(file.path)),
      status: file.status,
      position: folders.length + index + 1,
      siblings,
    });
  });
}

function summary(folder: Folder, unsaved: ReadonlySet<string>): { pending: number; mark: Mark } {
  let pending = 0;
  let anyUnsaved = false;
  for (const file of folder.files) {
    pending += file.pendingHunks;
    anyUnsaved ||= unsaved.has(file.path);
  }
  for (const inner of folder.folders.values()) {
    const below = summary(inner, unsaved);
    pending += below.pending;
    anyUnsaved ||= below.mark !== "none";
  }
  return { pending, mark: markOf(pending, anyUnsaved) };
}

function markOf(pending: number, unsaved: boolean): Mark {
  return pending > 0 ? "pending" : unsaved ? "unsaved" : "none";
}

/** Number of files above which the tree is folded at first. */
const OPEN_FILES_MAX = 60;

/** Returns the folders to fold at first: none in a small project, all below the top level in a large one. */
export function foldedAtFirst(paths: readonly string[]): ReadonlySet<string> {
  if (paths.length <= OPEN_FILES_MAX) return new Set();
  return new Set(paths.flatMap((path) => ancestors(path).slice(1)));
}

/** Returns the parent folders of a path, outermost first. */
export function ancestors(path: string): readonly string[] {
  const names = path.split("/").slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join("/"));
}

/** Returns the last segment of a path. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Returns the path up to the last slash, inclusive; "" at the top level. */
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

function compareNames(a: string, b: string): number {
  return collator.compare(a, b) || (a < b ? -1 : 1);
}
