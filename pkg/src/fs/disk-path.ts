/** Paths on disk, as the functions for Node take them. */

import { invalid, requireText } from "../validate.js";

/**
 * Returns a path of a directory. The empty path is refused: Node takes it for the current directory, and it is more often
 * a setting that is missing. `what` names the path in the error.
 */
export function diskPath(what: string, value: unknown): string {
  if (value instanceof URL) throw invalid(`${what} must be a string; use \`fileURLToPath(url)\` of \`node:url\``);
  const text = requireText(what, value);
  if (text === "") throw invalid(`${what} is empty; use \`process.cwd()\` for the current directory`);
  if (text.includes("\0")) throw invalid(`${what} contains a NUL character`);
  // Node reads a lone surrogate as U+FFFD, which names another directory.
  if (/\p{Surrogate}/u.test(text)) throw invalid(`${what} has half of a surrogate pair`);
  return text;
}
