// The start view, projects that the browser keeps, archives and recordings, renaming and deleting, and the page offline.
import assert from "node:assert/strict";
import { App, downloaded, menu, openApp, openSample } from "../app.mjs";
import { readZip, zipOf } from "../archive.mjs";

export const tests = {
  async "the start view has three doors, works by keyboard, and lists what can be continued"({ page, url }) {
    await page.goto(url);
    const app = new App(page);
    await page.getByRole("heading", { name: /Decide on each edit/ }).waitFor();
    assert.equal(await page.title(), "Emend");
    await page.waitForFunction(() => document.activeElement?.textContent.startsWith("Open a folder"));
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await app.row("README.md").waitFor();
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename loanDays to seasonDays");
    await menu(page, "Back to the start");
    await page.getByRole("dialog", { name: "Leave this project?" }).getByRole("button", { name: "Leave" }).click();
    await page.getByRole("button", { name: /^Continue seed-library/ }).click();
    await app.row("README.md").waitFor();
    assert.match(await app.changes(), /4 changes in 3 files/);
    await app.showReview();
    await page.getByRole("button", { name: "Reject all", exact: true }).click();
    await page.getByText("Nothing to review.").waitFor();
    await menu(page, "Back to the start");
    await page.getByRole("button", { name: "Forget seed-library" }).click();
    await page
      .getByRole("dialog", { name: /Forget/ })
      .getByRole("button", { name: "Forget" })
      .click();
    await page.getByRole("button", { name: /^Continue/ }).waitFor({ state: "detached" });
  },

  async "a project in the browser is kept with its files, and opens again"({ page, url }) {
    await page.goto(url);
    const app = new App(page);
    await page.getByRole("button", { name: /^New project/ }).click();
    const dialog = page.getByRole("dialog", { name: "New project in this browser" });
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByText("Enter a name.").waitFor();
    await dialog.getByLabel("Name of the project").fill("garden");
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.locator(".project-name", { hasText: "garden" }).waitFor();
    await page.getByRole("button", { name: "New file" }).click();
    await page.getByLabel("Path in the project").fill("beds/plan.md");
    await page.keyboard.press("Enter");
    await app.row("beds/plan.md").waitFor();
    await page.locator('.cm-content[aria-label="Text of beds/plan.md"]:focus').waitFor();
    await page.keyboard.type("beans");
    await page.keyboard.press("Control+s");
    await app.says("Saved plan.md.");
    const other = await page.context().newPage();
    await other.goto(url);
    await other.getByRole("button", { name: "Open garden" }).click();
    await new App(other).row("beds/plan.md").waitFor();
    await other.locator(".cm-line", { hasText: "beans" }).waitFor();
    await other.close();

    const start = await page.context().newPage();
    await start.goto(url);
    const del = start.getByRole("button", { name: "Delete garden" });
    await del.click();
    await new App(start).says("This project is open in another tab.");
    await page.close();
    await del.click();
    const question = start.getByRole("dialog", { name: "Delete garden?" });
    await start.getByRole("button", { name: "Continue garden" }).first().waitFor();
    await question.getByRole("button", { name: "Cancel" }).click();
    await start.getByRole("button", { name: "Open garden" }).waitFor();
    await del.click();
    await question.getByRole("button", { name: "Delete" }).click();
    await start.getByRole("button", { name: "Open garden" }).waitFor({ state: "detached" });
    assert.equal(await start.getByRole("button", { name: "Continue garden" }).count(), 0);
    const left = await start.evaluate(async () => {
      const root = await navigator.storage.getDirectory();
      const names = [];
      for await (const name of (await root.getDirectoryHandle("emend-projects")).keys()) names.push(name);
      return names;
    });
    assert.deepEqual(left, []);
  },

  async "a project in the browser is deleted after it was left"({ page, url }) {
    await page.goto(url);
    await page.getByRole("button", { name: /^New project/ }).click();
    const dialog = page.getByRole("dialog", { name: "New project in this browser" });
    await dialog.getByLabel("Name of the project").fill("garden");
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.locator(".project-name", { hasText: "garden" }).waitFor();
    await menu(page, "Back to the start");
    await page.getByRole("button", { name: "Delete garden" }).click();
    await page.getByRole("dialog", { name: "Delete garden?" }).getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Open garden" }).waitFor({ state: "detached" });
    assert.equal(await page.getByRole("button", { name: "Continue garden" }).count(), 0);
  },

  async "an archive opens without its outer folder, and everything downloads as one"({ page, url }) {
    const app = await openApp(page, url);
    const archive = zipOf({ "demo/a.txt": "old text\n", "demo/sub/b.txt": "b\n", "demo/node_modules/x.js": "x" });
    await page
      .getByLabel("Files to open")
      .setInputFiles({ name: "demo.zip", mimeType: "application/zip", buffer: archive });
    await app.row("a.txt").waitFor();
    assert.equal(await page.locator(".tree-row.file").count(), 2);
    await app.says("Skipped: node_modules/");
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename old to new in a.txt");
    const plain = await downloaded(page, () => menu(page, "Download everything as a zip"));
    assert.equal(plain.name, "demo.zip");
    assert.deepEqual(readZip(plain.bytes), { "a.txt": "old text\n", "sub/b.txt": "b\n" });
    await app.says("1 change still to review is not saved");
    const pending = await downloaded(page, () => menu(page, "Download with changes under review"));
    assert.equal(readZip(pending.bytes)["a.txt"], "new text\n");
  },

  async "a recording repeats a project elsewhere, with its review and conversation and without a key"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename loanDays to seasonDays");
    const recording = await downloaded(page, () => menu(page, "Download a recording"));
    assert.equal(recording.name, "seed-library.emend.jsonl");
    assert.match(recording.bytes.toString(), /^\{"format":"emend-recording","version":2,/);
    assert.doesNotMatch(recording.bytes.toString(), /apiKey/);
    const other = await page.context().newPage();
    await other.goto(url);
    const again = new App(other);
    const file = { name: recording.name, mimeType: "application/json", buffer: recording.bytes };
    await other.getByLabel("Files to open").setInputFiles(file);
    await again.transcript.getByText("rename loanDays to seasonDays").waitFor();
    assert.match(await again.changes(), /4 changes in 3 files/);
    const wrong = { name: "x.emend.jsonl", mimeType: "application/json", buffer: Buffer.from("{}\n") };
    await other.getByLabel("Files to open").setInputFiles(wrong);
    await again.says("not a recording");
    await other.close();
  },

  async "files and folders are renamed and deleted, as steps that undo, and the disk follows with the next save"({
    page,
    url,
  }) {
    const app = await openApp(page, url);
    const saved = await app.openFolder({ "a.txt": "alpha\n", "sub/b.txt": "b\n", "sub/c.txt": "c\n" });
    await app.row("a.txt").focus();
    await page.keyboard.press("F2");
    const dialog = page.getByRole("dialog", { name: "Rename a.txt" });
    await dialog.getByLabel("New path").fill("sub/b.txt");
    await dialog.getByRole("button", { name: "Rename" }).click();
    await dialog.getByText("exists already").waitFor();
    await dialog.getByLabel("New path").fill("z.txt");
    await dialog.getByRole("button", { name: "Rename" }).click();
    await app.row("z.txt").waitFor();
    assert.equal(await app.row("a.txt").count(), 0);
    await page.locator(".view-tab", { hasText: "z.txt" }).waitFor();
    await page.keyboard.press("Control+s");
    await app.says("Saved 2 files.");
    assert.equal(await saved("z.txt"), "alpha\n");
    await assert.rejects(saved("a.txt"), /NotFound/);

    await app.row("sub").focus();
    await page.keyboard.press("F2");
    await page.getByLabel("New path").fill("deep/er");
    await page.keyboard.press("Enter");
    await app.row("deep/er/b.txt").waitFor();
    await page.getByRole("button", { name: "Undo rename in sub" }).click();
    await app.row("sub/c.txt").waitFor();
    assert.equal(await app.row("deep/er/b.txt").count(), 0);

    await app.row("sub").focus();
    await page.keyboard.press("Delete");
    await page.getByRole("dialog", { name: "Delete 2 files in sub?" }).getByRole("button", { name: "Delete" }).click();
    await app.row("sub/b.txt").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Undo delete in sub" }).click();
    await app.row("sub/b.txt").waitFor();
    // A change under review belongs to the file's present name.
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename alpha to beta");
    await app.row("z.txt").hover();
    await page.getByRole("button", { name: "Rename z.txt" }).click();
    await page.getByLabel("New path").fill("y.txt");
    await page.keyboard.press("Enter");
    await page.getByText("Accept or reject them first").waitFor();
  },

  async "the page starts without network, with a project of an earlier visit"({ url, browser }) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    context.setDefaultTimeout(15_000);
    try {
      const page = await context.newPage();
      await openApp(page, url);
      await page.evaluate(async () => {
        await navigator.serviceWorker.ready;
        const [name] = await caches.keys();
        while ((await (await caches.open(name)).keys()).length < 20) await new Promise((done) => setTimeout(done, 50));
      });
      await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
      await context.setOffline(true);
      const later = await context.newPage();
      await later.goto(url);
      const app = new App(later);
      await openSample(later);
      await app.row("README.md").waitFor();
      await app.chooseModel({ pace: "instant" });
      await app.askAndWait("rename loanDays to seasonDays");
      assert.match(await app.changes(), /4 changes in 3 files/);
    } finally {
      await context.close();
    }
  },
};
