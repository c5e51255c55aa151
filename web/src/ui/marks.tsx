/** Marks beside the scroll bar of the editor. Loaded with the first changes. */
import "../styles/marks.css";
import { cursor, editor, openHunks } from "../store.js";

/** Number of marks beside the scroll bar. More would be one block of colour. */
const MARKS_MAX = 300;

/** Marks beside the scroll bar, at the places of the changes in the file. */
export function Marks() {
  const hunks = openHunks.value;
  if (hunks.length > MARKS_MAX) return null;
  const { lines } = cursor.value;
  return (
    <div class="marks" aria-hidden="true">
      {hunks.map((hunk) => (
        // biome-ignore lint/a11y/noStaticElementInteractions: for the mouse; keys move between changes.
        <span
          key={hunk.id}
          class={hunk.keptByUser || hunk.contested ? "mark mine" : hunk.newLines === 0 ? "mark removed" : "mark"}
          style={{ top: `${(100 * Math.max(hunk.newStart - 1, 0)) / Math.max(lines, 1)}%` }}
          onMouseDown={(event) => {
            event.preventDefault();
            editor.goToHunk(hunk.id);
          }}
        />
      ))}
    </div>
  );
}
