/** Connects the editor's keys and buttons to the actions. The import has this side effect and exports nothing. */

import { drafts } from "../drafts.js";
import { describe } from "../engine.js";
import { pendingHunks } from "../hunk-text.js";
import { newId } from "../ids.js";
import { keyName } from "../keys.js";
import {
  chat,
  currentEngine,
  cursor,
  editor,
  isCutOff,
  leaseHeld,
  notify,
  openHunks,
  openPath,
  project,
  review,
  showError,
  toast,
  waiting,
} from "../store.js";
import { rememberWritten } from "../written.js";
import { quoteSelection } from "./additions.js";
import { goToNextFile, takeBack, takeOver } from "./edit.js";
import { noteUnsent } from "./link.js";
import { refresh } from "./refresh.js";
import { acceptAll, decide, redo, undo } from "./review.js";

/**
 * Delays before typed text is sent to the engine. During a run the delay is short, so that the agent reads current
 * text. Otherwise it is longer, because each sent edit is one undo step.
 */
const SEND_DELAY_RUNNING_MS = 60;
const SEND_DELAY_MS = 450;

editor.connect({
  write: async (path, raw, base) => {
    const engine = currentEngine();
    const written = rememberWritten(pendingHunks(review.value.files.find((file) => file.path === path)));
    const key = newId();
    drafts.sent({ key, path, text: raw, base, written }, Date.now());
    const { text, changed, replaced } = await engine.write(path, raw, base, { kind: "typing", path }, written, key);
    // The toast's Undo would now undo this typing instead of its own step.
    if (changed && toast.value?.undo) toast.value = null;
    // Not awaited: the write is done.
    if (replaced.length > 0)
      import("../replaced.js").then(({ tellReplaced }) => tellReplaced([[path, replaced]])).catch(showError);
    if (project.value.remote) (await import("./elsewhere.js")).noteWritten(path, base, text);
    // Not awaited: the refresh is queued behind this write, so awaiting it would deadlock.
    void refresh("texts").catch(showError);
    return text;
  },
  typed: (path) => {
    if (isCutOff.value) noteUnsent();
    if (leaseHeld.value && path === openPath.value) takeBack();
  },
  sendDelay: () => (chat.value.running ? SEND_DELAY_RUNNING_MS : SEND_DELAY_MS),
  failed: (error) => {
    // The page says above what became of the server, and keeps the text.
    if (isCutOff.value || describe(error).code === "server_unreachable") noteUnsent();
    else showError(error);
  },
  moved: (place) => {
    cursor.value = place;
  },
  decide: async (id, decision) => {
    await decide(id, decision);
  },
  undecided: () => {
    const here = openHunks.value.length > 0;
    notify(
      here
        ? `The cursor is in no change. ${keyName("Alt+J")} goes to the next one.`
        : "This file has no change to decide on.",
    );
  },
  quote: quoteSelection,
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
