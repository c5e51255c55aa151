/** Takes the project or the conversation back to before a task. Neither loses anything: both steps can be undone. */
import type { Extent, PastFile, Rewound, RunInfo } from "../engine.js";
import { plural } from "../hunk-text.js";
import { lateFocus } from "../late-focus.js";
import { reveal } from "../reveal.js";
import { chat, conversation, currentEngine, draft, editor, files, notify, project, showError, tabs } from "../store.js";
import { baseName } from "../tree.js";
import { openChat } from "./conversations.js";
import { closeTab } from "./edit.js";
import { refresh } from "./refresh.js";
import { readRuns } from "./run.js";

/** Returns the files that a task and later ones changed, with their texts before it. */
export async function pastFiles(run: RunInfo): Promise<readonly PastFile[]> {
  await editor.flush();
  return currentEngine().past(run.number);
}

/** Says what going back would do to the files. */
export async function effectOnFiles(run: RunInfo): Promise<string> {
  if (project.value.remote) {
    await editor.flush();
    const effect = await currentEngine().rewind(run.number, { files: true, conversation: false }, true);
    return [changing(effect.restored.map(reveal)), ...exceptions(effect)].join(" ");
  }
  const past = (await pastFiles(run)).filter((file) => file.before !== file.now);
  return changing(past.map(({ path, before }) => reveal(path) + (before === null ? " (removed)" : "")));
}

function changing(names: readonly string[]): string {
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

function listed(names: readonly string[]): string {
  return names.slice(0, 4).join(", ") + (names.length > 4 ? ` and ${plural(names.length - 4, "more file")}` : "");
}

/**
 * Goes back to before a task. The conversation continues in a branch, and its message returns to the message box. The
 * user's own edits since then stay in the files.
 */
export async function goBack(run: RunInfo, extent: Extent): Promise<void> {
  const focusLate = lateFocus();
  try {
    if (chat.value.running) return;
    await editor.flush();
    const engine = currentEngine();
    const isRemote = project.value.remote === true;
    const effect = isRemote ? await engine.rewind(run.number, extent, false) : null;
    if (extent.conversation) {
      if (!isRemote && run.conversation !== conversation.value) await openChat(run.conversation);
      if (!isRemote) await engine.branch(run.task);
      draft.value = draft.value.trim() === "" ? run.text : `${run.text}\n${draft.value}`;
    }
    if (extent.files && !isRemote) await engine.goBack(run.number);
    await refresh();
    await readRuns();
    await closeMissing();
    notify(effect ? sayingOfServer(extent, effect) : saying(extent), { undo: extent.files || isRemote });
    if (extent.conversation) focusLate(() => document.querySelector<HTMLElement>(".composer textarea")?.focus());
  } catch (error) {
    showError(error);
  }
}

function saying({ files: theFiles, conversation: theConversation }: Extent): string {
  const branch = "The conversation goes on in a branch; the former one is in the list.";
  if (!theFiles) return `${branch} Files stay as they are.`;
  const went = "The files are as before the task, with your own edits. Save to change the disk.";
  return theConversation ? `${went} ${branch}` : went;
}

function sayingOfServer({ files: theFiles, conversation: theConversation }: Extent, effect: Rewound): string {
  const parts = [...(theConversation ? ["conversation"] : []), ...(theFiles ? ["files"] : [])];
  const verb = parts.length === 1 && theConversation ? "is" : "are";
  const own = theFiles ? ", with your own edits" : "";
  return [`The ${parts.join(" and the ")} ${verb} as before the task${own}.`, ...exceptions(effect)].join(" ");
}

/** Closes the tabs of files that do not exist any more. */
async function closeMissing(): Promise<void> {
  const paths = new Set(files.value.map((file) => file.path));
  for (const path of tabs.value.filter((each) => !paths.has(each))) await closeTab(path);
}

/** Gives one file its text from before a task, as an edit of the user. */
export async function putBack(run: RunInfo, file: PastFile): Promise<void> {
  try {
    await editor.flush();
    await currentEngine().putBack(run.number, file.path);
    await refresh();
    await closeMissing();
    notify(`${baseName(file.path)} has its text from before the task.`, { undo: true });
  } catch (error) {
    showError(error);
  }
}

/** Returns "2 files" or the name of the only one. */
export function filesName(paths: readonly string[]): string {
  return paths.length === 1 && paths[0] !== undefined ? baseName(paths[0]) : plural(paths.length, "file");
}
