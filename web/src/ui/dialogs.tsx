/** The dialogs, of which at most one is open. */

import { useSignal } from "@preact/signals";
import { createFile, newFileProblem } from "../actions/project.js";
import { plural } from "../hunk-text.js";
import { type Dialog, dialog } from "../store.js";
import { closeDialog, Modal } from "./modal.js";
import { ModelDialog } from "./model-dialog.js";

export function Dialogs() {
  const open = dialog.value;
  switch (open?.kind) {
    case undefined:
      return null;
    case "model":
      return <ModelDialog />;
    case "keys":
      return <KeysDialog />;
    case "new-file":
      return <NewFileDialog />;
    case "confirm":
      return <ConfirmDialog dialog={open} />;
    case "dependents":
      return <DependentsDialog dialog={open} />;
  }
}

function ConfirmDialog({
  dialog: { title, message, confirm, answer },
}: {
  dialog: Extract<Dialog, { kind: "confirm" }>;
}) {
  const close = (confirmed: boolean): void => {
    closeDialog();
    answer(confirmed);
  };
  return (
    <Modal title={title} onCancel={() => close(false)}>
      <p>{message}</p>
      <div class="modal-foot">
        <button class="button" type="button" data-focus onClick={() => close(false)}>
          Cancel
        </button>
        <button class="button danger" type="button" onClick={() => close(true)}>
          {confirm}
        </button>
      </div>
    </Modal>
  );
}

/** Asks how to reject a hunk on which later changes depend. */
function DependentsDialog({ dialog: { dependents, answer } }: { dialog: Extract<Dialog, { kind: "dependents" }> }) {
  const { count, fromUser } = dependents;
  const close = (choice: "only" | "with" | null): void => {
    closeDialog();
    answer(choice);
  };
  const yours = fromUser > 0;
  const others = count - fromUser;
  return (
    <Modal
      title={yours ? "You edited inside this change" : "Later changes depend on this one"}
      onCancel={() => close(null)}
    >
      <p>
        {yours && "Your edits in these lines can stay, or be rejected with the change."}{" "}
        {others > 0 &&
          `${plural(others, "later change")} of the assistant ${others === 1 ? "depends" : "depend"} on it.`}
      </p>
      <div class="modal-foot">
        <button class="button" type="button" onClick={() => close(null)}>
          Cancel
        </button>
        <button class="button danger" type="button" onClick={() => close("with")}>
          {yours ? "Reject with my edits" : `Reject this and ${count} more`}
        </button>
        <button class="button primary" type="button" data-focus onClick={() => close("only")}>
          {yours ? "Reject, keep my lines" : "Reject only this"}
        </button>
      </div>
    </Modal>
  );
}

function NewFileDialog() {
  const path = useSignal("");
  const tried = useSignal(false);
  const problem = newFileProblem(path.value);
  return (
    <Modal title="New file" onCancel={closeDialog}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          tried.value = true;
          if (problem !== null) return;
          closeDialog();
          void createFile(path.value);
        }}
      >
        <label class="field">
          <span>Path in the project</span>
          <input
            type="text"
            data-focus
            spellcheck={false}
            placeholder="notes/today.md"
            value={path.value}
            aria-invalid={tried.value && problem !== null}
            onInput={(event) => {
              path.value = event.currentTarget.value.trim();
            }}
          />
        </label>
        <p class="field-problem" role="alert">
          {tried.value ? problem : ""}
        </p>
        <div class="modal-foot">
          <button class="button" type="button" onClick={closeDialog}>
            Cancel
          </button>
          <button class="button primary" type="submit">
            Create
          </button>
        </div>
      </form>
    </Modal>
  );
}

const KEYS: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  [
    "In the editor",
    [
      ["Alt+J, Alt+K", "Next, previous change; continues in the next file"],
      ["Alt+Y", "Accept the change at the cursor"],
      ["Alt+N", "Reject the change at the cursor"],
      ["Ctrl+Enter", "Accept all changes of the file"],
      ["Esc", "Take the file back from the assistant"],
      ["Ctrl+Z, Ctrl+Shift+Z", "Undo, redo your last step: typing or a decision"],
      ["Ctrl+F", "Find and replace"],
      ["Tab", "Next button; Ctrl+] indents"],
    ],
  ],
  [
    "In the review",
    [
      ["J, K", "Next, previous change"],
      ["Y, N", "Accept, reject"],
      ["U", "Undo the last step"],
      ["Enter", "Open the change in the editor"],
    ],
  ],
  [
    "Anywhere",
    [
      ["Ctrl+S", "Save all accepted text"],
      ["F6, Shift+F6", "Next, previous part of the page"],
      ["Alt+R", "Switch between review and editor"],
    ],
  ],
];

function KeysDialog() {
  return (
    <Modal title="Keyboard shortcuts" onCancel={closeDialog}>
      <div class="keys">
        {KEYS.map(([title, rows]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {rows.map(([keys, meaning]) => (
                <div key={keys}>
                  <dt>
                    <kbd>{keys}</kbd>
                  </dt>
                  <dd>{meaning}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <div class="modal-foot">
        <button class="button" type="button" data-focus onClick={closeDialog}>
          Close
        </button>
      </div>
    </Modal>
  );
}
