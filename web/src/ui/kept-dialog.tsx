/** Asks what becomes of lines that the user edited inside pending hunks. Every result is shown as text. */
import { useSignal } from "@preact/signals";
import { plural } from "../hunk-text.js";
import type { KeptHunk, Outcome } from "../kept.js";
import { reveal } from "../reveal.js";
import type { Dialog } from "../store.js";
import { closeDialog, Modal } from "./modal.js";

const SAVED: readonly (readonly [Outcome, string])[] = [
  ["keep", "Keep my line with the assistant’s words"],
  ["mine", "Keep my line as it is, and put back the assistant’s lines"],
  ["old", "Put my edit on the old line"],
  ["drop", "Drop both: the old line returns"],
];

const REJECTED: readonly (readonly [Outcome, string])[] = [
  ["keep", "Accept instead: my line and the assistant’s words stay"],
  ["mine", "Keep my line as it is, and put back the assistant’s lines"],
  ["old", "Put my edit on the old line"],
  ["drop", "Drop both: the old line returns"],
];

const OUTCOMES = { save: SAVED, reject: REJECTED, "go back": SAVED } as const;
const BUTTONS = { save: "Save", reject: "Reject", "go back": "Go back" } as const;

type Kept = Extract<Dialog, { kind: "kept" }>;

export function KeptDialog({ dialog: { hunks, purpose, answer } }: { dialog: Kept }) {
  const outcomes = OUTCOMES[purpose].filter(([outcome]) => hunks.some((hunk) => hunk.texts[outcome] !== undefined));
  // Going back takes the assistant's words away, unless the user keeps them.
  const otherwise: Outcome = purpose === "go back" ? "drop" : "keep";
  // A save decides on the assistant's words without being asked to, so none of the results is usual.
  const choices = useSignal<readonly (Outcome | null)[]>(
    hunks.map((hunk) => (purpose === "save" ? null : possible(hunk, "old", otherwise))),
  );
  const chosen = choices.value.filter((choice) => choice !== null);
  const isComplete = chosen.length === hunks.length;
  const close = (result: readonly Outcome[] | null): void => {
    closeDialog();
    answer(result);
  };
  const several = hunks.length > 1;
  return (
    <Modal
      title={several ? "You edited inside these changes" : "You edited inside this change"}
      onCancel={() => close(null)}
    >
      <p>
        {purpose === "save"
          ? `${several ? "These lines have" : "This line has"} words of the assistant that you have not accepted. Choose what is saved.`
          : `Your edit is on ${several ? "lines" : "a line"} of the assistant. Choose what stays.`}
      </p>
      {several && (
        <label class="field kept-all">
          <span>For all {plural(hunks.length, "place")}</span>
          <select
            value=""
            onChange={(event) => {
              const wanted = event.currentTarget.value as Outcome;
              choices.value = hunks.map((hunk) => possible(hunk, wanted, otherwise));
            }}
          >
            <option value="" disabled hidden>
              Choose…
            </option>
            {outcomes.map(([outcome, label]) => (
              <option key={outcome} value={outcome}>
                {label}
              </option>
            ))}
          </select>
        </label>
      )}
      <div class="kept-list">
        {hunks.map((hunk, index) => (
          <Choice
            key={hunk.id}
            hunk={hunk}
            outcomes={outcomes}
            chosen={choices.value[index] ?? null}
            hasFocus={index === 0 && purpose === "save"}
            onChoose={(outcome) => {
              choices.value = choices.value.with(index, outcome);
            }}
          />
        ))}
      </div>
      <div class="modal-foot">
        <button class="button" type="button" onClick={() => close(null)}>
          Cancel
        </button>
        <button
          class="button primary"
          type="button"
          data-focus={purpose === "save" ? undefined : true}
          disabled={!isComplete}
          onClick={() => close(chosen)}
        >
          {BUTTONS[purpose]}
        </button>
      </div>
    </Modal>
  );
}

/** Returns the outcome, or the nearest one that this hunk has. */
function possible(hunk: KeptHunk, wanted: Outcome, otherwise: Outcome): Outcome {
  const order: readonly Outcome[] = wanted === "old" && otherwise === "keep" ? ["old", "mine"] : [wanted];
  return order.find((outcome) => hunk.texts[outcome] !== undefined) ?? otherwise;
}

interface ChoiceProps {
  outcomes: readonly (readonly [Outcome, string])[];
  hunk: KeptHunk;
  chosen: Outcome | null;
  /** Whether the dialog opens with the focus on the first result. */
  hasFocus: boolean;
  onChoose: (outcome: Outcome) => void;
}

function Choice({ hunk, outcomes, chosen, hasFocus, onChoose }: ChoiceProps) {
  const where = `${hunk.path}, line ${hunk.line}`;
  return (
    <fieldset class="choices kept">
      <legend>{reveal(where)}</legend>
      {outcomes.map(([outcome, label], index) => {
        const text = hunk.texts[outcome];
        if (text === undefined) return null;
        return (
          <label key={outcome} class={chosen === outcome ? "choice checked" : "choice"}>
            <input
              type="radio"
              name={`kept-${hunk.id}`}
              checked={chosen === outcome}
              data-focus={hasFocus && index === 0 ? true : undefined}
              onChange={() => onChoose(outcome)}
            />
            <span class="kept-choice">
              <strong>{label}</strong>
              <code>{reveal(text.replace(/\r?\n$/, "")) || "(no line)"}</code>
            </span>
          </label>
        );
      })}
    </fieldset>
  );
}
