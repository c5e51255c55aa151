/**
 * Sends messages to the agent, follows its events, stops its runs, and changes its model.
 */
import { batch } from "@preact/signals";
import { addNotice, addWaiting, reduce, stopRun, withoutWaiting } from "../chat-state.js";
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
  notify,
  settings,
  showError,
  spoken,
  totals,
} from "../store.js";
import { baseName } from "../tree.js";
import { markTouched, readLease, refresh, refreshSoon } from "./refresh.js";

let abort: AbortController | null = null;
/** The run that takes messages now. */
let active: { steer(text: string): void } | null = null;
/** Messages for the next run. */
const later: string[] = [];
let nextNotice = 0;

/** Sends the user's message. During a run the message joins that run. */
export async function send(text: string): Promise<void> {
  if (text.trim() === "") return;
  if (engineOrNull() === null) {
    notify("Emend has not started, so the message was not sent.", { level: "error" });
    return;
  }
  draft.value = "";
  if (chat.value.running) steer(text);
  else await run(text);
}

/** Adds a message to the run. A run that is about to start or to end gets it as the next task. */
function steer(text: string): void {
  chat.value = addWaiting(chat.value, text);
  try {
    if (active) active.steer(text);
    else later.push(text);
  } catch (error) {
    takeBackMessage(text);
    showError(error);
  }
}

/** Returns a message that the model did not receive to the message box. */
function takeBackMessage(text: string): void {
  chat.value = withoutWaiting(chat.value, text);
  draft.value = draft.value === "" ? text : `${text}\n${draft.value}`;
}

/** Follows a run to its end. */
async function run(text: string): Promise<void> {
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
    const started = engine.run(text, { signal: controller.signal });
    active = started;
    const breathe = breather();
    for await (const event of started) {
      if (event.kind === "PROCESSING_END" && active === started) active = null;
      if (isCurrent() && event.kind === "PROCESSING_END") {
        // The end appears last, when the page shows everything that the run changed.
        await refresh().catch(showError);
        isShown = true;
      }
      if (isCurrent()) receive(event);
      await breathe();
    }
  } catch (error) {
    const failure = describe(error);
    const expected = failure.code === "aborted" || !isCurrent();
    if (!expected) chat.value = addNotice(chat.value, `n${++nextNotice}`, "error", failure);
  }
  if (abort === controller) abort = null;
  if (!isCurrent()) return;
  active = null;
  chat.value = stopRun(chat.value);
  if (!isShown) await refresh().catch(showError);
  announceEnd();
  sendLater(controller.signal.aborted);
}

/** Maximum time in milliseconds for which events are handled without a pause for input and painting. */
const TASK_MS_MAX = 16;

/** Returns a function that waits for the browser's next task when the present one has become long. */
function breather(): () => Promise<void> {
  let begun = performance.now();
  return async () => {
    // The run advances only when its events are read, so it pauses, too.
    if (performance.now() - begun < TASK_MS_MAX) return;
    await new Promise((resolve) => setTimeout(resolve));
    begun = performance.now();
  };
}

/** Sends the messages that came too late for the last run as one task. A stopped run returns them. */
function sendLater(stopped: boolean): void {
  const texts = later.splice(0);
  if (texts.length === 0) return;
  const text = texts.join("\n");
  for (const each of texts) chat.value = withoutWaiting(chat.value, each);
  if (stopped) takeBackMessage(text);
  else void run(text);
}

/** Cancels the run. Its edits so far stay pending. */
export function stop(): void {
  abort?.abort();
}

/** Leaves the run, because another project is opened. */
export function leaveRun(): void {
  stop();
  active = null;
  later.length = 0;
}

function receive(event: AgentEvent): void {
  batch(() => {
    chat.value = reduce(chat.value, event);
    readLease();
  });
  if (event.kind === "STEERING_RETURNED") takeBackMessage(event.data.content);
  if (event.kind === "FILE_CHANGED") {
    const { path } = event.data;
    markTouched(path);
    refreshSoon(files.value.some((file) => file.path === path) ? "hunks" : "files");
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
