/** Comments on changed lines. They wait beside the message box and are sent with the next message. */
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Comment } from "../context.js";
import { keyName } from "../keys.js";
import { reveal } from "../reveal.js";
import { additions } from "../store.js";
import { Icon } from "./icons.js";

interface BoxProps {
  readonly line: number;
  readonly onSend: (note: string) => void;
  readonly onClose: () => void;
}

export function CommentBox({ line, onSend, onClose }: BoxProps) {
  const note = useSignal("");
  const box = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => box.current?.focus(), []);
  const send = (): void => {
    if (note.value.trim() !== "") onSend(note.value.trim());
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") onClose();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
    else {
      // The letters are text here, and not keys of the list.
      event.stopPropagation();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="comment-box">
      <textarea
        ref={box}
        rows={2}
        aria-label={`Comment on line ${line}`}
        placeholder="What should change here?"
        value={note.value}
        onInput={(event) => {
          note.value = event.currentTarget.value;
        }}
        onKeyDown={onKeyDown}
      />
      <div class="button-group">
        <button class="button small" type="button" onClick={onClose}>
          Cancel
        </button>
        <button
          class="button small primary"
          type="button"
          title={keyName("Ctrl+Enter")}
          disabled={note.value.trim() === ""}
          onClick={send}
        >
          Add comment
        </button>
      </div>
    </div>
  );
}

export function CommentView({ comment }: { comment: Comment }) {
  return (
    <div class="comment-view">
      <Icon name="comment" size={13} />
      <span class="comment-text">{reveal(comment.note)}</span>
      <span class="faint">not sent yet</span>
      <button
        class="addition-remove"
        type="button"
        aria-label={`Remove the comment on line ${comment.line}`}
        onClick={() => {
          additions.value = additions.value.filter((each) => each !== comment);
        }}
      >
        <Icon name="reject" size={11} />
      </button>
    </div>
  );
}
