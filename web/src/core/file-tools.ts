/** Lists, moves and removes the files of an engine. Loaded with the first of these steps. */
import type { Files } from "emend";

/**
 * Returns the file with this path, or the files of the folder. Throws if there is neither. A file that the assistant deleted
 * is none of them: nothing is left to delete or to move, and the engine has no step for it.
 */
async function pathsAt(files: Files, path: string): Promise<readonly string[]> {
  const found = (await files.list()).filter(
    (file) => file.status !== "deleted" && (file.path === path || file.path.startsWith(`${path}/`)),
  );
  if (found.length === 0) throw new Error(`there is no file ${path}`);
  return found.map((file) => file.path);
}

/**
 * Returns the file with this path, or the files of the folder, if all of them can be removed. Throws if one is not text: it
 * could not be brought back, and then nothing may be removed.
 */
export async function removable(files: Files, path: string): Promise<readonly string[]> {
  const paths = await pathsAt(files, path);
  for (const each of paths) await readText(files, each, "deleted");
  return paths;
}

/** Returns the text of a file that is about to be `done`. Throws if it has none: the engine keeps and writes texts only. */
async function readText(files: Files, path: string, done: "deleted" | "renamed"): Promise<string> {
  try {
    return (await files.read(path))?.text ?? "";
  } catch (error) {
    if ((error as { code?: string }).code !== "unsupported") throw error;
    throw new Error(`Nothing was ${done}: ${path} is not a text in UTF-8, and Undo could not bring it back.`);
  }
}

/** Moves a file, or the files of a folder. Returns the paths of both places. */
export async function moveFiles(files: Files, path: string, to: string): Promise<readonly string[]> {
  const moved: [from: string, into: string, text: string][] = [];
  // All of them are read first: a file that is not text cannot be moved, and then nothing may change.
  for (const from of await pathsAt(files, path)) {
    moved.push([from, to + from.slice(path.length), await readText(files, from, "renamed")]);
  }
  for (const [from, into, text] of moved) {
    await files.write(into, text);
    await files.remove(from);
  }
  return moved.flatMap(([from, into]) => [from, into]);
}
