/**
 * Reads the engine's current state into the page: files, hunks, the text of the open file, and the unsaved paths.
 *
 * Events only report that the state changed. All calls during a refresh are served by one further refresh.
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

/** Texts on the user's disk as far as known, by path. A missing path means that there is no such text file. */
const saved = new Map<string, string>();
/** Paths whose accepted text may differ from the text on disk. */
const touched = new Set<string>();

/** The state to read: texts and hunks only, or also the list of files, which is more expensive. */
export type Scope = "texts" | "files";

let running: Promise<void> | null = null;
let next: { readonly done: Promise<void>; scope: Scope } | null = null;

/** Updates the page. Resolves when it shows at least the state at the time of the call. */
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
 * Shows the open file in the editor, or the reason why it has no text.
 *
 * An open file can disappear and return: the agent deletes it, the user rejects the deletion, or undoes its creation.
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

/** Returns the text of a file, or the reason why it has none to show. */
async function read(path: string): Promise<{ text: string } | { problem: string }> {
  try {
    const state = await currentEngine().files.read(path);
    if (state) return { text: state.text };
    const deleted = hunksOf(path).length > 0;
    return {
      problem: deleted
        ? "The assistant deleted this file. Accept or reject the deletion above."
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

/** Returns a list of files with their current numbers of pending hunks. */
function withCounts(list: readonly FileInfo[], now: Review): readonly FileInfo[] {
  const counts = new Map(now.files.map((file) => [file.path, pendingHunks(file).length]));
  return list.map((file) => {
    const pending = counts.get(file.path) ?? 0;
    return pending === file.pendingHunks ? file : { ...file, pendingHunks: pending };
  });
}

/** Updates {@link leaseHeld}. A lease can expire without an event, so the page also calls this periodically. */
export function readLease(): void {
  const state = engineOrNull()?.canvas.state();
  leaseHeld.value = state?.held === true && state.path === openPath.value;
}

/** Resets the known state of the disk, for a new project. */
export function resetSaved(given: Record<string, string | Uint8Array>): void {
  saved.clear();
  touched.clear();
  for (const [path, content] of Object.entries(given)) {
    if (typeof content === "string") saved.set(path, content);
  }
}

/** Records that the text of `path` may differ from the disk. */
export function markTouched(path: string): void {
  touched.add(path);
}

/** Returns the text that the page last read from or wrote to the user's disk, or null if there was no such file. */
export function savedText(path: string): string | null {
  return saved.get(path) ?? null;
}

/** Records the text that was written to the user's disk. */
export function noteSaved(path: string, text: string | null): void {
  if (text === null) saved.delete(path);
  else saved.set(path, text);
}
