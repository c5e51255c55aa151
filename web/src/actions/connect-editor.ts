/** Connects the editor's keys and buttons to the actions. Imported once, for what it does. */
import {
  chat,
  currentEngine,
  cursor,
  editor,
  leaseHeld,
  openPath,
  recordStep,
  showError,
  toast,
  waiting,
} from "../store.js";
import { goToNextFile, takeBack, takeOver } from "./edit.js";
import { markTouched, refresh } from "./refresh.js";
import { acceptAll, decide, redo, undo } from "./review.js";

/** Short while the agent works, so that it reads what the user types; longer otherwise: each sending is one undo. */
const SEND_DELAY_RUNNING_MS = 60;
const SEND_DELAY_MS = 450;

editor.connect({
  write: async (path, raw, base) => {
    const engine = currentEngine();
    const before = (await engine.files.read(path))?.text;
    const { text } = await engine.files.write(path, raw, { base });
    markTouched(path);
    if (before !== text) {
      recordStep({ kind: "typing", path });
      // Its Undo would take back this typing now, not what it says.
      if (toast.value?.undo) toast.value = null;
    }
    // Not awaited: reading back is queued behind this very write.
    void refresh("texts").catch(showError);
    return text;
  },
  typed: (path) => {
    if (leaseHeld.value && path === openPath.value) takeBack();
  },
  sendDelay: () => (chat.value.running ? SEND_DELAY_RUNNING_MS : SEND_DELAY_MS),
  failed: showError,
  moved: (place) => {
    cursor.value = place;
  },
  decide: (id, decision) => void decide(id, decision),
  acceptFile: () => {
    const path = openPath.value;
    if (path === null || !waiting.value.some((file) => file.path === path)) return false;
    void acceptAll(path);
    return true;
  },
  undo: () => void undo(),
  redo: () => void redo(),
  escape: () => {
    if (!leaseHeld.value) return false;
    takeOver();
    return true;
  },
  beyond: goToNextFile,
});
