/** Splits a hunk of the review in two, to decide on each part alone. */
import type { Hunk } from "../engine.js";
import { pendingHunks } from "../hunk-text.js";
import { currentEngine, notify, showError, waiting } from "../store.js";
import { refresh } from "./refresh.js";
import { inTurn, sendTyped } from "./review.js";

/** Splits a hunk before a line. Returns the id of its first part, or null if it was not split. */
export function splitHunk(shown: Hunk, line: number, path: string): Promise<string | null> {
  return inTurn(async () => {
    try {
      await sendTyped();
      const now = pendingIn(path).find(({ id }) => id === shown.id);
      if (now?.lines[line]?.text !== shown.lines[line]?.text) {
        notify("The change is not what it was when you chose the line. Choose it again.");
        return null;
      }
      const before = new Set(pendingIn(path).map(({ id }) => id));
      before.delete(shown.id);
      await currentEngine().split(shown.id, line, path);
      await refresh();
      notify("Split the change in two.", { undo: true });
      return pendingIn(path).find(({ id }) => !before.has(id))?.id ?? null;
    } catch (error) {
      showError(error);
      return null;
    }
  });
}

function pendingIn(path: string): readonly Hunk[] {
  return pendingHunks(waiting.value.find((file) => file.path === path));
}
