/** Starts conversations and switches between them. Files, review and undo are the same in all of them. */
import { batch } from "@preact/signals";
import { type ChatState, EMPTY_CHAT, firstTasks } from "../chat-state.js";
import { chat, chats, conversation, currentEngine, showError, titles } from "../store.js";

/** Returns all conversations, the open one as it is now. */
export function allChats(): readonly ChatState[] {
  return chats.value.with(conversation.value, chat.value);
}

/** Shows a conversation. */
export function showChat(index: number): void {
  if (index === conversation.value) return;
  batch(() => {
    const all = [...allChats()];
    while (all.length <= index) all.push(EMPTY_CHAT);
    chats.value = all;
    conversation.value = index;
    chat.value = all[index] ?? EMPTY_CHAT;
  });
}

/** Adds a conversation that begins with the first tasks of another one. */
export function addBranch(index: number, from: number, tasks: number): void {
  const source = allChats()[from] ?? EMPTY_CHAT;
  showChat(index);
  chat.value = firstTasks(source, tasks);
}

/** Forgets all conversations, for another project. */
export function resetChats(): void {
  batch(() => {
    chats.value = [EMPTY_CHAT];
    conversation.value = 0;
    titles.value = new Map();
    chat.value = EMPTY_CHAT;
  });
}

/** Opens a conversation of the project, or starts a new one. */
export async function openChat(index = chats.value.length): Promise<void> {
  try {
    if (chat.value.running || index === conversation.value) return;
    // A conversation without messages is a new one already.
    if (index === chats.value.length && chat.value.entries.length === 0) return;
    const { offline } = chat.value;
    await currentEngine().converse(index);
    showChat(index);
    if (chat.value.entries.length === 0) chat.value = { ...chat.value, offline };
  } catch (error) {
    showError(error);
  }
}

/** Returns the title of a conversation: the user's, or its first message. */
export function chatTitle(state: ChatState, index: number): string {
  const given = titles.value.get(index);
  if (given) return given;
  const first = state.entries.find((entry) => entry.kind === "user");
  return first?.kind === "user" ? first.text : "New conversation";
}

/** Gives a conversation a title. An empty one is its first message again. */
export async function renameChat(index: number, title: string): Promise<void> {
  try {
    await currentEngine().entitle(index, title.trim());
    titles.value = new Map([...titles.value, [index, title.trim()]]);
  } catch (error) {
    showError(error);
  }
}

/** Returns the first message or answer of a conversation with this text, in any case; null if there is none. */
export function foundIn(state: ChatState, text: string): string | null {
  const needle = text.toLowerCase();
  for (const entry of state.entries) {
    if (entry.kind !== "user" && entry.kind !== "assistant") continue;
    const at = entry.text.toLowerCase().indexOf(needle);
    if (at >= 0) return entry.text.slice(Math.max(0, at - 40), at + needle.length + 60).replaceAll(/\s+/g, " ");
  }
  return null;
}
