/**
 * Asks what goes back to before a task: the conversation, the files, or both; of the files, all or some, with the user's
 * edits since then or without them. It says first what becomes of the files.
 */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { changing, type Effect, effectsOnFiles, type FileEffect, goBack } from "../actions/rewind.js";
import { describe, type Extent, type RunInfo } from "../engine.js";
import { plural } from "../hunk-text.js";
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
  const hard = useSignal(false);
  const left = useSignal<ReadonlySet<string>>(new Set());
  const effects = useSignal<{ readonly soft: Effect; readonly hard: Effect } | null>(null);
  const problem = useSignal("Looking at the files…");
  useEffect(() => {
    effectsOnFiles(run).then(
      (found) => {
        effects.value = found;
      },
      (error: unknown) => {
        problem.value = describe(error).message;
      },
    );
  }, [run]);
  const extent = EXTENTS.find(([name]) => name === chosen.value)?.[1];
  const effect = effects.value && (hard.value ? effects.value.hard : effects.value.soft);
  const files = effect?.files ?? [];
  const going = files.filter((file) => !left.value.has(file.path));
  const names = going.map(({ path, note }) => reveal(path) + (note === "removed" ? " (removed)" : ""));
  const isSome = going.length < files.length;
  return (
    <Modal title={text === "" ? "Go back to before this task" : "Edit and send again"} onCancel={closeDialog}>
      <blockquote class="quoted">{reveal(run.text)}</blockquote>
      <fieldset class="choices">
        <legend class="visually-hidden">What goes back</legend>
        {EXTENTS.map(([name, , title, meaning]) => (
          <Radio key={name} group="extent" name={name} chosen={chosen} title={title} meaning={meaning} focus />
        ))}
      </fieldset>
      {extent?.files && (
        <>
          <fieldset class="choices own-edits">
            <legend>Your own edits since then</legend>
            <Own hard={hard} is={false} title="They stay" meaning="Only the work of the assistant goes back." />
            <Own hard={hard} is title="They go, too" meaning="Everything is as it was before the task." />
          </fieldset>
          {files.length > 0 && (
            <fieldset class="back-files">
              <legend>Files</legend>
              {files.map((file) => (
                <FileChoice key={file.path} file={file} left={left} isHard={hard.value} />
              ))}
            </fieldset>
          )}
        </>
      )}
      <p class="field-note" role="status">
        {extent?.files === false
          ? "No file changes."
          : effect === null
            ? problem.value
            : [changing(names), ...effect.notes].join(" ")}
      </p>
      <p class="field-note">{project.value.remote ? onServer(extent, hard.value) : inTab(hard.value, isSome)}</p>
      <div class="modal-foot">
        <button class="button" type="button" onClick={closeDialog}>
          Cancel
        </button>
        <button
          class={hard.value && extent?.files ? "button danger" : "button primary"}
          type="button"
          disabled={extent?.files === true && files.length > 0 && going.length === 0}
          onClick={() => {
            closeDialog();
            const paths = isSome ? going.map((file) => file.path) : null;
            if (extent) void goBack(run, extent, { hard: hard.value, paths });
          }}
        >
          Go back
        </button>
      </div>
    </Modal>
  );
}

interface RadioProps {
  group: string;
  name: string;
  chosen: { value: string };
  title: string;
  meaning: string;
  focus?: boolean;
}

function Radio({ group, name, chosen, title, meaning, focus }: RadioProps) {
  const isChosen = chosen.value === name;
  return (
    <label class={isChosen ? "choice checked" : "choice"}>
      <input
        type="radio"
        name={group}
        data-focus={focus && isChosen ? true : undefined}
        checked={isChosen}
        onChange={() => {
          chosen.value = name;
        }}
      />
      <span>
        <strong>{title}</strong>
        <span class="choice-text">{meaning}</span>
      </span>
    </label>
  );
}

function Own({ hard, is, title, meaning }: { hard: { value: boolean }; is: boolean; title: string; meaning: string }) {
  const chosen = {
    get value() {
      return String(hard.value);
    },
    set value(name: string) {
      hard.value = name === "true";
    },
  };
  return <Radio group="own-edits" name={String(is)} chosen={chosen} title={title} meaning={meaning} />;
}

/** Number of lost lines that are shown of a file. */
const LOST_MAX = 6;

interface FileChoiceProps {
  file: FileEffect;
  left: { value: ReadonlySet<string> };
  isHard: boolean;
}

function FileChoice({ file: { path, note, lost }, left, isHard }: FileChoiceProps) {
  return (
    <div>
      <label class="check">
        <input
          type="checkbox"
          checked={!left.value.has(path)}
          onChange={(event) => {
            const next = new Set(left.value);
            if (event.currentTarget.checked) next.delete(path);
            else next.add(path);
            left.value = next;
          }}
        />
        <span>
          <span class="back-path">{reveal(path)}</span>
          {note !== "" && <span class="choice-text">{note}</span>}
        </span>
      </label>
      {isHard && lost.length > 0 && (
        <ul class="lost-lines" aria-label={`Your edits in ${path} that are lost`}>
          {lost.slice(0, LOST_MAX).map((line) => (
            <li key={line}>
              <code>{reveal(line)}</code>
            </li>
          ))}
          {lost.length > LOST_MAX && <li>and {plural(lost.length - LOST_MAX, "more line")} of yours</li>}
        </ul>
      )}
    </div>
  );
}

function inTab(isHard: boolean, isSome: boolean): string {
  const own = isHard ? "Your edits that are listed are lost; Undo brings them back." : "Your own edits stay.";
  const decisions = isSome
    ? "In the chosen files, changes since then are rejected."
    : "Decisions since then are open again.";
  return `${own} ${decisions} Nothing on your disk changes before you save.`;
}

/** Says what a server does, which has the files on its disk and one conversation. */
function onServer(extent: Extent | undefined, isHard: boolean): string {
  if (extent?.files === false) return "Undo brings the messages back, until the next task begins.";
  const own = isHard ? "Your edits in these files since then are lost, until you undo." : "Your own edits stay.";
  return `${own} Accepted changes leave the server’s disk at once. Undo brings all back, until the next edit, decision or task.`;
}
