/**
 * Sends messages to the agent, follows its events, stops its runs, and changes its model.
 */
import { batch } from "@preact/signals";
import {
  addNotice,
  addWaiting,
  EMPTY_CHAT,
  type EndEntry,
  type NoticeEntry,
  reduce,
  stopRun,
  withModels,
  withoutWaiting,
} from "../chat-state.js";
import { composed, picturesIn } from "../context.js";
import {
  type Answer,
  describe,
  type Engine,
  type EventBatch,
  listenToEvents,
  type Picture,
  type ShownEvent,
  shared,
} from "../engine.js";
import { plural } from "../hunk-text.js";
import { type Options, type Settings, saveOptions, saveSettings } from "../settings.js";
import {
  additions,
  chat,
  costs,
  currentEngine,
  draft,
  editor,
  engineOrNull,
  files,
  hunksBefore,
  leaseHeld,
  notify,
  opening,
  options,
  project,
  type Queued,
  queue,
  runs,
  runTimes,
  session,
  settings,
  showError,
  spoken,
  spokenUrgent,
  totals,
} from "../store.js";
import { baseName } from "../tree.js";
import { callUser } from "./attention.js";
import { addBranch, showChat } from "./conversations.js";
import { rejoined, showLink } from "./link.js";
import { refresh, refreshSoon, showLease } from "./refresh.js";
import { recordEvents } from "./timeline.js";

/** Whether the user stopped the current run. */
let stopped = false;
/** The engine whose run takes messages now. */
let active: Engine | null = null;
/** Messages for the next run. */
const later: Message[] = [];
let nextNotice = 0;

type Message = Pick<Queued, "text"> & { readonly pictures: readonly Picture[] };

/** Sends the user's message with its additions. During a run the message joins that run. */
export async function send(typed: string): Promise<void> {
  if (opening.value !== null && !(await isOpened(typed))) return;
  const text = composed(typed, additions.value);
  const pictures = picturesIn(additions.value);
  if (!(await draftMayGo(text))) return;
  if (engineOrNull() === null) {
    notify("Emend has not started, so the message was not sent.", { level: "error" });
    return;
  }
  batch(() => {
    draft.value = "";
    additions.value = [];
  });
  if (chat.value.running) steer(text, pictures);
  else await run(text, pictures);
}

/** Adds pictures to the message: these files, or without them those that the user chooses. */
export function addFiles(list?: FileList): void {
  // A browser clears the list when the event ends.
  const given = list && [...list];
  const add = async (): Promise<void> => (await import("./pictures.js")).addPictures(given);
  add().catch(showError);
}

/** Whether the message in the box can go, and is the same when that is known: a second press of Enter may have sent it. */
async function draftMayGo(text: string): Promise<boolean> {
  const [added, written] = [additions.value, draft.value];
  return (await mayGo(text, picturesIn(added))) && additions.value === added && draft.value === written;
}

/** Whether a message is more than blanks, and its pictures can go with it. */
async function mayGo(text: string, pictures: readonly Picture[]): Promise<boolean> {
  if (pictures.length === 0) return text.trim() !== "";
  try {
    return (await import("./pictures.js")).mayGo(text);
  } catch (error) {
    showError(error);
    return false;
  }
}

/**
 * Goes on after a failure, a limit or a stop, and leaves the message box as it is. The conversation has the user's message already,
 * so it is not sent again, unless the task could not begin: then the message is in the box.
 */
export async function goOn(notice: NoticeEntry | EndEntry): Promise<void> {
  const { entries } = chat.value;
  const before = entries.slice(0, entries.indexOf(notice)).findLast((entry) => entry.kind !== "notice");
  if (before === undefined || before.kind === "end") return send(draft.value);
  const message = entries.findLast((entry) => entry.kind === "user");
  // The offline model reads the last message only. After a reload it can be another model than that of the message.
  const offline = project.value.remote ? chat.value.offline : settings.value.provider === "offline";
  await run(offline && message ? message.text : "continue");
}

/** Whether a message waits for the project. */
let held = false;

/** Whether a message waits for the project that is opened. Its text is still in the message box. */
export function isMessageHeld(): boolean {
  return held;
}

/** Waits until the project is open. Returns false if the user has changed the message since, or it waits already. */
async function isOpened(typed: string): Promise<boolean> {
  if (held || typed.trim() === "") return false;
  held = true;
  notify(
    project.value.remote
      ? "The message is sent as soon as it can be."
      : "The message is sent when the project is open.",
  );
  await new Promise<void>((done) => {
    const end = opening.subscribe((text) => {
      if (text !== null) return;
      setTimeout(() => {
        end();
        done();
      });
    });
  });
  const isSent = held;
  held = false;
  return isSent && draft.value === typed;
}

/** Leaves a message that waits in the message box, because what it waits for has failed. */
export function keepMessage(): void {
  held = false;
}

let nextQueued = 0;

/** Adds the message to the tasks that follow the present one. A server has a list of them for all its clients. */
export async function enqueue(typed: string): Promise<void> {
  const text = composed(typed, additions.value);
  const pictures = picturesIn(additions.value);
  if (!(await draftMayGo(text))) return;
  batch(() => {
    draft.value = "";
    additions.value = [];
    if (!project.value.remote) queue.value = [...queue.value, { id: ++nextQueued, text, pictures }];
  });
  if (project.value.remote && !(await onServer((engine) => engine.queueMessage(text)))) return takeBackMessage(text);
  spoken.value = `Queued. ${plural(queue.value.length, "message")} waiting.`;
}

/** Changes the queue of a server. Returns whether it was done. */
async function onServer(change: (engine: Engine) => Promise<void>): Promise<boolean> {
  try {
    await change(currentEngine());
    await readRuns();
    return true;
  } catch (error) {
    showError(error);
    return false;
  }
}

/** Adds messages that waited before a reload of the page. */
export function requeue(messages: readonly Omit<Queued, "id">[]): void {
  queue.value = [...messages.map((each) => ({ ...each, id: ++nextQueued })), ...queue.value];
}

/** Takes a message out of the queue and returns it; undefined if a server has sent it already. */
async function dequeue(id: Queued["id"]): Promise<Queued | undefined> {
  const found = queue.value.find((each) => each.id === id);
  if (typeof id === "string" && !(await onServer((engine) => engine.withdrawMessage(id)))) return undefined;
  queue.value = queue.value.filter((each) => each.id !== id);
  return found;
}

export async function withdrawQueued(id: Queued["id"]): Promise<void> {
  if (await dequeue(id)) spoken.value = "Withdrawn.";
}

/** Returns a queued message to the message box. */
export async function editQueued(id: Queued["id"]): Promise<void> {
  const found = await dequeue(id);
  if (!found) return;
  addToDraft(found.text);
  addPicturesBack(found.pictures);
}

/** Returns pictures to the message box. */
export function addPicturesBack(pictures: readonly Picture[] = []): void {
  additions.value = [...additions.value.filter((each) => !pictures.some(({ id }) => id === each.id)), ...pictures];
}

/** Adds a text to the message box. */
export function addToDraft(text: string): void {
  draft.value = draft.value.trim() === "" ? text : `${draft.value}\n${text}`;
}

/** Sends a queued message now: to the present task, or as the next one. */
export async function sendQueued(id: Queued["id"]): Promise<void> {
  if (typeof id === "string") {
    await onServer((engine) => engine.sendMessage(id));
    return;
  }
  const { text = "", pictures = [] } = queue.value.find((each) => each.id === id) ?? {};
  if (!(await mayGo(text, pictures))) return;
  if (!(await dequeue(id))) return;
  if (chat.value.running) steer(text, pictures);
  else await run(text, pictures);
}

/** Decides on a call that waits for the user. */
export async function answerCall(call: string, decision: Answer, reason = ""): Promise<void> {
  try {
    await currentEngine().answer(call, decision, reason);
  } catch (error) {
    showError(error);
  }
}

/**
 * Reads the tasks to which the project can go back, and the hunks that were there before the last one; of a server, also the
 * title, the mode and the budgets of the session.
 */
export async function readRuns(): Promise<void> {
  const engine = currentEngine();
  const ofSession = project.value.remote ? engine.sessionInfo() : null;
  const [list, before, info] = await Promise.all([engine.runs(), engine.hunksBefore(), ofSession]);
  if (engine !== engineOrNull()) return;
  batch(() => {
    session.value = info;
    if (info) queue.value = info.queued;
    runs.value = list;
    hunksBefore.value = new Set(before);
  });
}

/** Changes how the agent works, from its next step on, and saves the choice. */
export async function chooseOptions(next: Options): Promise<void> {
  options.value = next;
  saveOptions(next);
  await engineOrNull()?.setOptions(next).catch(showError);
}

/** Adds a message to the run. A run that is about to start or to end gets it as the next task. */
function steer(text: string, pictures: readonly Picture[]): void {
  chat.value = addWaiting(chat.value, text);
  if (!active) later.push({ text, pictures });
  else {
    active.steer(text, idsOf(pictures)).catch((error: unknown) => {
      takeBackMessage(text, pictures);
      showError(error);
    });
  }
}

/** Returns a message that the model did not receive to the message box. */
function takeBackMessage(text: string, pictures: readonly Picture[] = []): void {
  chat.value = withoutWaiting(chat.value, text);
  draft.value = draft.value === "" ? text : `${text}\n${draft.value}`;
  addPicturesBack(pictures);
}

function idsOf(pictures: readonly Picture[]): string[] {
  return pictures.map(({ id }) => id);
}

function messageCount(): number {
  return chat.value.entries.filter((entry) => entry.kind === "user").length;
}

/** Follows a run to its end. */
async function run(text: string, pictures: readonly Picture[] = []): Promise<void> {
  // Set before the first event, so that two quick clicks do not start two runs.
  chat.value = { ...chat.value, running: true, activity: "Thinking…" };
  runTimes.value = { began: Date.now(), lastEvent: Date.now() };
  const engine = currentEngine();
  // Another project may be opened during the run. Later events of this run must not appear there.
  const isCurrent = (): boolean => engineOrNull() === engine;
  stopped = false;
  const sent = messageCount();
  try {
    await editor.flush();
    active = engine;
    await engine.run(text, idsOf(pictures));
  } catch (error) {
    const failure = describe(error);
    const expected = failure.code === "aborted" || !isCurrent();
    if (!expected) chat.value = addNotice(chat.value, `n${++nextNotice}`, "error", failure);
    // A task that was refused is not in the conversation.
    if (isCurrent() && messageCount() === sent) takeBackMessage(text, pictures);
  }
  if (!isCurrent()) return;
  active = null;
  if (chat.value.running) {
    chat.value = stopRun(chat.value);
    await refresh().catch(showError);
  }
  await readRuns().catch(showError);
  announceEnd();
  if (sendLater(stopped)) return;
  // A task that failed, was stopped or asks something is not followed by the next one unasked.
  const end = chat.value.entries.at(-1);
  const next = project.value.remote ? undefined : queue.value[0];
  if (next && !stopped && end?.kind === "end" && end.reason === "natural") await sendQueued(next.id);
}

/** Shows events of the engine. The end of a run appears last, when the page shows everything that the run changed. */
async function receiveBatch(received: EventBatch): Promise<void> {
  const { events, lease, link, conversation: index, offline, replayed, branched, anew } = received;
  if (branched) addBranch(index, branched.from, branched.tasks);
  showChat(index);
  recordEvents(index, events);
  runTimes.value = { ...runTimes.value, lastEvent: Date.now() };
  const begun = events.findLast((event) => event.kind === "USER_INPUT");
  if (project.value.remote && begun) runTimes.value = { ...runTimes.value, began: begun.ts };
  const isEnd = events.at(-1)?.kind === "PROCESSING_END";
  const now = isEnd ? events.slice(0, -1) : events;
  batch(() => {
    let state = anew ? { ...EMPTY_CHAT, waiting: chat.value.waiting } : chat.value;
    for (const event of now) state = reduce({ ...state, offline }, event);
    chat.value = state;
    // A server can have a run that was started elsewhere. It takes messages of this page, too.
    if (project.value.remote) active = state.running ? engineOrNull() : null;
    if (!replayed) showLease(lease);
  });
  const end = events.at(-1);
  if (isEnd && end) {
    active = null;
    if (!replayed) await refresh().catch(showError);
    chat.value = reduce({ ...chat.value, offline }, end);
    void priceRun(received);
    if (project.value.remote && !replayed) void readRuns().catch(showError);
  }
  if (!replayed) for (const event of now) follow(event);
  const engine = engineOrNull();
  if (link !== undefined && engine && showLink(link)) void rejoined(engine).then(readRuns).catch(showError);
  if (received.sessionChanged) void readRuns().catch(showError);
}

listenToEvents(receiveBatch);

/** Adds the models that responded in the last run, and their cost, if all prices are known. */
async function priceRun({ model, spent }: EventBatch): Promise<void> {
  const end = chat.value.entries.at(-1);
  if (end?.kind !== "end" || end.usage === null) return;
  const { inputTokens: input, outputTokens: output } = end.usage;
  if (spent) chat.value = withModels(chat.value, [...new Set(spent.map((each) => each.name))]);
  if (input + output === 0) return;
  const parts = (spent ?? [{ model, input, output }]).map((each) => shared.cost(each.model, each.input, each.output));
  const total = await Promise.all(parts).then(
    (all) => all.reduce((sum, cost) => (sum === null || cost === null ? null : sum + cost), 0),
    () => null,
  );
  if (total !== null) costs.value = new Map([...costs.value, [end.id, total]]);
}

/**
 * Sends the messages that came too late for the last run as one task. A stopped run returns them. Returns whether there
 * were any.
 */
function sendLater(stopped: boolean): boolean {
  const messages = later.splice(0);
  if (messages.length === 0) return false;
  const text = messages.map((each) => each.text).join("\n");
  const pictures = messages.flatMap((each) => each.pictures);
  for (const each of messages) chat.value = withoutWaiting(chat.value, each.text);
  if (stopped) takeBackMessage(text, pictures);
  else void run(text, pictures);
  return true;
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
  batch(() => {
    queue.value = [];
    additions.value = [];
    runs.value = [];
    hunksBefore.value = new Set();
    costs.value = new Map();
  });
}

/** Carries out the consequences of an event outside of the conversation. */
function follow(event: ShownEvent): void {
  if (event.kind === "USER_INPUT") void readRuns().catch(showError);
  if (event.kind === "STEERING_RETURNED") takeBackMessage(event.data.content, event.pictures);
  if (event.kind === "FILE_CHANGED") {
    const { path } = event.data;
    refreshSoon(files.value.some((file) => file.path === path) ? "hunks" : "files");
  }
  if (event.kind === "CANVAS_LEASE") announceLease(event.data.path);
  if (event.kind === "APPROVAL_REQUESTED") {
    spokenUrgent.value = `The assistant asks whether it may use ${event.data.toolName}.`;
    callUser(spokenUrgent.value);
  }
}

function announceLease(path: string): void {
  if (!leaseHeld.value) return;
  spoken.value = `The assistant is editing ${baseName(path)}. Press Escape or type to take control.`;
}

function announceEnd(): void {
  const { changes, files: fileCount } = totals.value;
  const rest = changes === 0 ? "" : ` ${plural(changes, "change")} in ${plural(fileCount, "file")} to review.`;
  const end = chat.value.entries.at(-1);
  const asks = end?.kind === "end" && end.reason === "awaiting_input";
  spoken.value = asks ? "The assistant asks you something." : `The assistant has finished.${rest}`;
  callUser(spoken.value);
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
