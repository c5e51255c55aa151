/**
 * Reads the engine's current state into the page: files, hunks, the text of the open file, and the unsaved paths.
 *
 * Events only report that the state changed. All calls during a refresh are served by one further refresh. Calls for
 * events are limited to one per frame, because a run can cause hundreds of them in a second. The engine sends only the
 * reviews of files that have changed.
 */
import { batch } from "@preact/signals";
import type { CanvasState, FileInfo, Hunk, Reading, Review, ReviewFile, Scope, Snapshot } from "../engine.js";
import { pendingHunks } from "../hunk-text.js";
import {
  chat,
  currentEngine,
  editor,
  engineOrNull,
  explained,
  files,
  isCutOff,
  isReading,
  lastEdit,
  leaseHeld,
  link,
  moreFiles,
  openPath,
  project,
  review,
  showError,
  steps,
  unreadable,
  unsaved,
} from "../store.js";

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

/** Resolves when no refresh is under way any more: the page shows what was sent to the engine before. */
export async function refreshed(): Promise<void> {
  await (next?.done ?? running)?.catch(() => undefined);
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
  let snapshot: Snapshot | null = null;
  const take = async (path: string | null): Promise<Snapshot | null> => {
    snapshot = await engine.snapshot(scope, path);
    if (engine !== engineOrNull()) return null;
    publish(snapshot);
    return snapshot;
  };
  await editor.update(async (path) => {
    const taken = await take(path);
    if (taken && project.value.remote) await compare(taken, path);
    const reading = taken?.reading;
    return reading && "text" in reading ? { raw: reading.text, hunks: hunksOf(path) } : null;
  });
  if (engine !== engineOrNull()) return;
  if (!snapshot) await take(null);
  const reading = (snapshot as Snapshot | null)?.reading;
  if (!reading || editor.shownPath !== openPath.value || "problem" in reading) await showOpenFile();
  lastMs = performance.now() - begun;
}

/** Tells which lines of the user others have replaced. */
async function compare(snapshot: Snapshot, path: string): Promise<void> {
  const { compared } = await import("./elsewhere.js");
  const lost = compared(snapshot, path, chat.value.running);
  if (lost.length > 0) (await import("../replaced.js")).tellLost(path, lost);
}

/** Shows a snapshot. Files whose reviews have not changed keep their objects, so that lists draw only the others. */
function publish(snapshot: Snapshot): void {
  const { revision, paths, changed, list, unsaved: nowUnsaved, lease, steps: nowSteps } = snapshot;
  const known = new Map(review.value.files.map((file) => [file.path, file]));
  noteEdit(known, changed);
  for (const file of changed) known.set(file.path, file);
  const nowReview: Review = {
    revision,
    files: paths.flatMap((path): ReviewFile[] => {
      const file = known.get(path);
      return file ? [file] : [];
    }),
  };
  const all = list ?? withCounts(files.value, nowReview);
  const shown = all.filter((file) => file.status !== "deleted" || file.pendingHunks > 0);
  batch(() => {
    if (list || !sameItems(shown, files.value)) files.value = shown;
    if (changed.length > 0 || !sameItems(nowReview.files, review.value.files)) review.value = nowReview;
    moreFiles.value = snapshot.hasMore === true;
    if (nowUnsaved && !isCutOff.value) unsaved.value = new Set(nowUnsaved);
    steps.value = nowSteps;
    showLease(lease);
  });
}

/** Records where the agent has changed the open file. */
function noteEdit(known: ReadonlyMap<string, ReviewFile>, changed: readonly ReviewFile[]): void {
  const file = changed.find((each) => each.path === openPath.value);
  if (!file || !chat.value.running) return;
  // A change that the assistant goes on with grows.
  const before = new Map(known.get(file.path)?.hunks.map((hunk) => [hunk.id, hunk.lines.length]));
  const hunk = file.hunks.findLast((each) => before.get(each.id) !== each.lines.length);
  // A hunk has unchanged lines around it. Its last new one is where the assistant is.
  const last = hunk?.lines.findLast(({ kind }) => kind === "added")?.newNumber;
  if (hunk) lastEdit.value = { path: file.path, hunk: hunk.id, line: last ?? Math.max(hunk.newStart, 1) };
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}

/** Forgets the state of the project before. */
export function resetState(): void {
  batch(() => {
    files.value = [];
    review.value = { revision: 0, files: [] };
    unsaved.value = new Set();
    link.value = "";
    steps.value = { done: [], undone: [] };
  });
  resetLease();
}

/** Forgets the lease of the project or session before. */
export function resetLease(): void {
  leaseHeld.value = false;
  [lastEpoch, ignoredEpoch] = [0, -1];
}

/** The file to which `unreadable` belongs. */
let unreadablePath = "";

/** Time in milliseconds after which the page says that it reads a file. */
const READING_MS = 150;

/**
 * Shows the open file in the editor, or the reason why it has no text.
 *
 * An open file can disappear and return: the agent deletes it, the user rejects the deletion, or undoes its creation.
 */
export async function showOpenFile(): Promise<void> {
  const path = openPath.value;
  if (path === null) return;
  const engine = currentEngine();
  const isShown = (): boolean => editor.shownPath === path;
  // A text that comes at once takes the place of the one before. Without one, an empty text must not take keys.
  // A file that has no text keeps its reason while it is read again.
  let waited = editor.shownPath === null && unreadable.value === null;
  if (waited) isReading.value = true;
  const isKnown = unreadable.value !== null && path === unreadablePath;
  const timer = setTimeout(() => {
    if (path !== openPath.value || isShown() || isKnown) return;
    waited = true;
    isReading.value = true;
  }, READING_MS);
  const reading = Promise.all([engine.snapshot("hunks", path), editor.load()]).catch(async (error: unknown) => {
    const { title } = await explained(error);
    // The text of another file, or none, must not stand under this name.
    if (engine === engineOrNull() && path === openPath.value && project.value.remote && editor.shownPath !== path) {
      unreadable.value = title;
      unreadablePath = path;
      editor.hide();
    }
    throw error;
  });
  const [snapshot, controller] = await reading.finally(() => {
    clearTimeout(timer);
    if (path === openPath.value || openPath.value === null) isReading.value = false;
  });
  if (engine !== engineOrNull()) return;
  publish(snapshot);
  if (path !== openPath.value || !snapshot.reading) return;
  if ("text" in snapshot.reading) {
    unreadable.value = null;
    if (controller.shownPath !== path) controller.show(path, snapshot.reading.text, hunksOf(path));
  } else {
    unreadable.value = problemOf(path, snapshot.reading);
    unreadablePath = path;
    editor.hide();
  }
  // A hidden editor takes no focus and cannot scroll.
  if (waited && !document.hidden) await new Promise(requestAnimationFrame);
}

function problemOf(path: string, { problem, code }: Extract<Reading, { problem: string }>): string {
  if (code !== "not_found") return withoutText(path, problem);
  return hunksOf(path).length > 0
    ? "The assistant deleted this file. Accept or reject the deletion above."
    : "This file no longer exists.";
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

/** The generation of the lease that was shown last, and the one from which the user took the file back. */
let lastEpoch = 0;
let ignoredEpoch = -1;

/** Shows whether the agent holds the lease of the open file. */
export function showLease(state: CanvasState): void {
  lastEpoch = state.epoch;
  leaseHeld.value = state.held && state.path === openPath.value && state.epoch > ignoredEpoch;
}

/** Hides the present lease at once: the user took the file back, and the engine is about to learn it. */
export function ignoreLease(): void {
  ignoredEpoch = lastEpoch;
  leaseHeld.value = false;
}

/** Updates {@link leaseHeld}. A lease can expire without an event, so the page also calls this periodically. */
export function readLease(): void {
  const engine = engineOrNull();
  if (!engine) return;
  engine.canvas().then(
    (state) => {
      if (engine === engineOrNull()) showLease(state);
    },
    () => undefined,
  );
}
