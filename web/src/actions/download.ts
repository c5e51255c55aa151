/** Downloads the patch, all files, or the recording. Their code is loaded with the first download. */
import { download } from "../folder.js";
import { plural } from "../hunk-text.js";
import { patchOf } from "../patch.js";
import { currentEngine, editor, files, notify, project, review, showError, totals, waiting } from "../store.js";
import { settleForSaving } from "./kept.js";
import { refresh } from "./refresh.js";
import { pendingNote } from "./save.js";

/** Downloads the unified diff of all pending changes. */
export async function downloadPatch(): Promise<void> {
  try {
    const name = `${project.value.name || "emend"}-revision-${review.value.revision}.patch`;
    const patch = project.value.remote ? await patchOfServer() : await currentEngine().diff();
    download(name, new Blob([patch], { type: "text/x-diff" }));
  } catch (error) {
    showError(error);
  }
}

/** Returns the patch from the texts on a server's disk to those with all pending changes. */
async function patchOfServer(): Promise<string> {
  const engine = currentEngine();
  const changed = waiting.value.map(async ({ path }) => {
    const [before, after] = await Promise.all([engine.readDisk(path), engine.read(path)]);
    return { path, before, after };
  });
  return patchOf(await Promise.all(changed));
}

/** Downloads all files as an archive: the accepted text, or with `pending` the visible text. */
export async function downloadAll(pending: boolean): Promise<void> {
  try {
    await editor.flush();
    await refresh();
    // The archive without pending changes must not have words of the assistant that are in the user's lines.
    if (!pending && !(await settleForSaving())) return;
    const archive = (await currentEngine().zipAll(pending)) as Uint8Array<ArrayBuffer>;
    download(`${project.value.name || "emend"}.zip`, new Blob([archive], { type: "application/zip" }));
    const left = totals.value.changes;
    notify(`Downloaded ${plural(files.value.length, "file")}.${left > 0 && !pending ? ` ${pendingNote(left)}` : ""}`);
  } catch (error) {
    showError(error);
  }
}

/** Downloads the project with all operations and responses of models, to be opened again here or sent with a report. */
export async function downloadRecording(): Promise<void> {
  try {
    await editor.flush();
    const text = await currentEngine().recording();
    download(`${project.value.name || "emend"}.emend.jsonl`, new Blob([text], { type: "application/x-ndjson" }));
    notify("Downloaded the recording. It has your files and the conversation, and no key.");
  } catch (error) {
    showError(error);
  }
}
