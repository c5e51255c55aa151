/**
 * Sends messages to the agent, follows its events, stops its runs, and changes its model.
 */
import { batch } from "@preact/signals";
import { addNotice, reduce, stopRun } from "../chat-state.js";
import { type AgentEvent, describe } from "../engine.js";
import { plural } from "../hunk-text.js";
import { modelOf, type Settings, saveSettings } from "../settings.js";
import {
  chat,
  currentEngine,
  draft,
  editor,
  engineOrNull,
  files,
  leaseHeld,
  settings,
  showError,
  spoken,
  totals,
} from "../store.js";
import { baseName } from "../tree.js";
import { markTouched, readLease, refresh } from "./refresh.js";

let abort: AbortController | null = null;
let nextNotice = 0;

/** Sends the user's message and follows the run to its end. */
export async function send(text: string): Promise<void> {
  if (text.trim() === "" || chat.value.running) return;
  draft.value = "";
  // Set before the first event, so that two quick clicks do not start two runs.
  chat.value = { ...chat.value, running: true, activity: "Thinking…" };
  const engine = currentEngine();
  // Another project may be opened during the run. Later events of this run must not appear there.
  const isCurrent = (): boolean => engineOrNull() === engine;
  const controller = new AbortController();
  abort = controller;
  let isShown = false;
  try {
    await editor.flush();
    for await (const event of engine.run(text, { signal: controller.signal })) {
      if (isCurrent() && event.kind === "PROCESSING_END") {
        // The end appears last, when the page shows everything that the run changed.
        await refresh().catch(showError);
        isShown = true;
      }
      if (isCurrent()) receive(event);
    }
  } catch (error) {
    const failure = describe(error);
    const expected = failure.code === "aborted" || !isCurrent();
    if (!expected) chat.value = addNotice(chat.value, `n${++nextNotice}`, "error", failure);
  }
  if (abort === controller) abort = null;
  if (!isCurrent()) return;
  chat.value = stopRun(chat.value);
  if (!isShown) await refresh().catch(showError);
  announceEnd();
}

/** Cancels the run. Its edits so far stay pending. */
export function stop(): void {
  abort?.abort();
}

function receive(event: AgentEvent): void {
  batch(() => {
    chat.value = reduce(chat.value, event);
    readLease();
  });
  if (event.kind === "FILE_CHANGED") {
    const { path } = event.data;
    markTouched(path);
    void refresh(files.value.some((file) => file.path === path) ? "texts" : "files").catch(showError);
  }
  if (event.kind === "CANVAS_LEASE") announceLease(event.data.path);
}

function announceLease(path: string): void {
  if (!leaseHeld.value) return;
  spoken.value = `The assistant is editing ${baseName(path)}. Press Escape or type to take over.`;
}

function announceEnd(): void {
  const { changes, files: fileCount } = totals.value;
  const rest = changes === 0 ? "" : ` ${plural(changes, "change")} in ${plural(fileCount, "file")} to review.`;
  spoken.value = `The assistant has finished.${rest}`;
}

/** Switches to another model for the next messages, and saves the choice. */
export function chooseModel(next: Settings): void {
  try {
    currentEngine().setModel(modelOf(next));
    settings.value = next;
    saveSettings(next);
  } catch (error) {
    showError(error);
  }
}
