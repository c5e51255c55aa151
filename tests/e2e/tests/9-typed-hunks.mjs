// Decisions right after the user typed into a change, before the page has read the new changes.
import assert from "node:assert/strict";
import { downloaded, menu, openApp } from "../app.mjs";
import { readZip } from "../archive.mjs";
import { startProvider } from "../provider.mjs";

const PATH = "notes.md";
const BEFORE = "# Notes\n\nold\n\nend\n";
const AFTER = "# Notes\n\none\ntwo\nthree\n\nend\n";

/** Opens a file in which the agent has replaced a line by three: one of a folder, unless `isFolder` is false. */
async function withBlock(page, url, test, isFolder = true) {
  const edit = { name: "Edit", input: { file_path: PATH, old_string: "old", new_string: "one\ntwo\nthree" } };
  const provider = await startProvider("right", [{ name: "Read", input: { file_path: PATH } }, edit]);
  try {
    const app = await openApp(page, url);
    if (isFolder) await app.openFolder({ [PATH]: BEFORE });
    else {
      const file = { name: PATH, mimeType: "text/plain", buffer: Buffer.from(BEFORE) };
      await page.getByLabel("Files to open").setInputFiles(file);
    }
    await app.openFile(PATH);
    await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
    await app.askAndWait("count");
    await app.hunks(1);
    await test(app);
  } finally {
    await provider.close();
  }
}

const TASKS = "# Notes\n\nold\n\nmid\n\nend\n";

/** Opens a file in which a first task has changed a line, and a second one two other lines. */
async function withTasks(page, url, test) {
  const edit = (old_string, new_string) => ({ name: "Edit", input: { file_path: PATH, old_string, new_string } });
  const read = { name: "Read", input: { file_path: PATH } };
  const replies = [read, edit("mid", "center"), "Done.", edit("old", "one\ntwo\nthree"), edit("end", "fin")];
  const provider = await startProvider("right", replies);
  try {
    const app = await openApp(page, url);
    await app.openFolder({ [PATH]: TASKS });
    await app.openFile(PATH);
    await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
    await app.askAndWait("first");
    await app.askAndWait("second");
    await app.hunks(3);
    await test(app);
  } finally {
    await provider.close();
  }
}

/** Replaces the text of a line as a user does, and returns at once. */
async function retype(page, app, old, text) {
  await app.editor.locator(".cm-line", { hasText: old }).click();
  await page.keyboard.press("Home");
  await page.keyboard.press("Shift+End");
  await page.keyboard.insertText(text);
}

export const tests = {
  async "Accept right after a line of a change was retyped accepts all of the change"({ page, url }) {
    await withBlock(page, url, async (app) => {
      await retype(page, app, "two", "mine");
      await page.getByRole("button", { name: "Accept change 1 of 1" }).click();
      await app.says("None left");
      await app.hunks(0);
      assert.equal(await app.text(), AFTER.replace("two", "mine"));
    });
  },

  async "Reject right after a line of a change was retyped offers no mixture of both texts"({ page, url }) {
    await withBlock(page, url, async (app) => {
      await retype(page, app, "two", "mine");
      await page.getByRole("button", { name: "Reject change 1 of 1" }).click();
      const dialog = page.getByRole("dialog", { name: "You edited inside this change" });
      await dialog.waitFor();
      assert.deepEqual(await dialog.locator("code").allTextContents(), ["one\nmine\nthree", "old\nmine", "old"]);
      await dialog.getByRole("button", { name: "Cancel" }).click();
      assert.equal(await app.text(), AFTER.replace("two", "mine"));
    });
  },

  async "a decision on a change that typing took back says so"({ page, url }) {
    await withBlock(page, url, async (app) => {
      await app.editor.locator(".cm-line", { hasText: "one" }).click();
      await page.keyboard.press("Home");
      for (let n = 0; n < 2; n += 1) await page.keyboard.press("Shift+ArrowDown");
      await page.keyboard.press("Shift+End");
      await page.keyboard.insertText("old");
      await page.getByRole("button", { name: "Accept change 1 of 1" }).click();
      await app.says("your typing took the change back");
      await app.hunks(0);
      assert.equal(await app.text(), BEFORE);
    });
  },

  async "a download of everything asks about a line with unaccepted words, and has what was chosen"({ page, url }) {
    await withBlock(page, url, async (app) => {
      await retype(page, app, "two", "mine");
      await menu(page, "Download everything as a zip");
      const dialog = page.getByRole("dialog", { name: "You edited inside this change" });
      await dialog.getByText("Choose what is saved.").waitFor();
      await dialog.getByRole("button", { name: "Cancel" }).click();
      assert.equal(await app.text(), AFTER.replace("two", "mine"));
      const archive = await downloaded(page, async () => {
        await menu(page, "Download everything as a zip");
        await dialog.getByLabel("Drop both: the old line returns").check();
        await dialog.getByRole("button", { name: "Save" }).click();
      });
      assert.equal(readZip(archive.bytes)[PATH], BEFORE);
    });
  },

  async "a project that is kept in the browser asks about a line with unaccepted words"({ page, url }) {
    const keep = async (app) => {
      await retype(page, app, "two", "mine");
      await menu(page, "Keep in this browser…");
      const name = page.getByRole("dialog", { name: "Keep this project in the browser" });
      await name.getByLabel("Name of the project").fill("kept-notes");
      await name.getByRole("button", { name: "Keep" }).click();
      const dialog = page.getByRole("dialog", { name: "You edited inside this change" });
      await dialog.getByLabel("Drop both: the old line returns").check();
      await dialog.getByRole("button", { name: "Save" }).click();
      await app.says("kept-notes is kept in this browser now.");
      const saved = await page.evaluate(async (path) => {
        let folder = await navigator.storage.getDirectory();
        for (const each of ["emend-projects", "kept-notes"]) folder = await folder.getDirectoryHandle(each);
        return (await (await folder.getFileHandle(path)).getFile()).text();
      }, PATH);
      assert.equal(saved, BEFORE);
    };
    await withBlock(page, url, keep, false);
  },

  async "rejecting the changes of the last task asks about the user's lines in them"({ page, url }) {
    await withTasks(page, url, async (app) => {
      await retype(page, app, "two", "mine");
      await app.showReview();
      await page.getByRole("button", { name: "Last task" }).click();
      await page.getByText("Rejecting asks about your lines in 1 of them.").waitFor();
      await page.getByRole("button", { name: "Reject these" }).hover();
      await page.locator(".bulk-note", { hasText: "asks about your lines in 1 of them" }).waitFor();
      await page.getByRole("button", { name: "Reject these" }).click();
      const dialog = page.getByRole("dialog", { name: "You edited inside this change" });
      await dialog.getByLabel("Drop both: the old line returns").check();
      await dialog.getByRole("button", { name: "Reject" }).click();
      await app.says("Rejected 2 changes. 1 left to review.");
      await page.keyboard.press("Alt+r");
      assert.equal(await app.text(), TASKS.replace("mid", "center"));
    });
  },
};
