/** Says at which line the assistant edits the open file, and follows it there if the user wants. */
import "../styles/live.css";
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { showPlace } from "../editor/live-mark.js";
import { editor, lastEdit } from "../store.js";

/** Whether the editor follows the assistant, until the user scrolls or types. */
const isFollowing = signal(false);

const OWN_MOVES = ["wheel", "touchmove", "keydown", "pointerdown"] as const;

export function LivePlace() {
  const edit = lastEdit.value;
  const follows = isFollowing.value;
  useEffect(() => {
    const { view } = editor;
    if (view && edit) showPlace(view, edit.line, follows);
  }, [edit, follows]);
  useEffect(() => {
    const { view } = editor;
    const stop = (): void => {
      isFollowing.value = false;
    };
    for (const kind of OWN_MOVES) view?.dom.addEventListener(kind, stop, { capture: true, passive: true });
    return () => {
      for (const kind of OWN_MOVES) view?.dom.removeEventListener(kind, stop, { capture: true });
      if (view) showPlace(view, null, false);
    };
  }, []);
  return (
    <>
      <button class="link" type="button" onClick={() => editor.goToHunk(edit?.hunk ?? "first")}>
        at line {edit?.line}
      </button>
      <label class="follow">
        <input
          type="checkbox"
          checked={follows}
          onChange={(event) => {
            isFollowing.value = event.currentTarget.checked;
          }}
        />
        Follow
      </label>
    </>
  );
}
