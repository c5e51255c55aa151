/** Reads, lists and moves the files of an engine. */
import { type Files, isEmendError } from "emend";
import type { Reading } from "./protocol.js";

/** Returns the text of a file, or why it has none to show. */
export async function readingOf(files: Files, path: string): Promise<Reading> {
  try {
    const state = await files.read(path);
    return state ? { text: state.text } : { problem: "", code: "not_found" };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { problem, code: isEmendError(error) ? error.code : "unexpected" };
  }
}

/** Returns the file with this path, or the files of the folder. Throws if there is neither. */
export async function pathsAt(files: Files, path: string): Promise<readonly string[]> {
  const found = (await files.list()).filter((file) => file.path === path || file.path.startsWith(`${path}/`));
  if (found.length === 0) throw new Error(`there is no file ${path}`);
  return found.map((file) => file.path);
}

/** Moves a file, or the files of a folder. Returns the paths of both places. */
export async function moveFiles(files: Files, path: string, to: string): Promise<readonly string[]> {
  const moved: [from: string, into: string, text: string][] = [];
  // All of them are read first: a file that is not text cannot be moved, and then nothing may change.
  for (const from of await pathsAt(files, path)) {
    moved.push([from, to + from.slice(path.length), (await files.read(from))?.text ?? ""]);
  }
  for (const [from, into, text] of moved) {
    await files.write(into, text);
    await files.remove(from);
  }
  return moved.flatMap(([from, into]) => [from, into]);
}
