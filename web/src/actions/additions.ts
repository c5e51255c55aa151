/** Adds selected lines and comments to the next message. */
import type { Comment } from "../context.js";
import { additions, editor, pane, spoken } from "../store.js";
import { baseName } from "../tree.js";

/** Returns an id that no addition has, also none that was kept over a reload. */
function newNumber(): number {
  return 1 + Math.max(0, ...additions.value.map(({ id }) => (typeof id === "number" ? id : 0)));
}

/** Adds the lines that are selected in the editor, and goes to the message box. */
export function quoteSelection(): void {
  const selected = editor.selection;
  if (!selected) {
    spoken.value = "Select lines first.";
    return;
  }
  additions.value = [...additions.value, { kind: "selection", id: newNumber(), ...selected }];
  spoken.value = `Added lines of ${baseName(selected.path)} to the message.`;
  pane.value = "chat";
  focusMessage();
}

/** Adds a comment on a changed line. It is sent with the next message. */
export function addComment(comment: Omit<Comment, "kind" | "id">): void {
  additions.value = [...additions.value, { kind: "comment", id: newNumber(), ...comment }];
  const count = additions.value.filter((each) => each.kind === "comment").length;
  spoken.value = `${count} comment${count === 1 ? "" : "s"} not sent yet.`;
}

function focusMessage(): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>(".composer textarea")?.focus());
}
