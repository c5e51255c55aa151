/** Opens projects: folders, files, archives, projects that the browser keeps, recordings, and the sample. */
import { batch } from "@preact/signals";
import { type Draft, drafts } from "../drafts.js";
import {
  describe,
  type Engine,
  enterEngine,
  joinEngine,
  type ProjectInfo,
  restoreEngine,
  shared,
  startEngine,
} from "../engine.js";
import { type Progress, type Project, pickDirectory, projectOfDrop, projectOfInput, readDirectory } from "../folder.js";
import { pendingHunks, plural } from "../hunk-text.js";
import { newId } from "../ids.js";
import {
  browserFolder,
  browserProjects,
  claimProject,
  keepFolder,
  keptFolder,
  projectOfTab,
  releaseProject,
} from "../kept-folders.js";
import { invitation, noteJoined, rememberedSession, rememberSession, wasJoined } from "../own-server.js";
import type { Replaced } from "../replaced.js";
import {
  additions,
  choose,
  closedFolders,
  currentEngine,
  draft,
  editor,
  engineOrNull,
  files,
  inBrowser,
  isServerLost,
  kept,
  notify,
  opening,
  openPath,
  options,
  pane,
  project,
  review,
  session,
  setEngine,
  settings,
  showError,
  startProblem,
  tabs,
  titles,
  totals,
  unreadable,
  unsaved,
} from "../store.js";
import { foldedAtFirst } from "../tree.js";
import { forgetWritten, recallWritten, rememberWritten } from "../written.js";
import { resetChats, showChat } from "./conversations.js";
import { openFile } from "./edit.js";
import { refresh, resetLease, resetState } from "./refresh.js";
import { isMessageHeld, leaveRun, readRuns } from "./run.js";
import { resetTimeline } from "./timeline.js";

/**
 * Joins the server that the page comes from, or opens the project that the tab had before it was reloaded, with its review and
 * conversation.
 */
export async function start(): Promise<void> {
  const id = projectOfTab();
  const token = invitation() ?? (id === null && wasJoined() ? "" : null);
  const isOpen = (token !== null && (await joinOwn(token))) || (id !== null && (await continueProject(id)));
  if (!isOpen) {
    // A project then opens at once.
    shared.warm().catch(() => undefined);
    void editor.load().catch(() => undefined);
  }
  opening.value = null;
  await listProjects();
}

/** Reads the lists of the start view. */
export async function listProjects(): Promise<void> {
  kept.value = (await shared.projects().catch(() => [])).filter((info) => info.id !== currentId);
  inBrowser.value = await browserProjects();
}

export const OPEN_ELSEWHERE = "This project is open in another tab.";

/** Opens a kept project as it was left. Returns whether there is one that no other tab has open. */
export async function continueProject(id: string): Promise<boolean> {
  try {
    await editor.flush();
    if (hasUnsettled() && !(await confirmLeaving())) return false;
    opening.value = "Restoring your project…";
    if (!(await claimProject(id))) {
      notify(OPEN_ELSEWHERE);
      return false;
    }
    const directory = await keptFolder(id);
    const folder = directory && (await import("./reread.js"));
    // Asked first, while the click counts.
    const isReadable = directory !== null && (await folder?.isAllowed(directory)) === true;
    leaveRun();
    resetChats();
    resetTimeline();
    const restored = await restoreEngine(id, settings.value, options.value, drafts.of(id));
    if (!restored) return false;
    drafts.forget(id);
    const { engine, info, exact } = restored;
    const { name, skipped, sample } = info;
    startProblem.value = null;
    show(engine, { name, directory, skipped, sample });
    [currentId, joined] = [id, ""];
    recallWritten(restored.written);
    for (let index = 0; index < restored.conversations; index++) showChat(index);
    showChat(restored.conversation);
    titles.value = new Map(restored.titles);
    await refresh();
    await readRuns();
    const path = (await engine.canvas()).path;
    if (path !== null) await openFile(path);
    if (directory !== null && isReadable) await folder?.rereadFolder(directory).catch(showError);
    if (!exact) notify("The review could not be restored exactly. Compare it before you save.", { level: "error" });
    return true;
  } catch (error) {
    showError(error);
    return false;
  } finally {
    opening.value = null;
  }
}

/** The id of the open project. */
let currentId = "";
/** The address of the joined server, or "". */
let joined = "";

/** The name under which the browser keeps text that was typed last, or "". That of a project in the tab is its id. */
export function draftsId(): string {
  return joined === "" ? currentId : `server ${joined}`;
}

/** Shows an engine's project instead of the one before. */
function show(engine: Engine, shown: typeof project.value): void {
  setEngine(engine);
  editor.reset();
  resetState();
  forgetWritten();
  drafts.reset();
  batch(() => {
    project.value = shown;
    session.value = null;
    openPath.value = null;
    tabs.value = [];
    unreadable.value = null;
  });
}

/** Opens the bundled sample project. */
export function openSample(): Promise<void> {
  return replaceProject(async () => (await import("../sample.js")).sampleProject());
}

/** Opens the folder that the user picks in the browser's dialog. */
export function openDirectory(): Promise<void> {
  return replaceProject(pickDirectory);
}

/** Opens the files of a file input: texts, one archive, or one recording. */
export function openInput(list: FileList): Promise<void> {
  const [first] = list;
  if (!first) return Promise.resolve();
  if (list.length === 1 && isRecording(first.name)) return openRecording(first);
  if (list.length === 1 && isArchive(first.name)) return replaceProject(() => projectOfArchive(first));
  return replaceProject((progress) => projectOfInput(list, progress));
}

const isArchive = (name: string): boolean => /\.zip$/i.test(name);
const isRecording = (name: string): boolean => /\.emend\.jsonl$/i.test(name);

async function projectOfArchive(file: File): Promise<Project> {
  opening.value = `Unpacking ${file.name}…`;
  const { files: contents, skipped } = await shared.unzip(file);
  return { name: file.name.replace(/\.zip$/i, ""), files: contents, directory: null, skipped };
}

/** Opens a project with all operations, as another browser recorded it. */
async function openRecording(file: File): Promise<void> {
  try {
    const id = newId();
    await shared.keepRecording(await file.text(), id);
    await continueProject(id);
  } catch (error) {
    showError(error);
  }
}

/** Opens a project that the browser stores, and creates it if there is none with this name. */
export function openInBrowser(name: string): Promise<void> {
  return replaceProject(async (progress) => readDirectory(await browserFolder(name), progress));
}

/** Joins the server that the page comes from. Returns whether it did. */
async function joinOwn(token: string): Promise<boolean> {
  try {
    await join(location.origin, token);
    return true;
  } catch (error) {
    // A server that starts again is the same one.
    isServerLost.value = describe(error).code === "server_unreachable" && (token !== "" || wasJoined());
    if (isServerLost.value) {
      ownToken = token;
      return false;
    }
    noteJoined(false);
    // A page with a cookie asks unbidden: another host than `emend serve` has no such server. That is not an error.
    if (token !== "") showError(error);
    else if (describe(error).code === "permission_denied") {
      notify("The server asks for its token again: open the address that it printed.");
    }
    return false;
  }
}

/** The token of the page's own server, which did not answer. */
let ownToken = "";

/** Joins the page's own server again, which did not answer before. */
export async function joinAgain(): Promise<void> {
  isServerLost.value = false;
  await joinOwn(ownToken);
}

/** Forgets the page's own server, which does not answer. */
export function leaveLost(): void {
  isServerLost.value = false;
  noteJoined(false);
  rememberSession("");
}

/** Joins the session of a server. Its terminal and other pages have the same one. */
export async function joinServer(url: string, token: string): Promise<void> {
  try {
    await editor.flush();
    // Text that a server did not take goes with the page when it joins that server again.
    if (url !== joined && hasUnsettled() && !(await confirmLeaving())) return;
    await join(url, token);
    isServerLost.value = false;
  } catch (error) {
    showError(error);
  }
}

async function join(url: string, token: string): Promise<void> {
  try {
    opening.value = "Joining the server…";
    const engine = await joinEngine(url, token, rememberedSession(), options.value.canvas);
    keepTyped();
    leaveRun();
    resetChats();
    resetTimeline();
    show(engine, { name: new URL(url).host, directory: null, skipped: [], sample: false, remote: true });
    [currentId, joined] = ["", url];
    (await import("./elsewhere.js")).forgetElsewhere();
    releaseProject();
    noteJoined(new URL(url).origin === location.origin);
    await refresh();
    closedFolders.value = foldedAtFirst(files.value.map((file) => file.path));
    await sendKept(engine);
    await readRuns();
    rememberSession(session.value?.id ?? "");
    // A phone shows one pane, and no file is open.
    pane.value = "chat";
  } finally {
    opening.value = null;
  }
}

/** Sends the text to a server that it could not take before. Other changes since then stay. */
async function sendKept(engine: Engine): Promise<void> {
  const kept = drafts.of(draftsId());
  const edits: Replaced[] = [];
  for (const { path, text, base } of kept)
    edits.push([path, (await engine.write(path, text, base, { kind: "typing", path })).replaced]);
  drafts.forget(draftsId());
  if (kept.length === 0) return;
  await refresh();
  notify(`Saved what you typed while the server did not answer: ${kept.map(({ path }) => path).join(", ")}.`);
  if (edits.some(([, lines]) => lines.length > 0)) (await import("../replaced.js")).tellReplaced(edits);
}

/**
 * Shows another session of the joined server. The files and the review are those of all its sessions. A task of the session
 * before goes on there, as do the messages that wait for its end.
 */
export async function enterSession(id: string): Promise<void> {
  try {
    await editor.flush();
    opening.value = "Opening the conversation…";
    const engine = await enterEngine(id);
    const added = additions.value;
    leaveRun();
    resetChats();
    resetTimeline();
    resetLease();
    setEngine(engine);
    additions.value = added;
    rememberSession(id);
    await refresh();
    await readRuns();
    if (openPath.value !== null) await engine.openCanvas(openPath.value);
  } catch (error) {
    showError(error);
  } finally {
    opening.value = null;
  }
}

/** Returns to the start view. The project stays in this browser and can be continued. */
export async function leaveProject(): Promise<void> {
  await editor.flush();
  if (hasUnsettled() && !(await confirmLeaving("Leave this project?", "Leave"))) return;
  // Otherwise the assistant would work on unseen, and write into a record that another tab may have opened.
  await currentEngine().close().catch(showError);
  noteJoined(false);
  rememberSession("");
  leaveRun();
  setEngine(null);
  editor.reset();
  resetState();
  [currentId, joined] = ["", ""];
  releaseProject();
  await listProjects();
}

/** Opens the folder or the files that the user dropped on the page. */
export function openDrop(transfer: DataTransfer): Promise<void> {
  // The browser clears the transfer when the event ends.
  const [only, ...others] = transfer.files;
  if (only && others.length === 0 && (isArchive(only.name) || isRecording(only.name))) return openInput(transfer.files);
  return replaceProject(projectOfDrop(transfer));
}

async function replaceProject(read: (progress: Progress) => Promise<Project | null>): Promise<void> {
  try {
    await editor.flush();
    if (hasUnsettled() && !(await confirmLeaving())) return;
    opening.value = "Opening…";
    void editor.load().catch(() => undefined);
    const next = await read((count) => {
      opening.value = `Reading files: ${count.toLocaleString("en")} so far…`;
    });
    if (next) await useProject(next);
    startProblem.value = null;
  } catch (error) {
    // No project has ever been open: the page must keep showing why it cannot start.
    const { code, message } = describe(error);
    if (engineOrNull() === null && code === "load_failed") startProblem.value = message;
    else showError(error);
  } finally {
    opening.value = null;
  }
}

async function useProject(next: Project): Promise<void> {
  leaveRun();
  const isFirst = engineOrNull() === null;
  const info: ProjectInfo = {
    id: newId(),
    name: next.name,
    skipped: next.skipped,
    sample: next.sample === true,
    opened: Date.now(),
  };
  const engine = await startEngine(info, next.files, settings.value, options.value);
  const { name, directory, skipped } = next;
  show(engine, { name, directory, skipped, sample: next.sample === true });
  [currentId, joined] = [info.id, ""];
  void claimProject(info.id);
  if (directory) void keepFolder(info.id, directory);
  batch(() => {
    closedFolders.value = foldedAtFirst(Object.keys(next.files));
    resetChats();
    resetTimeline();
    // A message that could not be sent because the engine had not loaded is kept, and so is one that waits for this project.
    if (!isFirst && !isMessageHeld()) draft.value = "";
  });
  await refresh();
  const first = firstFile(next.files);
  if (first !== undefined) await openFile(first);
  if (skipped.length > 0) notify(`Opened ${name}. Skipped: ${skipped.join(", ")}.`);
}

/**
 * Returns the file to open first: a README at the top level, else the first text file. Hidden files such as `.env` often
 * hold secrets, and are not shown unasked.
 */
function firstFile(contents: Project["files"]): string | undefined {
  const paths = files.value.map((file) => file.path);
  const isHidden = (path: string): boolean => path.split("/").some((name) => name.startsWith("."));
  return (
    paths.find((path) => /^readme(\.\w+)?$/i.test(path)) ??
    paths.find((path) => !isHidden(path) && typeof contents[path] === "string")
  );
}

/** Keeps the text that was typed last, because the page closes before it can be recorded. */
export function keepTyped(): void {
  if (draftsId() === "") return;
  // A server has what was sent to it.
  if (joined !== "") drafts.reset();
  const unsent = editor.unsent.map(([path, { raw, base }]): Draft => {
    const written = rememberWritten(pendingHunks(review.value.files.find((file) => file.path === path)));
    return { key: newId(), path, text: raw, base, written };
  });
  if (joined === "" || unsent.length > 0) drafts.keep(draftsId(), unsent, Date.now());
}

/** Forgets what `keepTyped` kept, because the page did not close after all. */
export function dropKept(): void {
  if (draftsId() !== "") drafts.forget(draftsId());
}

/** Whether leaving the page now would lose changes. */
export function hasUnsettled(): boolean {
  // A server keeps its review.
  if (project.value.remote) return editor.hasUnsent;
  return editor.hasUnsent || unsaved.value.size > 0 || totals.value.changes > 0;
}

async function confirmLeaving(title = "Open another project?", label = "Discard and open"): Promise<boolean> {
  const parts: string[] = [];
  if (totals.value.changes > 0) parts.push(`${plural(totals.value.changes, "change")} waiting for review`);
  if (unsaved.value.size > 0) parts.push(plural(unsaved.value.size, "unsaved file"));
  const answer = await choose({
    title,
    message: project.value.remote
      ? "The server has not taken what you typed last. It would be lost."
      : `There ${totals.value.changes + unsaved.value.size === 1 ? "is" : "are"} ${parts.join(" and ")}. This browser keeps the last six projects, so that you can continue.`,
    choices: [{ name: "open", label, danger: true }],
  });
  return answer === "open";
}
