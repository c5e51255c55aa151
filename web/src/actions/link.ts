/** Tells that the server does not answer, keeps the typed text, and joins the server again. */
import type { Engine, Link } from "../engine.js";
import { download } from "../folder.js";
import { editor, engineOrNull, isCutOff, link, notify, spoken, spokenUrgent, toast, unsaved } from "../store.js";
import { baseName } from "../tree.js";
import { refresh } from "./refresh.js";

const LOST = "The server cannot be reached.";

/** Shows the state of the connection. Returns whether the server answers again. */
export function showLink(now: Link): boolean {
  if (now === link.value) return false;
  link.value = now;
  if (isCutOff.value) noteUnsent();
  // A message about the loss is not true any more.
  if (toast.value?.text.startsWith(LOST)) toast.value = null;
  spokenUrgent.value = now === "lost" ? LOST : "";
  return now === "";
}

/** Counts the files with text that the server does not have as not saved. */
export function noteUnsent(): void {
  unsaved.value = new Set(editor.unsent.map(([path]) => path));
}

/** Sends the text that was typed meanwhile, and shows what the server has now. */
export async function rejoined(engine: Engine): Promise<void> {
  const count = editor.unsent.length;
  await editor.flush();
  if (engine !== engineOrNull()) return;
  await refresh();
  if (count > 0 && !editor.hasUnsent) notify("The server answers again. Your text is saved.");
  else spoken.value = "The server answers again.";
}

/** Downloads the files with text that the server does not have, as the editor shows them. */
export function downloadUnsent(): void {
  const texts = editor.unsent.map(([path, { raw }]) => [path, raw] as const);
  const [first] = texts;
  for (const [path, raw] of texts) download(baseName(path), new Blob([raw], { type: "text/plain" }));
  if (first) notify(`Downloaded ${texts.length === 1 ? baseName(first[0]) : `${texts.length} files`}.`);
}
