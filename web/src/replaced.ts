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

function replacedPhrase(path: string, replaced: WriteResult["replaced"]): string {
  const texts = replaced.map(({ text }) => reveal(text.trim().replace(/\s*[\r\n]+\s*/g, " ⏎ "))).join(" … ");
  const shown = texts.length > REPLACED_CHARS_MAX ? `${texts.slice(0, REPLACED_CHARS_MAX)}…` : texts;
  const places = replaced.map(({ line }) => line).join(", ");
  const lines = replaced.length === 1 ? `line ${places}` : `lines ${places}`;
  return `Your text in ${path} replaced a change that was made elsewhere meanwhile, in ${lines}: “${shown}”. An undo of your edit brings it back.`;
}
