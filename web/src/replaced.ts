/** Says which lines of others an edit of the user has replaced. The code is loaded when that has happened. */
import type { WriteResult } from "./engine.js";
import { reveal } from "./reveal.js";
import { notify } from "./store.js";

/** Number of characters of replaced lines that a message shows. */
const REPLACED_CHARS_MAX = 120;

/** The path of a file, and the lines in it that an edit of the user has replaced. */
export type Replaced = readonly [path: string, lines: WriteResult["replaced"]];

/** Shows the lines that another client or program wrote, and that edits of the user have replaced. */
export function tellReplaced(edits: readonly Replaced[]): void {
  const told = edits.filter(([, lines]) => lines.length > 0).map(([path, lines]) => replacedPhrase(path, lines));
  if (told.length > 0) notify(told.join(" "), { level: "error" });
}

/** Shows lines of the user that another client or program replaced. */
export function tellLost(path: string, lines: readonly string[]): void {
  const shown = shortened(lines.map((line) => reveal(line.trim())).join(" … "));
  notify(`A change that was made elsewhere replaced your text in ${path}: “${shown}”.`, { level: "error" });
}

function shortened(text: string): string {
  return text.length > REPLACED_CHARS_MAX ? `${text.slice(0, REPLACED_CHARS_MAX)}…` : text;
}

function replacedPhrase(path: string, replaced: WriteResult["replaced"]): string {
  const texts = replaced.map(({ text }) => reveal(text.trim().replace(/\s*[\r\n]+\s*/g, " ⏎ "))).join(" … ");
  const shown = shortened(texts);
  const places = replaced.map(({ line }) => line).join(", ");
  const lines = replaced.length === 1 ? `line ${places}` : `lines ${places}`;
  return `Your text in ${path} replaced a change that was made elsewhere meanwhile, in ${lines}: “${shown}”. An undo of your edit brings it back.`;
}
