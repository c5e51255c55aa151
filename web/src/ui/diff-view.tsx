/** Shows the difference of two texts, a part at a time so that a long one does not block the page. */
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { withoutBreak } from "../hunk-text.js";
import { lineDiff } from "../line-diff.js";
import { reveal } from "../reveal.js";

const SIGNS = { added: "+", removed: "−", context: "" } as const;
const WORDS = { added: "added: ", removed: "removed: ", context: "" } as const;

/** Number of rows that are drawn at first. */
const ROWS_SHOWN = 400;

export function DiffView({ before, after, label }: { before: string | null; after: string | null; label: string }) {
  const shown = useSignal(ROWS_SHOWN);
  const parts = useMemo(() => lineDiff(before, after), [before, after]);
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
