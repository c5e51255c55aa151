/** Shows the difference of two texts, a part at a time so that a long one does not block the page. */
import { type Signal, useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { plural, withoutBreak } from "../hunk-text.js";
import { type DiffRow, lineDiff } from "../line-diff.js";
import { reveal } from "../reveal.js";

const SIGNS = { added: "+", removed: "−", context: "" } as const;
const WORDS = { added: "added: ", removed: "removed: ", context: "" } as const;

/** Number of rows that are drawn at first. */
const ROWS_SHOWN = 400;

interface DiffProps {
  before: string | null;
  after: string | null;
  label: string;
  /** Whether all unchanged lines are shown, and not only those near changes. */
  whole?: boolean;
  /** The parts that the user has checked, by their number. Without it, parts have no check boxes. */
  chosen?: Signal<ReadonlySet<number>>;
}

export function DiffView({ before, after, label, whole, chosen }: DiffProps) {
  const shown = useSignal(ROWS_SHOWN);
  const parts = useMemo(
    () => lineDiff(before, after, whole ? Number.POSITIVE_INFINITY : undefined),
    [before, after, whole],
  );
  if (parts.length === 0) return <p class="faint diff-none">{before === after ? "No difference." : "Empty."}</p>;
  const total = parts.reduce((sum, part) => sum + part.length, 0);
  let left = shown.value;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex lint/a11y/useSemanticElements: the keyboard must be able to scroll it.
    <div class="diff-view" tabIndex={0} role="group" aria-label={label}>
      {parts.map((part, index) => {
        const rows = part.slice(0, Math.max(left, 0));
        left -= part.length;
        return (
          <div class="diff-part" key={index}>
            {chosen && rows.length > 0 && <PartChoice part={part} index={index} chosen={chosen} />}
            {rows.map((row, at) => (
              <div class={`diff-line ${row.kind}`} key={at}>
                <span class="line-number">{row.oldNumber ?? ""}</span>
                <span class="line-number">{row.newNumber ?? ""}</span>
                <span class="sign" aria-hidden="true">
                  {SIGNS[row.kind]}
                </span>
                <span class="visually-hidden">{WORDS[row.kind]}</span>
                <code>{reveal(withoutBreak(row.text)) || "\n"}</code>
              </div>
            ))}
          </div>
        );
      })}
      {total > shown.value && (
        <button
          class="link more"
          type="button"
          onClick={() => {
            shown.value += 5 * ROWS_SHOWN;
          }}
        >
          Show more of the {(total - shown.value).toLocaleString("en")} rows left
        </button>
      )}
    </div>
  );
}

function PartChoice({
  part,
  index,
  chosen,
}: {
  part: readonly DiffRow[];
  index: number;
  chosen: NonNullable<DiffProps["chosen"]>;
}) {
  const changed = part.find((row) => row.kind !== "context");
  const count = part.filter((row) => row.kind !== "context").length;
  return (
    <label class="diff-choice">
      <input
        type="checkbox"
        checked={chosen.value.has(index)}
        onChange={(event) => {
          const next = new Set(chosen.value);
          if (event.currentTarget.checked) next.add(index);
          else next.delete(index);
          chosen.value = next;
        }}
      />
      Put back: line {changed?.newNumber ?? changed?.oldNumber ?? 1}, {plural(count, "changed line")}
    </label>
  );
}
