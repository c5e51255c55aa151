/** Takes the project or the conversation back to before a task. Neither loses anything: both steps can be undone. */
import type { Extent, PastFile, PutBack, Rewound, RolledBack, RunInfo } from "../engine.js";
import { type GoneBack, goneBack, usualOutcome, withChoices } from "../going-back.js";
import { plural } from "../hunk-text.js";
import type { Outcome } from "../kept.js";
import { lateFocus } from "../late-focus.js";
import { lineDiff } from "../line-diff.js";
import { reveal } from "../reveal.js";
import {
  chat,
  conversation,
  currentEngine,
  dialog,
  draft,
  editor,
  files,
  notify,
  project,
  showError,
  tabs,
} from "../store.js";
import { baseName } from "../tree.js";
import { openChat } from "./conversations.js";
import { closeTab } from "./edit.js";
import { refresh } from "./refresh.js";
import { addPicturesBack, readRuns } from "./run.js";

/** Returns the files that a task, later ones or the user since then changed, with their texts before it. */
export async function pastFiles(run: RunInfo): Promise<readonly PastFile[]> {
  await editor.flush();
  return currentEngine().past(run.number);
}

/** How the files go back: with the user's edits since then or without them, and only some files. */
export interface Way {
  readonly hard: boolean;
  /** The chosen files, or null for all. */
  readonly paths: readonly string[] | null;
}

/** The effect on one file. */
export interface FileEffect {
  readonly path: string;
  /** A remark: that the file is removed, or where the user has to choose. */
  readonly note: string;
  /** The user's lines that are lost. */
  readonly lost: readonly string[];
}

/** The effect on the files, with those that cannot be restored. */
export interface Effect {
  readonly files: readonly FileEffect[];
  readonly notes: readonly string[];
}

/** Says what going back would do to the files: with the user's edits since then, and without them. */
export async function effectsOnFiles(run: RunInfo): Promise<{ readonly soft: Effect; readonly hard: Effect }> {
  if (project.value.remote) return effectsOnServer(run);
  const past = await pastFiles(run);
  const soft = past.flatMap((file): FileEffect[] => {
    const gone = goneBack(file);
    const text = usualText(gone);
    if (text === file.now && gone.places.length === 0) return [];
    const lines = gone.places.map((place) => place.line).join(", ");
    const places = `your edit is on words of the assistant, line ${lines}: you choose what stays`;
    return [{ path: file.path, note: gone.places.length > 0 ? places : text === null ? "removed" : "", lost: [] }];
  });
  const hard = past.flatMap((file): FileEffect[] => {
    if (file.before === file.now) return [];
    return [{ path: file.path, note: file.before === null ? "removed" : "", lost: lostLines(file) }];
  });
  return { soft: { files: soft, notes: [] }, hard: { files: hard, notes: [] } };
}

async function effectsOnServer(run: RunInfo): Promise<{ readonly soft: Effect; readonly hard: Effect }> {
  await editor.flush();
  const engine = currentEngine();
  const [effect, all] = await Promise.all([
    engine.rewind(run.number, { files: true, conversation: false }, true),
    engine.rollBack(run.number, { hard: true, preview: true }),
  ]);
  const named = (path: string): FileEffect => ({ path, note: "", lost: [] });
  const lost = new Map(all.lost.map(({ path, edits }) => [path, edits]));
  const hard = all.changed.map((path): FileEffect => {
    const edits = lost.get(path) ?? 0;
    return {
      path,
      note: edits > 0 ? `${plural(edits, "edit")} of yours in it ${edits > 1 ? "are" : "is"} lost` : "",
      lost: [],
    };
  });
  return {
    soft: { files: effect.restored.map(named), notes: exceptions(effect) },
    hard: { files: hard, notes: conflictNotes(all) },
  };
}

function usualText(gone: GoneBack): string | null {
  return withChoices(gone, gone.places.map(usualOutcome));
}

/** Returns the lines of the user that are not in the text from before the task. */
function lostLines(file: PastFile): readonly string[] {
  if (file.own.length === 0) return [];
  const gone = goneBack(file);
  // The whole lines, as the user sees them now.
  const kept = withChoices(
    gone,
    gone.places.map(() => "keep"),
  );
  const rows = lineDiff(file.before, kept).flat();
  const added = rows.flatMap((row) => (row.kind === "added" ? [`line ${row.newNumber}: ${row.text.trim()}`] : []));
  const removed = rows.some((row) => row.kind === "removed");
  return added.length > 0 || !removed ? added : [kept === null ? "your removal of the file" : "lines that you removed"];
}

/** Names the files that change. */
export function changing(names: readonly string[]): string {
  return names.length === 0
    ? "No file changes."
    : `${names.length === 1 ? "This file changes" : "These files change"}: ${listed(names)}.`;
}

/** Says which files a server cannot restore as a whole. */
function exceptions({ kept, lost }: Rewound): string[] {
  return [
    ...(kept.length > 0 ? [`A part of the changes stays, because of later edits: ${listed(kept.map(reveal))}.`] : []),
    ...(lost.length > 0 ? [`A command changed these, and they stay as they are: ${listed(lost.map(reveal))}.`] : []),
  ];
}

function conflictNotes({ conflicts }: RolledBack): string[] {
  return conflicts.length === 0
    ? []
    : [`Later changes depend on a part, which stays: ${listed(conflicts.map(reveal))}.`];
}

function listed(names: readonly string[]): string {
  return names.slice(0, 4).join(", ") + (names.length > 4 ? ` and ${plural(names.length - 4, "more file")}` : "");
}

/** Asks what becomes of lines that are half the assistant's. Returns the texts, or null if the user cancelled. */
async function settledTexts(past: readonly PastFile[]): Promise<readonly PutBack[] | null> {
  const gone = past.map((file) => [file, goneBack(file)] as const);
  const places = gone.flatMap(([, each]) => each.places);
  const choices =
    places.length === 0
      ? []
      : await new Promise<readonly Outcome[] | null>((answer) => {
          dialog.value = { kind: "kept", hunks: places, purpose: "go back", answer };
        });
  if (choices === null) return null;
  let at = 0;
  return gone.map(([{ path }, each]) => {
    const chosen = choices.slice(at, at + each.places.length);
    at += each.places.length;
    return { path, text: withChoices(each, chosen) };
  });
}

/**
 * Goes back to before a task. The conversation continues in a branch, and its message returns to the message box. The
 * user's own edits since then stay in the files, unless the way is hard.
 */
export async function goBack(run: RunInfo, extent: Extent, way: Way): Promise<void> {
  const focusLate = lateFocus();
  try {
    if (chat.value.running) return;
    await editor.flush();
    let said = saying(extent, way);
    if (project.value.remote) said = await goBackOnServer(run, extent, way);
    else {
      const backInFiles = extent.files ? await filesBack(run, way) : async () => undefined;
      if (backInFiles === null) return;
      const engine = currentEngine();
      if (extent.conversation) {
        if (run.conversation !== conversation.value) await openChat(run.conversation);
        await engine.branch(run.task);
      }
      await backInFiles();
    }
    if (extent.conversation) {
      draft.value = draft.value.trim() === "" ? run.text : `${run.text}\n${draft.value}`;
      addPicturesBack(run.pictures);
    }
    await refresh();
    await readRuns();
    await closeMissing();
    notify(said, { undo: extent.files || project.value.remote === true });
    if (extent.conversation) focusLate(() => document.querySelector<HTMLElement>(".composer textarea")?.focus());
  } catch (error) {
    showError(error);
  }
}

/** Returns the step of the files, or null if the user cancelled. */
async function filesBack(run: RunInfo, { hard, paths }: Way): Promise<(() => Promise<void>) | null> {
  const engine = currentEngine();
  if (hard && paths === null) return () => engine.goBack(run.number, { hard });
  const past = await pastFiles(run);
  if (paths !== null) {
    const chosen = past.filter((file) => paths.includes(file.path));
    const texts = hard ? chosen.map(({ path, before: text }) => ({ path, text })) : await settledTexts(chosen);
    return texts && (() => engine.putBack(run.number, texts));
  }
  const texts = await settledTexts(past.filter((file) => file.own.length > 0));
  return texts && (() => engine.goBack(run.number, { texts }));
}

async function goBackOnServer(run: RunInfo, extent: Extent, { hard, paths }: Way): Promise<string> {
  const engine = currentEngine();
  if (!extent.files || (!hard && paths === null)) {
    return sayingOfServer(extent, await engine.rewind(run.number, extent, false));
  }
  const effect = await engine.rollBack(run.number, { hard, preview: false, ...(paths && { paths }) });
  // Last: no other step may follow it before it is undone.
  if (extent.conversation) await engine.rewind(run.number, { files: false, conversation: true }, false);
  const what = paths === null ? "The files are" : `${listed(paths.map(reveal))} ${paths.length === 1 ? "is" : "are"}`;
  const own = hard ? ", without your edits since then" : ", with your own edits";
  return [`${what} as before the task${own}.`, ...conflictNotes(effect)].join(" ");
}

function saying({ files: theFiles, conversation: theConversation }: Extent, { hard, paths }: Way): string {
  const branch = "The conversation goes on in a branch; the former one is in the list.";
  if (!theFiles) return `${branch} Files stay as they are.`;
  const what = paths === null ? "The files are" : `${listed(paths.map(reveal))} ${paths.length === 1 ? "is" : "are"}`;
  const own = hard ? "without your edits since then" : "with your own edits";
  const went = `${what} as before the task, ${own}. Save to change the disk.`;
  return theConversation ? `${went} ${branch}` : went;
}

function sayingOfServer({ files: theFiles, conversation: theConversation }: Extent, effect: Rewound): string {
  const parts = [...(theConversation ? ["conversation"] : []), ...(theFiles ? ["files"] : [])];
  const verb = parts.length === 1 && theConversation ? "is" : "are";
  const own = theFiles ? ", with your own edits" : "";
  return [`The ${parts.join(" and the ")} ${verb} as before the task${own}.`, ...exceptions(effect)].join(" ");
}

/** Closes the tabs of files that do not exist any more. */
export async function closeMissing(): Promise<void> {
  const paths = new Set(files.value.map((file) => file.path));
  for (const path of tabs.value.filter((each) => !paths.has(each))) await closeTab(path);
}

/** Gives one file its text from before a task, as an edit of the user. */
export async function putBack(run: RunInfo, file: PastFile): Promise<void> {
  await putTexts(run, () => settledTexts([file]), `${baseName(file.path)} has its text from before the task.`);
}

/** Puts parts of a file back, which gives it this text. */
export async function putPartsBack(run: RunInfo, path: string, text: string, count: number): Promise<void> {
  const parts = `${plural(count, "part")} of ${baseName(path)}`;
  await putTexts(run, async () => [{ path, text }], `${parts} ${count === 1 ? "is" : "are"} as before the task.`);
}

async function putTexts(run: RunInfo, texts: () => Promise<readonly PutBack[] | null>, said: string): Promise<void> {
  try {
    await editor.flush();
    const found = await texts();
    if (found === null) return;
    await currentEngine().putBack(run.number, found);
    await refresh();
    await closeMissing();
    notify(said, { undo: true });
  } catch (error) {
    showError(error);
  }
}

/** Returns "2 files" or the name of the only one. */
export function filesName(paths: readonly string[]): string {
  return paths.length === 1 && paths[0] !== undefined ? baseName(paths[0]) : plural(paths.length, "file");
}
