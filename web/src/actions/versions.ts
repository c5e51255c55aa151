/** Reads the earlier versions of a file, and puts one back. */
import type { Version } from "../engine.js";
import { lineDiff } from "../line-diff.js";
import { currentEngine, editor, notify, showError } from "../store.js";
import { baseName } from "../tree.js";
import { refresh } from "./refresh.js";
import { closeMissing } from "./rewind.js";

/** The earlier versions of a file, oldest first, and its present text. */
export interface Versions {
  readonly list: readonly Version[];
  readonly now: string | null;
}

export async function readVersions(path: string): Promise<Versions> {
  await editor.flush();
  const engine = currentEngine();
  const [list, now] = await Promise.all([engine.versions(path), engine.read(path)]);
  return { list, now };
}

/** The numbers of lines that changed from a version to the next one. */
export interface Count {
  readonly added: number;
  readonly removed: number;
}

/** The counts by both texts, so that a list that is read again compares only what is new. */
const counted = new Map<string | null, Map<string | null, Count>>();
const COUNTED_MAX = 500;

export function countChanges(list: readonly Version[], now: string | null): readonly Count[] {
  return list.map(({ text }, index) => countBetween(text, index + 1 < list.length ? list[index + 1]!.text : now));
}

function countBetween(before: string | null, after: string | null): Count {
  if (counted.size > COUNTED_MAX) counted.clear();
  const known = counted.get(before) ?? new Map<string | null, Count>();
  counted.set(before, known);
  const rows = known.has(after) ? [] : lineDiff(before, after, 0).flat();
  const count = known.get(after) ?? {
    added: rows.filter((row) => row.kind === "added").length,
    removed: rows.filter((row) => row.kind === "removed").length,
  };
  known.set(after, count);
  return count;
}

/** Gives a file the text of a version, as one edit of the user. Returns whether it was done. */
export async function putVersionBack(path: string, text: string | null, name: string): Promise<boolean> {
  try {
    await editor.flush();
    const engine = currentEngine();
    if (text === null) await engine.remove(path);
    else await engine.write(path, text, await engine.read(path), { kind: "put back", path });
    await refresh();
    await closeMissing();
    notify(`${baseName(path)} has the text of the version “${name}”.`, { undo: true });
    return true;
  } catch (error) {
    showError(error);
    return false;
  }
}
