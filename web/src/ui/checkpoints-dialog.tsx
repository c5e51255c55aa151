/** The tasks so far as points to go back to: what each changed, compared with now and with the disk. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { filesName, pastFiles, putBack } from "../actions/rewind.js";
import { describe, type PastFile, type RunInfo } from "../engine.js";
import { plural } from "../hunk-text.js";
import { reveal } from "../reveal.js";
import { chat, dialog, project, runs } from "../store.js";
import { DiffView } from "./diff-view.js";
import { closeDialog, Modal } from "./modal.js";

/** The pairs of texts that can be compared. */
const PAIRS = {
  "before-now": "Before the task → now",
  "saved-now": "On disk → now",
  "saved-before": "On disk → before the task",
} as const;

type Pair = keyof typeof PAIRS;

export function CheckpointsDialog({ chosen }: { chosen: number | undefined }) {
  const list = runs.value.toReversed();
  const selected = useSignal<RunInfo | undefined>(list.find((run) => run.number === chosen) ?? list[0]);
  const run = list.find((each) => each.number === selected.value?.number);
  return (
    <Modal title="Checkpoints" wide onCancel={closeDialog}>
      <p class="field-note">
        Each task of yours is a point to which the files, the conversation, or both can go back. Going back can be
        undone, and your own edits stay.
        {project.value.remote && " “Put only this file back” also takes your edits in that file back."}
      </p>
      <div class="checkpoints">
        <ol class="checkpoint-list" aria-label="Tasks, newest first">
          {list.map((each) => (
            <li key={each.number}>
              <button
                class={each === run ? "checkpoint chosen" : "checkpoint"}
                type="button"
                aria-pressed={each === run}
                data-focus={each === run ? true : undefined}
                onClick={() => {
                  selected.value = each;
                }}
              >
                <span class="checkpoint-text">{reveal(each.text)}</span>
                <span class="faint">
                  {new Date(each.began).toLocaleTimeString()} · {each.undone ? "taken back" : changed(each)}
                </span>
              </button>
            </li>
          ))}
        </ol>
        {run && <Checkpoint key={run.number} run={run} />}
      </div>
      <div class="modal-foot">
        <button class="button" type="button" onClick={closeDialog}>
          Close
        </button>
        <button
          class="button primary"
          type="button"
          disabled={!run || run.undone || chat.value.running}
          onClick={() => {
            if (run) dialog.value = { kind: "go-back", run, text: "" };
          }}
        >
          Go back to before this task…
        </button>
      </div>
    </Modal>
  );
}

function changed({ files }: RunInfo): string {
  return files.length === 0 ? "changed nothing" : `changed ${filesName(files)}`;
}

function Checkpoint({ run }: { run: RunInfo }) {
  const files = useSignal<readonly PastFile[] | null>(null);
  const problem = useSignal("");
  const at = useSignal(0);
  const pair = useSignal<Pair>("before-now");
  const read = (): void => {
    pastFiles(run).then(
      (found) => {
        files.value = found;
      },
      (error: unknown) => {
        problem.value = describe(error).message;
      },
    );
  };
  useEffect(read, [run]);
  if (run.undone)
    return <p class="faint checkpoint-detail">The project went back to before this task. Undo brings it back.</p>;
  if (problem.value !== "") return <p class="field-problem checkpoint-detail">{problem.value}</p>;
  if (files.value === null) {
    return (
      <p class="faint checkpoint-detail" role="status">
        <span class="pulse" /> Reading the earlier texts…
      </p>
    );
  }
  const list = files.value;
  const file = list[Math.min(at.value, list.length - 1)];
  if (!file) return <p class="faint checkpoint-detail">This task and later ones changed no file.</p>;
  const [from, to] = pair.value.split("-") as [keyof PastFile, keyof PastFile];
  return (
    <section class="checkpoint-detail" aria-label="What changed since">
      <div class="checkpoint-bar">
        <select
          class="chat-select"
          aria-label="File"
          value={at.value}
          onChange={(event) => {
            at.value = Number(event.currentTarget.value);
          }}
        >
          {list.map((each, index) => (
            <option key={each.path} value={index}>
              {reveal(each.path)}
            </option>
          ))}
        </select>
        <select
          class="chat-select"
          aria-label="Compare"
          value={pair.value}
          onChange={(event) => {
            pair.value = event.currentTarget.value as Pair;
          }}
        >
          {(Object.keys(PAIRS) as Pair[]).map((name) => (
            <option key={name} value={name}>
              {PAIRS[name]}
            </option>
          ))}
        </select>
        <span class="spacer" />
        <span class="faint">{plural(list.length, "file")}</span>
      </div>
      <DiffView before={file[from]} after={file[to]} label={`${PAIRS[pair.value]}: ${file.path}`} />
      <div>
        <button
          class="button small"
          type="button"
          disabled={file.before === file.now || chat.value.running}
          onClick={() => void putBack(run, file).then(read)}
        >
          Put only this file back
        </button>
      </div>
    </section>
  );
}
