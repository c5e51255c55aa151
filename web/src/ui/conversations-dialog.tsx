/** Lists the conversations of the project, finds text in them, and renames them. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { allChats, chatTitle, foundIn, openChat, renameChat } from "../actions/conversations.js";
import { plural } from "../hunk-text.js";
import { reveal } from "../reveal.js";
import { chat, conversation } from "../store.js";
import { closeDialog, Modal } from "./modal.js";
import { ToolButton } from "./top-bar.js";

export function ConversationsDialog() {
  const text = useSignal("");
  const renaming = useSignal<number | null>(null);
  const needle = text.value.trim();
  const rows = allChats().flatMap((state, index) => {
    const title = chatTitle(state, index);
    const found = needle === "" ? "" : foundIn(state, needle);
    return found === null && !title.toLowerCase().includes(needle.toLowerCase())
      ? []
      : [{ state, index, title, found }];
  });
  const open = (index: number): void => {
    closeDialog();
    void openChat(index);
  };
  return (
    <Modal title="Conversations" onCancel={closeDialog}>
      <input
        class="find-input"
        type="search"
        data-focus
        aria-label="Text in conversations"
        placeholder="Find in titles, messages and answers"
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
      />
      <ul class="found" aria-label="Conversations">
        {rows.map(({ state, index, title, found }) => (
          <li key={index} class={index === conversation.value ? "conversation chosen" : "conversation"}>
            {renaming.value === index ? (
              <Rename
                title={title}
                onDone={(next) => {
                  renaming.value = null;
                  if (next !== null) void renameChat(index, next);
                }}
              />
            ) : (
              <button
                class="conversation-open"
                type="button"
                aria-current={index === conversation.value ? "true" : undefined}
                disabled={chat.value.running && index !== conversation.value}
                onClick={() => open(index)}
              >
                <span class="found-name">{reveal(title)}</span>
                <span class="found-text">
                  {found
                    ? reveal(found)
                    : plural(state.entries.filter((entry) => entry.kind === "user").length, "message")}
                </span>
              </button>
            )}
            <ToolButton
              icon="edit"
              label={`Rename: ${reveal(title).slice(0, 60)}`}
              onClick={() => {
                renaming.value = index;
              }}
            />
          </li>
        ))}
      </ul>
      <p class="faint" role="status">
        {rows.length === 0 ? "Nothing found." : plural(rows.length, "conversation")}
      </p>
      <div class="modal-foot">
        <button class="button" type="button" onClick={closeDialog}>
          Close
        </button>
      </div>
    </Modal>
  );
}

/** A field for another title. */
export function Rename({ title, onDone }: { title: string; onDone: (next: string | null) => void }) {
  const name = useSignal(title);
  const field = useRef<HTMLInputElement>(null);
  // The browser obeys `autofocus` only while it loads the page or opens the dialog.
  useEffect(() => field.current?.select(), []);
  return (
    <form
      class="conversation-open"
      onSubmit={(event) => {
        event.preventDefault();
        onDone(name.value);
      }}
    >
      <input
        class="find-input"
        type="text"
        ref={field}
        aria-label="Title"
        value={name.value}
        onInput={(event) => {
          name.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.preventDefault();
          event.stopPropagation();
          onDone(null);
        }}
      />
    </form>
  );
}
