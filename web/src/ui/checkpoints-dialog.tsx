/** The tasks so far as points to go back to: what each changed, compared with now and with the disk. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { filesName, pastFiles, putBack, putPartsBack } from "../actions/rewind.js";
import { describe, type PastFile, type RunInfo } from "../engine.js";
import { usualText } from "../going-back.js";
import { plural } from "../hunk-text.js";
import { lineDiff, withParts } from "../line-diff.js";
import { reveal } from "../reveal.js";
import { chat, dialog, project, runs } from "../store.js";
import { DiffView } from "./diff-view.js";
import { closeDialog, Modal } from "./modal.js";
import { ThreeWayView } from "./three-way-view.js";

/** The texts that can be compared. */
const VIEWS = {
  "before-now": "Before the task → now",
  three: "Before · by the assistant · now",
  "saved-now": "On disk → now",
  "saved-before": "On disk → before the task",
} as const;

type View = keyof typeof VIEWS;

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
  const view = useSignal<View>("before-now");
  const parts = useSignal<ReadonlySet<number>>(new Set());
  const read = (): void => {
    pastFiles(run).then(
      (found) => {
        files.value = found.filter((file) => file.byTask);
        parts.value = new Set();
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
  // The user's edits since then are in it, without words of the assistant.
  const before = usualText(file);
  const isChanging = before !== file.now;
  const label = `${VIEWS[view.value]}: ${file.path}`;
  return (
    <section class="checkpoint-detail" aria-label="What changed since">
      <div class="checkpoint-bar">
        <select
          class="chat-select"
          aria-label="File"
          value={at.value}
          onChange={(event) => {
            at.value = Number(event.currentTarget.value);
            parts.value = new Set();
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
          value={view.value}
          onChange={(event) => {
            view.value = event.currentTarget.value as View;
          }}
        >
          {(Object.keys(VIEWS) as View[]).map((name) => (
            <option key={name} value={name}>
              {VIEWS[name]}
            </option>
          ))}
        </select>
        <span class="spacer" />
        <span class="faint">{plural(list.length, "file")}</span>
      </div>
      {view.value === "three" && (
        <ThreeWayView before={file.before} after={file.after} now={file.now} path={file.path} />
      )}
      {view.value === "before-now" && <DiffView before={before} after={file.now} label={label} chosen={parts} />}
      {view.value === "saved-now" && <DiffView before={file.saved} after={file.now} label={label} />}
      {view.value === "saved-before" && <DiffView before={file.saved} after={before} label={label} />}
      <div class="checkpoint-bar">
        <button
          class="button small"
          type="button"
          disabled={!isChanging || chat.value.running}
          onClick={() => void putBack(run, file).then(read)}
        >
          Put only this file back
        </button>
        {view.value === "before-now" && before !== null && file.now !== null && isChanging && (
          <button
            class="button small"
            type="button"
            disabled={parts.value.size === 0 || chat.value.running}
            onClick={() => {
              const text = withParts(file.now, lineDiff(before, file.now), parts.value);
              void putPartsBack(run, file.path, text, parts.value.size).then(read);
            }}
          >
            Put the chosen parts back
          </button>
        )}
      </div>
    </section>
  );
}
