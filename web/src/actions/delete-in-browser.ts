/** Deletes projects from the browser's storage. Loaded with the first one that is deleted. */
import { browserFolder, deleteBrowserProject, keptFolder } from "../kept-folders.js";
import { openProjects } from "../locks.js";
import { choose, notify, project, showError } from "../store.js";
import { listProjects } from "./project.js";

/** Deletes a project from the browser's storage, after a question. */
export async function deleteInBrowser(name: string): Promise<void> {
  if (await isFolderOpen(name)) return;
  const answer = await choose({
    title: `Delete ${name}?`,
    message:
      "Its files are removed from this browser for good. “Download everything as a zip” of the open project keeps a copy.",
    choices: [{ name: "delete", label: "Delete", danger: true }],
  });
  if (answer !== "delete" || (await isFolderOpen(name))) return;
  await deleteBrowserProject(name).catch(showError);
  await listProjects();
}

/** Whether this tab or another one works in a folder of the browser's storage. Then says so. */
async function isFolderOpen(name: string): Promise<boolean> {
  const folder = await browserFolder(name);
  if (await project.value?.directory?.isSameEntry(folder)) {
    notify("This project is open. Open another one first.");
    return true;
  }
  for (const id of await openProjects()) {
    if (!(await (await keptFolder(id))?.isSameEntry(folder))) continue;
    notify("Another tab works on this project. Close it first.");
    return true;
  }
  return false;
}
