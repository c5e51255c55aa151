/** The dialogs, of which at most one is open. */

import "../styles/dialogs.css";
import { dependentsText } from "../hunk-text.js";
import { reveal } from "../reveal.js";
import { type Dialog, dialog, project } from "../store.js";
import { CheckpointsDialog } from "./checkpoints-dialog.js";
import { ConversationsDialog } from "./conversations-dialog.js";
import { NewFileDialog, NewProjectDialog, RenameDialog } from "./file-dialogs.js";
import { FindDialog } from "./find-dialog.js";
import { GoBackDialog } from "./go-back-dialog.js";
import { JoinDialog } from "./join-dialog.js";
import { KeptDialog } from "./kept-dialog.js";
import { KeysDialog } from "./keys-dialog.js";
import { closeDialog, Modal } from "./modal.js";
import { ModelDialog } from "./model-dialog.js";
import { OptionsDialog } from "./options-dialog.js";
import { SessionOptions } from "./session-options.js";
import { SessionsDialog } from "./sessions-dialog.js";
import { TimelineDialog } from "./timeline-dialog.js";

export function Dialogs() {
  const open = dialog.value;
  switch (open?.kind) {
    case undefined:
      return null;
    case "model":
      return <ModelDialog provider={open.provider} />;
    case "keys":
      return <KeysDialog />;
    case "find":
      return <FindDialog key={open.mode} mode={open.mode} />;
    case "new-file":
      return <NewFileDialog folder={open.folder} />;
    case "rename":
      return <RenameDialog path={open.path} />;
    case "new-project":
      return <NewProjectDialog copy={open.copy} />;
    case "conversations":
      return project.value.remote ? <SessionsDialog problem={open.problem} /> : <ConversationsDialog />;
    case "join":
      return <JoinDialog />;
    case "options":
      return project.value.remote ? <SessionOptions /> : <OptionsDialog />;
    case "timeline":
      return <TimelineDialog />;
    case "checkpoints":
      return <CheckpointsDialog chosen={open.run} />;
    case "go-back":
      return <GoBackDialog run={open.run} text={open.text} />;
    case "choice":
      return <ChoiceDialog dialog={open} />;
    case "kept":
      return <KeptDialog dialog={open} />;
    case "dependents":
      return <DependentsDialog dialog={open} />;
  }
}

function ChoiceDialog({
  dialog: { title, message, compare, choices, answer },
}: {
  dialog: Extract<Dialog, { kind: "choice" }>;
}) {
  const close = (name: string | null): void => {
    closeDialog();
    answer(name);
  };
  return (
    <Modal title={title} onCancel={() => close(null)}>
      <p>{reveal(message)}</p>
      {compare && (
        <details class="compare">
          <summary>Show both texts</summary>
          {compare.map(({ label, text }) => (
            <section key={label}>
              <h3>{label}</h3>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it. */}
              <pre tabIndex={0}>{reveal(text)}</pre>
            </section>
          ))}
        </details>
      )}
      <div class="modal-foot">
        <button class="button" type="button" data-focus onClick={() => close(null)}>
          Cancel
        </button>
        {choices.map(({ name, label, danger }) => (
          <button key={name} class={danger ? "button danger" : "button"} type="button" onClick={() => close(name)}>
            {label}
          </button>
        ))}
      </div>
    </Modal>
  );
}

/** Asks how to reject hunks on which later changes depend. */
function DependentsDialog({
  dialog: { dependents, several, answer },
}: {
  dialog: Extract<Dialog, { kind: "dependents" }>;
}) {
  const { count, fromUser } = dependents;
  const close = (choice: "only" | "with" | null): void => {
    closeDialog();
    answer(choice);
  };
  return (
    <Modal title={`Later changes depend on ${several ? "these" : "this one"}`} onCancel={() => close(null)}>
      <p>{dependentsText(count, fromUser, several)}</p>
      <div class="modal-foot">
        <button class="button" type="button" onClick={() => close(null)}>
          Cancel
        </button>
        <button class="button danger" type="button" onClick={() => close("with")}>
          Reject {several ? "these" : "this"} and {count} more
        </button>
        <button class="button primary" type="button" data-focus onClick={() => close("only")}>
          Reject only {several ? "these" : "this"}
        </button>
      </div>
    </Modal>
  );
}
