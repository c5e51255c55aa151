/**
 * Sends messages to the agent, follows its events, stops its runs, and changes its model.
 */
import { batch } from "@preact/signals";
import { addNotice, addWaiting, reduce, stopRun, withoutWaiting } from "../chat-state.js";
import { type AgentEvent, describe, type Engine, type EventBatch, listenToEvents } from "../engine.js";
import { plural } from "../hunk-text.js";
import { type Settings, saveSettings } from "../settings.js";
import {
  chat,
  currentEngine,
  draft,
  editor,
  engineOrNull,
  files,
  leaseHeld,
  notify,
  runTimes,
  settings,
  showError,
  spoken,
  totals,
} from "../store.js";
import { baseName } from "../tree.js";
import { showChat } from "./conversations.js";
import { refresh, refreshSoon, showLease } from "./refresh.js";

/** Whether the user stopped the current run. */
let stopped = false;
/** The engine whose run takes messages now. */
let active: Engine | null = null;
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
  if (!active) later.push(text);
  else {
    active.steer(text).catch((error: unknown) => {
      takeBackMessage(text);
      showError(error);
    });
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
  runTimes.value = { began: Date.now(), lastEvent: Date.now() };
  const engine = currentEngine();
  // Another project may be opened during the run. Later events of this run must not appear there.
  const isCurrent = (): boolean => engineOrNull() === engine;
  stopped = false;
  try {
    await editor.flush();
    active = engine;
    await engine.run(text);
  } catch (error) {
    const failure = describe(error);
    const expected = failure.code === "aborted" || !isCurrent();
    if (!expected) chat.value = addNotice(chat.value, `n${++nextNotice}`, "error", failure);
  }
  if (!isCurrent()) return;
  active = null;
  if (chat.value.running) {
    chat.value = stopRun(chat.value);
    await refresh().catch(showError);
  }
  announceEnd();
  sendLater(stopped);
}

/** Shows events of the engine. The end of a run appears last, when the page shows everything that the run changed. */
async function receiveBatch({ events, lease, conversation: index, offline, replayed }: EventBatch): Promise<void> {
  showChat(index);
  runTimes.value = { ...runTimes.value, lastEvent: Date.now() };
  const isEnd = events.at(-1)?.kind === "PROCESSING_END";
  const now = isEnd ? events.slice(0, -1) : events;
  batch(() => {
    let state = chat.value;
    for (const event of now) state = reduce({ ...state, offline }, event);
    chat.value = state;
    if (!replayed) showLease(lease);
  });
  const end = events.at(-1);
  if (isEnd && end) {
    active = null;
    if (!replayed) await refresh().catch(showError);
    chat.value = reduce({ ...chat.value, offline }, end);
  }
  if (!replayed) for (const event of now) follow(event);
}

listenToEvents(receiveBatch);

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
  stopped = true;
  void engineOrNull()?.stop().catch(showError);
}

/** Leaves the run, because another project is opened. */
export function leaveRun(): void {
  active = null;
  later.length = 0;
}

/** Carries out the consequences of an event outside of the conversation. */
function follow(event: AgentEvent): void {
  if (event.kind === "STEERING_RETURNED") takeBackMessage(event.data.content);
  if (event.kind === "FILE_CHANGED") {
    const { path } = event.data;
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
export async function chooseModel(next: Settings): Promise<void> {
  try {
    await currentEngine().setModel(next);
    settings.value = next;
    saveSettings(next);
  } catch (error) {
    showError(error);
  }
}
