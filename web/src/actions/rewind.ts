/** Takes the project or the conversation back to before a task. Neither loses anything: both steps can be undone. */
import type { PastFile, RunInfo } from "../engine.js";
import { plural } from "../hunk-text.js";
import { chat, conversation, currentEngine, draft, editor, files, notify, showError, tabs } from "../store.js";
import { baseName } from "../tree.js";
import { openChat } from "./conversations.js";
import { closeTab } from "./edit.js";
import { refresh } from "./refresh.js";
import { readRuns } from "./run.js";

/** The parts that go back. */
export interface Extent {
  readonly files: boolean;
  readonly conversation: boolean;
}

/** Returns the files that a task and later ones changed, with their texts before it. */
export async function pastFiles(run: RunInfo): Promise<readonly PastFile[]> {
  await editor.flush();
  return currentEngine().past(run.number);
}

/**
 * Goes back to before a task. The conversation continues in a branch, and its message returns to the message box. The
 * user's own edits since then stay in the files.
 */
export async function goBack(run: RunInfo, extent: Extent): Promise<void> {
  try {
    if (chat.value.running) return;
    await editor.flush();
    const engine = currentEngine();
    if (extent.conversation) {
      if (run.conversation !== conversation.value) await openChat(run.conversation);
      await engine.branch(run.task);
      draft.value = draft.value.trim() === "" ? run.text : `${run.text}\n${draft.value}`;
    }
    if (extent.files) await engine.goBack(run.number);
    await refresh();
    await readRuns();
    await closeMissing();
    notify(saying(extent), { undo: extent.files });
    if (extent.conversation) document.querySelector<HTMLElement>(".composer textarea")?.focus();
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
