/** Starts, changes and deletes conversations of a server, which it calls sessions. */
import { describe, type SessionChange, type SessionInfo } from "../engine.js";
import { lateFocus } from "../late-focus.js";
import {
  choose,
  currentEngine,
  dialog,
  explained,
  notify,
  opening,
  options,
  project,
  session,
  showError,
} from "../store.js";
import { openChat } from "./conversations.js";
import { enterSession } from "./project.js";
import { keepMessage, readRuns } from "./run.js";

/** Starts a conversation and goes to the message box. `model` names its model on a server, or is "". */
export async function newConversation(model = ""): Promise<void> {
  const focusLate = lateFocus();
  const focusBox = (): void => {
    if (dialog.value === null) focusLate(() => document.querySelector<HTMLElement>(".composer textarea")?.focus());
  };
  const started = project.value.remote ? startSession(model) : openChat();
  // The next keys are for the new conversation, not for the button.
  if (project.value.remote) focusBox();
  await started;
  focusBox();
}

async function startSession(model: string): Promise<void> {
  // A slow server answers late: further clicks and keys on the button are the same wish.
  if (opening.value !== null) return;
  opening.value = "Starting a conversation…";
  try {
    await enterSession(await currentEngine().startSession(model, options.value.canvas));
  } catch (error) {
    // A message for the new conversation is not for the old one.
    keepMessage();
    opening.value = null;
    const { code, message } = describe(error);
    // The list is where one of them can be archived.
    if (code === "limit_reached") dialog.value = { kind: "conversations", problem: message };
    else showError(error);
  }
}

/** Returns the title of a session. */
export function sessionTitle({ title }: SessionInfo): string {
  return title === "" ? "New conversation" : title;
}

/** Changes a session. Returns why the server refused it, for the dialog, which covers other messages; null if it was done. */
export async function changeSession(id: string, change: SessionChange): Promise<string | null> {
  try {
    await currentEngine().changeSession(id, change);
    if (id === session.value?.id) await readRuns();
    return null;
  } catch (error) {
    const { title, steps, details } = await explained(error);
    return [details ?? title, ...steps].join(" ");
  }
}

/** Deletes a session after a question. The page then shows the one that was used last, if it showed this one. */
export async function deleteSession(info: SessionInfo): Promise<void> {
  const answer = await choose({
    title: `Delete “${sessionTitle(info)}”?`,
    message:
      "Its messages and its tasks are removed from the server, for everyone. That cannot be undone. Files stay as they are, and its changes stay in the review.",
    choices: [{ name: "delete", label: "Delete", danger: true }],
  });
  try {
    if (answer === "delete") {
      const engine = currentEngine();
      await engine.removeSession(info.id);
      if (info.id === session.value?.id) {
        const { sessions } = await engine.sessions("", false, null);
        await enterSession(sessions[0]?.id ?? (await engine.startSession("", options.value.canvas)));
      }
      notify("Deleted the conversation.");
    }
  } catch (error) {
    showError(error);
  }
  dialog.value = { kind: "conversations" };
}
