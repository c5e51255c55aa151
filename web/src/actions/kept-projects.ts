/** Keeps the project in the browser, and forgets and deletes kept ones. Loaded with the first use. */
import { drafts } from "../drafts.js";
import { type ProjectInfo, shared } from "../engine.js";
import { writeBack } from "../folder.js";
import { browserFolder, deleteBrowserProject, keepFolder, keptFolder } from "../kept-folders.js";
import { openProjects } from "../locks.js";
import {
  choose,
  currentEngine,
  editor,
  hasProject,
  inBrowser,
  kept,
  notify,
  project,
  showError,
  unsaved,
} from "../store.js";
import { settleForSaving } from "./kept.js";
import { draftsId, listProjects, OPEN_ELSEWHERE } from "./project.js";
import { refresh } from "./refresh.js";

/** Copies the project into the browser's storage, where later saving goes. */
export async function keepInBrowser(name: string): Promise<void> {
  try {
    await editor.flush();
    await refresh();
    if (!(await settleForSaving())) return;
    const folder = await browserFolder(name);
    for (const [path, content] of Object.entries(await currentEngine().exportFiles())) {
      if (!path.endsWith("/")) await writeBack(folder, path, content);
    }
    const paths = [...unsaved.value];
    for (const path of paths) await currentEngine().noteSaved(path, await currentEngine().readDisk(path));
    project.value = { ...project.value, name, directory: folder, sample: false };
    await keepFolder(draftsId(), folder);
    await refresh();
    await listProjects();
    notify(`${name} is kept in this browser now. Saving writes there; “Download everything” copies it to your disk.`);
  } catch (error) {
    showError(error);
  }
}

/** Returns why a project in the browser cannot have this name, or null if it can. */
export function browserNameProblem(name: string): string | null {
  if (name.trim() === "") return "Enter a name.";
  if (/[/\\]|^\.\.?$/.test(name)) return "The name must not contain slashes.";
  return inBrowser.value.includes(name) ? "There is a project with this name." : null;
}

/** Forgets a kept project. */
export async function forgetProject(info: ProjectInfo): Promise<void> {
  if (await isOpenElsewhere(info.id)) return;
  const answer = await choose({
    title: `Forget ${info.name}?`,
    message:
      "Its conversation, its review and what you have not saved are removed from this browser. A folder on your disk stays as it is.",
    choices: [{ name: "forget", label: "Forget", danger: true }],
  });
  if (answer !== "forget" || (await isOpenElsewhere(info.id))) return;
  await shared.forget(info.id).catch(showError);
  drafts.forget(info.id);
  await listProjects();
}

/** Whether another tab works on a kept project. Then says so. */
async function isOpenElsewhere(id: string): Promise<boolean> {
  const isOpen = (await openProjects()).has(id);
  if (isOpen) notify(OPEN_ELSEWHERE);
  return isOpen;
}

/** Deletes a project from the browser's storage, after a question. */
export async function deleteInBrowser(name: string): Promise<void> {
  if (await isFolderOpen(name)) return;
  const answer = await choose({
    title: `Delete ${name}?`,
    message:
      "Its files, its conversation and its review are removed from this browser for good. “Download everything as a zip” of the open project keeps a copy of the files.",
    choices: [{ name: "delete", label: "Delete", danger: true }],
  });
  if (answer !== "delete" || (await isFolderOpen(name))) return;
  try {
    const folder = await browserFolder(name);
    const records: string[] = [];
    for (const { id } of kept.value) if (await (await keptFolder(id))?.isSameEntry(folder)) records.push(id);
    await deleteBrowserProject(name);
    // Without its files a project cannot be continued.
    for (const id of records) {
      await shared.forget(id);
      drafts.forget(id);
    }
  } catch (error) {
    showError(error);
  }
  await listProjects();
}

/** Whether this tab or another one works in a folder of the browser's storage. Then says so. */
async function isFolderOpen(name: string): Promise<boolean> {
  const folder = await browserFolder(name);
  if (hasProject.value && (await project.value.directory?.isSameEntry(folder))) {
    notify("This project is open. Open another one first.");
    return true;
  }
  for (const id of await openProjects()) {
    if (!(await (await keptFolder(id))?.isSameEntry(folder))) continue;
    notify(OPEN_ELSEWHERE);
    return true;
  }
  return false;
}
