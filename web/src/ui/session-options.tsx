/** How a session of a server works: the way of its edits to the disk, its model, and its budgets with the used amounts. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { chooseOptions, readRuns } from "../actions/run.js";
import { changeSession } from "../actions/sessions.js";
import type { Amounts, SessionChange, SessionInfo, WorkMode } from "../engine.js";
import { plural } from "../hunk-text.js";
import { dollars } from "../money.js";
import { reveal } from "../reveal.js";
import { currentEngine, isRunning, notify, options, session, showError } from "../store.js";
import { closeDialog, Modal } from "./modal.js";
import { Check, Limit, NotifyChoice } from "./options-dialog.js";

const MODES: readonly (readonly [WorkMode, string, string])[] = [
  ["ask", "Ask before each edit", "Each edit waits for your answer before the assistant goes on."],
  [
    "review",
    "Review at the end",
    "The assistant works without asking. Its edits wait for your decision, and the disk stays as it is.",
  ],
  [
    "direct",
    "Save at once",
    "Edits are on the server’s disk as soon as they are made. Going back to before the task, in Checkpoints, takes them away; Undo takes back only your own steps.",
  ],
];

const MINUTE_MS = 60_000;

export function SessionOptions() {
  const info = session.value;
  useEffect(() => void readRuns().catch(showError), []);
  return (
    <Modal title="Options" wide onCancel={closeDialog}>
      {info === null ? <p role="status">Reading…</p> : <Form key={info.id} info={info} />}
    </Modal>
  );
}

function Form({ info }: { info: SessionInfo }) {
  const mode = useSignal(info.mode);
  const canvas = useSignal(info.canvas);
  const model = useSignal(info.model);
  const limits = useSignal(info.limits);
  const taskLimits = useSignal(info.taskLimits);
  const notifies = useSignal(options.value.notify);
  const refused = useSignal("");
  const running = isRunning.value;
  const submit = async (): Promise<void> => {
    const change: SessionChange = {
      ...(mode.value !== info.mode && { mode: mode.value }),
      ...(canvas.value !== info.canvas && { canvas: canvas.value }),
      ...(model.value.trim() !== info.model && { model: model.value.trim() }),
      ...(!isSame(limits.value, info.limits) && { limits: limits.value }),
      ...(!isSame(taskLimits.value, info.taskLimits) && { taskLimits: taskLimits.value }),
    };
    if (notifies.value !== options.value.notify) await chooseOptions({ ...options.value, notify: notifies.value });
    if (Object.keys(change).length > 0) {
      refused.value = (await changeSession(info.id, change)) ?? "";
      if (refused.value !== "") return;
      if (change.canvas !== undefined) await chooseOptions({ ...options.value, canvas: change.canvas });
      const given = session.value?.taskLimits;
      if (given && !isSame(given, taskLimits.value)) notify("The server’s own limits of a task are lower, and hold.");
    }
    closeDialog();
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <fieldset class="choices mode-choices" disabled={running}>
        <legend>Edits of this conversation</legend>
        {MODES.map(([name, title, text]) => (
          <label key={name} class={mode.value === name ? "choice checked" : "choice"}>
            <input
              type="radio"
              name="mode"
              data-focus={info.mode === name ? true : undefined}
              checked={mode.value === name}
              onChange={() => {
                mode.value = name;
              }}
            />
            <span>
              <strong>{title}</strong>
              <span class="choice-text">{text}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <Check
        title="Canvas tools for the open file"
        text="The assistant edits the file in the editor line by line, and holds it meanwhile. It loses the file as soon as you type, press Esc or stop it. The choice holds for new conversations, too."
        checked={canvas.value}
        disabled={running}
        onChange={(value) => {
          canvas.value = value;
        }}
      />
      <Told />
      <label class="field">
        <span>
          Model <span class="faint">(from the next task on, as the server names it)</span>
        </span>
        <input
          type="text"
          required
          spellcheck={false}
          autoComplete="off"
          value={model.value}
          onInput={(event) => {
            model.value = event.currentTarget.value;
          }}
        />
      </label>
      {running && (
        <p class="field-note">The way of edits and the canvas tools can be changed after the running task.</p>
      )}
      <div class="budgets">
        <Budget title="Limits of a task" used="Used by the last one" spent={info.spentByTask} limits={taskLimits} />
        <Budget title="Limits of the whole conversation" used="Used so far" spent={info.spent} limits={limits} />
      </div>
      <p class="field-note">
        An empty field means no limit. A task that reaches a limit stops; what it did so far waits for your review.
      </p>
      <NotifyChoice
        checked={notifies.value}
        onChange={(value) => {
          notifies.value = value;
        }}
      />
      <p class="field-note">The server’s settings say which commands and subagents the assistant may use.</p>
      {refused.value !== "" && (
        <p class="field-problem" role="alert">
          {refused.value}
        </p>
      )}
      <div class="modal-foot">
        <button class="button" type="button" onClick={closeDialog}>
          Cancel
        </button>
        <button class="button primary" type="submit">
          Use these options
        </button>
      </div>
    </form>
  );
}

interface BudgetProps {
  readonly title: string;
  /** Words before the used amounts. */
  readonly used: string;
  readonly spent: Amounts;
  readonly limits: { value: Amounts };
}

function Budget({ title, used, spent, limits }: BudgetProps) {
  const { tokens, costUsd, durationMs } = limits.value;
  const set = (change: Partial<Amounts>): void => {
    limits.value = { ...limits.value, ...change };
  };
  return (
    <fieldset class="budget">
      <legend>{title}</legend>
      <p class="field-note">
        {used}: {spentText(spent, limits.value)}
      </p>
      <div class="budget-fields">
        <Limit isShort label="US dollars" step="0.01" value={costUsd} onInput={(value) => set({ costUsd: value })} />
        <Limit isShort label="Tokens" step="1" value={tokens} onInput={(value) => set({ tokens: Math.floor(value) })} />
        <Limit
          isShort
          label="Minutes"
          step="any"
          value={durationMs / MINUTE_MS}
          onInput={(value) => set({ durationMs: Math.round(value * MINUTE_MS) })}
        />
      </div>
    </fieldset>
  );
}

/** Returns the used amounts, each with its limit: "120 of 5,000 tokens, $0.0100, 12 s of 5 min". */
function spentText(spent: Amounts, limits: Amounts): string {
  const of = (limit: number, name: (amount: number) => string): string => (limit > 0 ? ` of ${name(limit)}` : "");
  const count = (amount: number): string => amount.toLocaleString("en");
  return [
    limits.tokens > 0 ? `${count(spent.tokens)} of ${plural(limits.tokens, "token")}` : plural(spent.tokens, "token"),
    `${spent.costUsd === 0 ? "$0" : dollars(spent.costUsd)}${of(limits.costUsd, dollars)}`,
    `${time(spent.durationMs)}${of(limits.durationMs, time)}`,
  ].join(", ");
}

function time(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1_000);
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min${seconds % 60 > 0 ? ` ${seconds % 60} s` : ""}`;
}

function isSame(a: Amounts, b: Amounts): boolean {
  return a.tokens === b.tokens && a.costUsd === b.costUsd && a.durationMs === b.durationMs;
}

/** The hidden messages of the conversation, read when the user unfolds them. */
function Told() {
  const told = useSignal<readonly string[] | null>(null);
  const read = async (isOpen: boolean): Promise<void> => {
    if (isOpen) told.value = await currentEngine().hiddenMessages();
  };
  return (
    <details class="told" onToggle={(event) => void read(event.currentTarget.open).catch(showError)}>
      <summary>What the assistant was told about changes of the open file</summary>
      {told.value?.length === 0 && <p class="field-note">Nothing yet.</p>}
      {told.value?.map((text, index) => (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it.
        <pre key={index} tabIndex={0}>
          {reveal(text)}
        </pre>
      ))}
    </details>
  );
}
