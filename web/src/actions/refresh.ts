/**
 * Reads the engine's current state into the page: files, hunks, the text of the open file, and the unsaved paths.
 *
 * Events only report that the state changed. All calls during a refresh are served by one further refresh. Calls for
 * events are limited to one per frame, because a run can cause hundreds of them in a second.
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
  showError,
  unreadable,
  unsaved,
} from "../store.js";

/** Texts on the user's disk as far as known, by path. A missing path means that there is no such text file. */
const saved = new Map<string, string>();
/** Paths whose accepted text may differ from the text on disk. */
const touched = new Set<string>();

/**
 * The state to read, cheapest first: hunks and the open text; also the unsaved paths, which only the user's edits and
 * decisions change; also the list of files.
 */
export type Scope = "hunks" | "texts" | "files";

const SCOPES: readonly Scope[] = ["hunks", "texts", "files"];

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
    next.scope = widest(next.scope, scope);
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

function widest(a: Scope, b: Scope): Scope {
  return SCOPES.indexOf(a) > SCOPES.indexOf(b) ? a : b;
}

/** Pause after a refresh, as a multiple of its duration, and its limit in milliseconds. */
const PAUSE_FACTOR = 3;
const PAUSE_MS_MAX = 500;

let soon: { scope: Scope } | null = null;
let lastMs = 0;

/**
 * Updates the page after an event: at most once per frame, and less often if a refresh takes long. Call it as often as
 * there are events.
 */
export function refreshSoon(scope: Scope): void {
  if (soon) {
    soon.scope = widest(soon.scope, scope);
    return;
  }
  const waited = { scope };
  soon = waited;
  const start = (): void => {
    // Replaced by a complete refresh meanwhile.
    if (soon !== waited) return;
    soon = null;
    void refresh(waited.scope).catch(showError);
  };
  // A hidden page draws no frames, but must not fall behind.
  const pause = Math.min(PAUSE_FACTOR * lastMs, PAUSE_MS_MAX);
  setTimeout(() => (document.hidden ? start() : requestAnimationFrame(start)), pause);
}

async function readState(scope: Scope): Promise<void> {
  if (soon && SCOPES.indexOf(soon.scope) <= SCOPES.indexOf(scope)) soon = null;
  const begun = performance.now();
  const engine = currentEngine();
  const list = scope === "files" ? await engine.files.list() : null;
  const nowUnsaved = scope === "hunks" ? null : await readUnsaved();
  if (engine !== engineOrNull()) return;
  let reading: Reading | null = null;
  // Text and review are read in one step, so that the hunks belong to the text.
  await editor.update(async (path) => {
    reading = await read(path);
    if (engine !== engineOrNull()) return null;
    publish(engine.review(), list, nowUnsaved);
    return "text" in reading ? { raw: reading.text, hunks: hunksOf(path) } : null;
  });
  if (engine !== engineOrNull()) return;
  if (!reading) publish(engine.review(), list, nowUnsaved);
  if (!reading || editor.shownPath !== openPath.value || "problem" in reading) await showOpenFile();
  lastMs = performance.now() - begun;
}

function publish(nowReview: Review, list: readonly FileInfo[] | null, nowUnsaved: ReadonlySet<string> | null): void {
  for (const file of nowReview.files) touched.add(file.path);
  const all = list ?? withCounts(files.value, nowReview);
  batch(() => {
    files.value = all.filter((file) => file.status !== "deleted" || file.pendingHunks > 0);
    review.value = nowReview;
    if (nowUnsaved) unsaved.value = nowUnsaved;
    readLease();
  });
}

async function readUnsaved(): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (const { path } of currentEngine().review().files) touched.add(path);
  for (const path of touched) {
    if ((await currentEngine().files.readDisk(path)) !== (saved.get(path) ?? null)) found.add(path);
  }
  return found;
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
    if (editor.shownPath !== path) {
      review.value = currentEngine().review();
      editor.show(path, reading.text, hunksOf(path));
    }
  } else {
    unreadable.value = reading.problem;
    editor.hide();
  }
}

type Reading = { readonly text: string } | { readonly problem: string };

/** Returns the text of a file, or the reason why it has none to show. */
async function read(path: string): Promise<Reading> {
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
    return { problem: withoutText(path, describe(error).message) };
  }
}

/** Returns why the page shows no text of a file: its kind and size, for a file that is not text. */
function withoutText(path: string, message: string): string {
  const size = files.value.find((file) => file.path === path)?.size;
  if (size === undefined || !/binary|UTF-8|encoding/i.test(message)) return message;
  const isImage = /\.(png|jpe?g|gif|webp|avif|bmp|ico|tiff?)$/i.test(path);
  const kind = isImage
    ? "An image"
    : /UTF-8/.test(message)
      ? "A file in another encoding than UTF-8"
      : "Not a text file";
  return `${kind}, ${sizeName(size)}. Emend edits text in UTF-8.`;
}

function sizeName(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

function hunksOf(path: string): readonly Hunk[] {
  return pendingHunks(review.value.files.find((file) => file.path === path));
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
