/** The dialogs that ask for a name: of a new file, of a renamed file, and of a project in the browser. */
import { useSignal } from "@preact/signals";
import { createFile, hasPending, newFileProblem, renameFile, renameProblem } from "../actions/files.js";
import { browserNameProblem, keepInBrowser } from "../actions/kept-projects.js";
import { openInBrowser } from "../actions/project.js";
import { reveal } from "../reveal.js";
import { project } from "../store.js";
import { closeDialog, Modal } from "./modal.js";

interface NameProps {
  readonly title: string;
  readonly label: string;
  readonly action: string;
  readonly value: string;
  readonly placeholder?: string;
  readonly note?: string;
  readonly problemOf: (name: string) => string | null;
  readonly done: (name: string) => void;
}

function NameDialog({ title, label, action, value, placeholder, note, problemOf, done }: NameProps) {
  const name = useSignal(value);
  const tried = useSignal(false);
  const problem = problemOf(name.value);
  return (
    <Modal title={title} onCancel={closeDialog}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          tried.value = true;
          if (problem !== null) return;
          closeDialog();
          done(name.value);
        }}
      >
        <label class="field">
          <span>{label}</span>
          <input
            type="text"
            data-focus
            spellcheck={false}
            placeholder={placeholder}
            value={name.value}
            aria-invalid={tried.value && problem !== null}
            onInput={(event) => {
              name.value = event.currentTarget.value.trim();
            }}
          />
        </label>
        {note !== undefined && <p class="field-note">{note}</p>}
        <p class="field-problem" role="alert">
          {tried.value ? problem : ""}
        </p>
        <div class="modal-foot">
          <button class="button" type="button" onClick={closeDialog}>
            Cancel
          </button>
          <button class="button primary" type="submit">
            {action}
          </button>
        </div>
      </form>
    </Modal>
  );
}

export function NewFileDialog({ folder = "" }: { folder?: string | undefined }) {
  return (
    <NameDialog
      title="New file"
      label="Path in the project"
      action="Create"
      value={folder}
      placeholder="notes/today.md"
      problemOf={newFileProblem}
      done={(path) => void createFile(path)}
    />
  );
}

export function RenameDialog({ path }: { path: string }) {
  const pending = hasPending(path);
  return (
    <NameDialog
      title={`Rename ${reveal(path)}`}
      label="New path in the project"
      action="Rename"
      value={path}
      placeholder={path}
      problemOf={(to) => (pending ? "It has changes to review. Accept or reject them first." : renameProblem(path, to))}
      done={(to) => void renameFile(path, to)}
    />
  );
}

export function NewProjectDialog({ copy }: { copy: boolean }) {
  return (
    <NameDialog
      title={copy ? "Keep this project in the browser" : "New project in this browser"}
      label="Name of the project"
      action={copy ? "Keep" : "Create"}
      value={copy ? project.value.name : ""}
      placeholder="my-notes"
      note="The browser stores its files for this page. Clearing the browser's data removes them: download a zip from time to time."
      problemOf={browserNameProblem}
      done={(name) => void (copy ? keepInBrowser(name) : openInBrowser(name))}
    />
  );
}
