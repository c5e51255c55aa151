/** Asks what goes back to before a task: the conversation, the files, or both. It says first what becomes of the files. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { effectOnFiles, goBack } from "../actions/rewind.js";
import { describe, type Extent, type RunInfo } from "../engine.js";
import { reveal } from "../reveal.js";
import { project } from "../store.js";
import { closeDialog, Modal } from "./modal.js";

const EXTENTS: readonly (readonly [string, Extent, string, string])[] = [
  [
    "both",
    { files: true, conversation: true },
    "Conversation and files",
    "The message returns to the message box, and the files are as before it.",
  ],
  [
    "conversation",
    { files: false, conversation: true },
    "Only the conversation",
    "The message returns to the message box. Files and changes to review stay as they are now.",
  ],
  [
    "files",
    { files: true, conversation: false },
    "Only the files",
    "The conversation stays, and the assistant can see that the files went back when it reads them.",
  ],
];

/** `text` is the message to send again, or "" if the user comes from the list of checkpoints. */
export function GoBackDialog({ run, text }: { run: RunInfo; text: string }) {
  const chosen = useSignal("both");
  const effect = useSignal("Looking at the files…");
  useEffect(() => {
    effectOnFiles(run).then(
      (text) => {
        effect.value = text;
      },
      (error: unknown) => {
        effect.value = describe(error).message;
      },
    );
  }, [run]);
  const extent = EXTENTS.find(([name]) => name === chosen.value)?.[1];
  return (
    <Modal title={text === "" ? "Go back to before this task" : "Edit and send again"} onCancel={closeDialog}>
      <blockquote class="quoted">{reveal(run.text)}</blockquote>
      <fieldset class="choices">
        <legend class="visually-hidden">What goes back</legend>
        {EXTENTS.map(([name, , title, meaning]) => (
          <label key={name} class={chosen.value === name ? "choice checked" : "choice"}>
            <input
              type="radio"
              name="extent"
              data-focus={chosen.value === name ? true : undefined}
              checked={chosen.value === name}
              onChange={() => {
                chosen.value = name;
              }}
            />
            <span>
              <strong>{title}</strong>
              <span class="choice-text">{meaning}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <p class="field-note" role="status">
        {extent?.files === false ? "No file changes." : effect.value}
      </p>
      <p class="field-note">{project.value.remote ? onServer(extent) : IN_TAB}</p>
      <div class="modal-foot">
        <button class="button" type="button" onClick={closeDialog}>
          Cancel
        </button>
        <button
          class="button primary"
          type="button"
          onClick={() => {
            closeDialog();
            if (extent) void goBack(run, extent);
          }}
        >
          Go back
        </button>
      </div>
    </Modal>
  );
}

const IN_TAB =
  "Your own edits stay. Decisions since then are open again. Nothing on your disk changes before you save.";

/** Says what a server does, which has the files on its disk and one conversation. */
function onServer(extent: Extent | undefined): string {
  if (extent?.files === false) return "Undo brings the messages back, until the next task begins.";
  return "Your own edits stay. Accepted changes leave the server’s disk at once. Undo brings all back, until the next edit, decision or task.";
}
