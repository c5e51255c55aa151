/** Shows three texts of a file in columns with aligned rows; below each other on a narrow page. */
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { withoutBreak } from "../hunk-text.js";
import { reveal } from "../reveal.js";
import { type Cell, type ThreeRow, threeWay } from "../three-way.js";

export const COLUMNS = ["Before the task", "By the assistant", "Now"] as const;

/** The signs of a changed line, and what they mean to a screen reader: taken away since, written since the column before. */
const SIGNS = ["−", "+", "•"] as const;
const WORDS = ["replaced: ", "written: ", "changed since: "] as const;
const KINDS = ["removed", "added", "mine"] as const;

/** Number of rows that are drawn at first. */
const ROWS_SHOWN = 400;

interface ThreeProps {
  before: string | null;
  after: string | null;
  now: string | null;
  path: string;
}

export function ThreeWayView({ before, after, now, path }: ThreeProps) {
  const shown = useSignal(ROWS_SHOWN);
  const parts = useMemo(() => threeWay(before, after, now), [before, after, now]);
  const texts = [before, after, now];
  if (parts.length === 0) return <p class="faint diff-none">The three texts are equal.</p>;
  const total = parts.reduce((sum, part) => sum + part.length, 0);
  let left = shown.value;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex lint/a11y/useSemanticElements: the keyboard must be able to scroll it.
    <div class="three-way" tabIndex={0} role="group" aria-label={`Three texts of ${path}`}>
      <div class="three-head" aria-hidden="true">
        {COLUMNS.map((name, index) => (
          <span key={name}>
            {name}
            {texts[index] === null && " (no file)"}
          </span>
        ))}
      </div>
      {parts.map((part, at) => {
        const rows = part.slice(0, Math.max(left, 0));
        left -= part.length;
        return rows.length > 0 && <Part key={at} rows={rows} />;
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

function Part({ rows }: { rows: readonly ThreeRow[] }) {
  return (
    <div class="three-part">
      {COLUMNS.map((name, column) => (
        <section key={name} class="three-column" aria-label={name} style={{ "--rows": rows.length }}>
          <h3 class="three-name">{name}</h3>
          {rows.map((row, at) => (
            <Line key={at} cell={row[column] ?? null} column={column} row={at} />
          ))}
        </section>
      ))}
    </div>
  );
}

function Line({ cell, column, row }: { cell: Cell | null; column: number; row: number }) {
  // The rows of the three columns are the same rows of the grid.
  const style = { "--row": row + 1 };
  if (cell === null) return <div class="diff-line absent" style={style} aria-hidden="true" />;
  return (
    <div class={`diff-line ${cell.changed ? KINDS[column] : "context"}`} style={style}>
      <span class="line-number">{cell.number}</span>
      <span class="sign" aria-hidden="true">
        {cell.changed ? SIGNS[column] : ""}
      </span>
      <span class="visually-hidden">{cell.changed ? WORDS[column] : ""}</span>
      <code>{reveal(withoutBreak(cell.text)) || "\n"}</code>
    </div>
  );
}
