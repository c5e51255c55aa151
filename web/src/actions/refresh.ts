/**
 * Reads the engine's present state into the page: files, hunks, the open file's text, what is unsaved.
 *
 * Events only say that something changed; this says what is now. Calls made while one is under way are served by one
 * more.
 */
import { batch } from "@preact/signals";
import { describe, type FileInfo, type Hunk, type Review } from "../engine.js";
import { pendingHunks } from "../hunk-text.js";
import {
  currentEngine,
  editor,
  engineOrNull,
  files,
  leaseHeld,
  openPath,
  review,
  unreadable,
  unsaved,
} from "../store.js";

/** What the user's disk holds, by path, where it is text; a missing path is no file. */
const saved = new Map<string, string>();
/** Paths whose accepted text may differ from that. */
const touched = new Set<string>();

/** What may have changed: texts and hunks only, or which files there are as well, which costs more to ask. */
export type Scope = "texts" | "files";

let running: Promise<void> | null = null;
let next: { readonly done: Promise<void>; scope: Scope } | null = null;

/** Resolves when everything that was so at the time of the call is shown. */
export function refresh(scope: Scope = "files"): Promise<void> {
  if (!running) {
    running = readState(scope).finally(() => {
      running = null;
    });
    return running;
  }
  if (next) {
    if (scope === "files") next.scope = scope;
    return next.done;
  }
  const done = running
    .catch(() => undefined)
    .then(() => {
      const waited = next?.scope ?? scope;
      next = null;
      return refresh(waited);
    });
  next = { done, scope };
  return done;
}

async function readState(scope: Scope): Promise<void> {
  const engine = currentEngine();
  const nowReview = engine.review();
  const list = scope === "files" ? await engine.files.list() : withCounts(files.value, nowReview);
  for (const file of nowReview.files) touched.add(file.path);
  const nowUnsaved = new Set<string>();
  for (const path of touched) {
    if ((await engine.files.readDisk(path)) !== (saved.get(path) ?? null)) nowUnsaved.add(path);
  }
  if (engine !== engineOrNull()) return;
  batch(() => {
    files.value = list.filter((file) => file.status !== "deleted" || file.pendingHunks > 0);
    review.value = nowReview;
    unsaved.value = nowUnsaved;
    readLease();
  });
  await editor.update(async (path) => {
    const reading = await read(path);
    return "text" in reading ? { raw: reading.text, hunks: hunksOf(path) } : null;
  });
  await showOpenFile();
}

/**
 * Brings the editor in line with the open file: shows it if it is not shown, and says why if it has no text.
 *
 * A file comes and goes: the agent deletes it, the user rejects that or undoes having made it.
 */
export async function showOpenFile(): Promise<void> {
  const path = openPath.value;
  if (path === null) return;
  const reading = await read(path);
  if (path !== openPath.value) return;
  if ("text" in reading) {
    unreadable.value = null;
    if (editor.shownPath !== path) editor.show(path, reading.text, hunksOf(path));
  } else {
    unreadable.value = reading.problem;
    editor.hide();
  }
}

/** A file's text, or why it has none to show. */
async function read(path: string): Promise<{ text: string } | { problem: string }> {
  try {
    const state = await currentEngine().files.read(path);
    if (state) return { text: state.text };
    const deleted = hunksOf(path).length > 0;
    return {
      problem: deleted
        ? "The assistant deleted this file. Accept or reject that above."
        : "This file no longer exists.",
    };
  } catch (error) {
    return { problem: describe(error).message };
  }
}

function hunksOf(path: string): readonly Hunk[] {
  return pendingHunks(
    currentEngine()
      .review()
      .files.find((file) => file.path === path),
  );
}

/** The files as they were, with the hunks they have now. */
function withCounts(list: readonly FileInfo[], now: Review): readonly FileInfo[] {
  const counts = new Map(now.files.map((file) => [file.path, pendingHunks(file).length]));
  return list.map((file) => {
    const pending = counts.get(file.path) ?? 0;
    return pending === file.pendingHunks ? file : { ...file, pendingHunks: pending };
  });
}

/** Whether the agent holds the open file now; time alone can change it, so the page asks. */
export function readLease(): void {
  const state = engineOrNull()?.canvas.state();
  leaseHeld.value = state?.held === true && state.path === openPath.value;
}

/** Begins a project whose files are on disk as given. */
export function resetSaved(given: Record<string, string | Uint8Array>): void {
  saved.clear();
  touched.clear();
  for (const [path, content] of Object.entries(given)) {
    if (typeof content === "string") saved.set(path, content);
  }
}

/** Notes that `path` may have to be saved. */
export function markTouched(path: string): void {
  touched.add(path);
}

/** What the page last read from or wrote to the user's disk; null if there was no such file. */
export function savedText(path: string): string | null {
  return saved.get(path) ?? null;
}

/** Notes what was written to the user's disk. */
export function noteSaved(path: string, text: string | null): void {
  if (text === null) saved.delete(path);
  else saved.set(path, text);
}
