/** How the assistant works: commands, subagents, budgets; and how the page tells the user. */
import { useSignal } from "@preact/signals";
import { allowNotifications } from "../actions/attention.js";
import { chooseOptions } from "../actions/run.js";
import type { Options } from "../settings.js";
import { options } from "../store.js";
import { closeDialog, Modal } from "./modal.js";

export function OptionsDialog() {
  const chosen = useSignal<Options>(options.value);
  const set = (change: Partial<Options>): void => {
    chosen.value = { ...chosen.value, ...change };
  };
  const { shell, subagents, maxCostUsd, maxTokens, maxMinutes, notify } = chosen.value;
  return (
    <Modal title="Options" onCancel={closeDialog}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void chooseOptions(chosen.value).then(closeDialog);
        }}
      >
        <div class="fields">
          <Check
            title="Let the assistant run commands"
            text="An emulated bash over the project's files, in this page: no programs, no network. Each command asks you first. It is loaded with the first command (1.3 MB), and is there from the next project that you open."
            checked={shell}
            focus
            onChange={(value) => set({ shell: value })}
          />
          <Check
            title="Let the assistant start subagents"
            text="They work on parts of a task at the same time, in the same files and review. They use more tokens."
            checked={subagents}
            onChange={(value) => set({ subagents: value })}
          />
          <NotifyChoice checked={notify} onChange={(value) => set({ notify: value })} />
          <Limit
            label="Limit of a task in US dollars"
            step="0.01"
            value={maxCostUsd}
            onInput={(value) => set({ maxCostUsd: value })}
          />
          <Limit
            label="Limit of a task in tokens"
            step="1"
            value={maxTokens}
            onInput={(value) => set({ maxTokens: Math.floor(value) })}
          />
          <Limit
            label="Limit of a task in minutes"
            step="any"
            value={maxMinutes}
            onInput={(value) => set({ maxMinutes: value })}
          />
          <p class="field-note">
            A task that reaches a limit stops; what it did so far waits for your review. A limit of time holds from the
            next task on.
          </p>
        </div>
        <div class="modal-foot">
          <button class="button" type="button" onClick={closeDialog}>
            Cancel
          </button>
          <button class="button primary" type="submit">
            Use these options
          </button>
        </div>
      </form>
    </Modal>
  );
}

/** The choice of notifications, which the browser must allow. */
export function NotifyChoice({ checked, onChange }: { checked: boolean; onChange: (value: boolean) => void }) {
  const refused = useSignal(false);
  return (
    <>
      <Check
        title="Tell me when it is done or waits"
        text="With a notification of the browser, while this page is hidden."
        checked={checked}
        onChange={(value) => {
          onChange(value);
          if (!value) return;
          void allowNotifications().then((allowed) => {
            refused.value = !allowed;
            if (!allowed) onChange(false);
          });
        }}
      />
      {refused.value && <p class="field-warning">The browser does not allow notifications of this page.</p>}
    </>
  );
}

interface CheckProps {
  readonly title: string;
  readonly text: string;
  readonly checked: boolean;
  readonly disabled?: boolean;
  readonly focus?: boolean;
  readonly onChange: (value: boolean) => void;
}

export function Check({ title, text, checked, disabled, focus, onChange }: CheckProps) {
  return (
    <label class={checked ? "choice checked" : "choice"}>
      <input
        type="checkbox"
        data-focus={focus ? true : undefined}
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>
        <strong>{title}</strong>
        <span class="choice-text">{text}</span>
      </span>
    </label>
  );
}

interface LimitProps {
  readonly label: string;
  /** Whether the words around the field say that an empty one means no limit. */
  readonly isShort?: boolean;
  readonly step: string;
  readonly value: number;
  readonly onInput: (value: number) => void;
}

/** A field for a limit; 0 means none. A number below is given on as it is: the form is not sent with it. */
export function Limit({ label, isShort, step, value, onInput }: LimitProps) {
  return (
    <label class="field">
      <span>
        {label} {!isShort && <span class="faint">(empty: no limit)</span>}
      </span>
      <input
        type="number"
        min="0"
        step={step}
        inputMode="decimal"
        value={value === 0 ? "" : value}
        onInput={(event) => {
          const given = event.currentTarget.valueAsNumber;
          onInput(Number.isFinite(given) ? given : 0);
        }}
      />
    </label>
  );
}
