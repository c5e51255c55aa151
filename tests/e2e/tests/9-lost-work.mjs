// Work that other tabs, a running task, or a file that is not text could take away without a word.
import assert from "node:assert/strict";
import { App, openApp, openSample } from "../app.mjs";
import { zipOf } from "../archive.mjs";
import { heldReply, startProvider } from "../provider.mjs";

const EDIT = { file_path: "README.md", old_string: "# Seed library", new_string: "# Seeds" };
const REPLIES = [
  { name: "Read", input: { file_path: "README.md" } },
  { name: "Edit", input: EDIT },
];

async function menu(page, item) {
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: item }).click();
}

async function openArchive(page, name) {
  const buffer = zipOf({ "a.txt": `${name}\n` });
  await page.getByLabel("Files to open").setInputFiles({ name: `${name}.zip`, mimeType: "application/zip", buffer });
  await page.locator(".project-name", { hasText: name }).waitFor();
  await page.locator(".cm-line", { hasText: name }).waitFor();
}

/** Opens a folder with a text, a picture and another text in `pics`. */
async function openPictures(page, app) {
  await page.evaluate(async () => {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("project", { create: true });
    const pics = await folder.getDirectoryHandle("pics", { create: true });
    const files = [
      [folder, "a.txt", "one\n"],
      [pics, "about.txt", "about\n"],
      [pics, "logo.png", new Uint8Array([137, 80, 78, 71, 0, 1])],
    ];
    for (const [parent, name, content] of files) {
      const stream = await (await parent.getFileHandle(name, { create: true })).createWritable();
      await stream.write(content);
      await stream.close();
    }
    window.showDirectoryPicker = async () => folder;
  });
  await page.getByRole("button", { name: "Open a folder" }).click();
  await app.row("pics/logo.png").waitFor();
}

export const tests = {
  async "a project that a tab has open is kept while others are opened, and not forgotten in another tab"({
    page,
    url,
  }) {
    const app = await openApp(page, url);
    await app.editor.click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("Mine ");
    await page.getByRole("button", { name: /^Undo typing/ }).waitFor();
    const other = await page.context().newPage();
    await other.goto(url);
    await other.getByRole("button", { name: "Forget seed-library" }).click();
    await new App(other).says("open in another tab");
    for (const name of ["p1", "p2", "p3", "p4", "p5", "p6", "p7"]) await openArchive(other, name);
    await other.close();
    await page.waitForTimeout(300);
    page.once("dialog", (dialog) => dialog.accept());
    await page.reload();
    await page.locator(".cm-line", { hasText: "Mine # Seed library" }).waitFor();
  },

  async "a project that was continued is kept longer than those that were opened since"({ page, url }) {
    await page.goto(url);
    for (const name of ["p1", "p2", "p3", "p4", "p5", "p6"]) await openArchive(page, name);
    await menu(page, "Back to the start");
    await page.getByRole("button", { name: /^Continue p1/ }).click();
    await page.locator(".cm-line", { hasText: "p1" }).waitFor();
    await menu(page, "Back to the start");
    const names = () =>
      page.locator(".earlier-name").evaluateAll((all) => all.map(({ textContent }) => textContent.match(/p\d/)[0]));
    await page.getByRole("button", { name: /^Continue p1/ }).waitFor();
    assert.deepEqual(await names(), ["p1", "p6", "p5", "p4", "p3", "p2"]);
    await openArchive(page, "p7");
    await menu(page, "Back to the start");
    await page.getByRole("button", { name: /^Continue p7/ }).waitFor();
    assert.deepEqual(await names(), ["p7", "p1", "p6", "p5", "p4", "p3"]);
  },

  async "a project that is left during a task records nothing more, so that another tab can go on with it"({
    page,
    url,
  }) {
    const held = heldReply("Late words.");
    const provider = await startProvider("sk-test", [...REPLIES, held.promise]);
    try {
      const app = await openApp(page, url);
      await app.chooseModel({ apiKey: "sk-test", baseUrl: provider.url });
      await app.ask("shorten the title");
      await app.hunks(1);
      await page.waitForTimeout(300);
      await menu(page, "Back to the start");
      await page.getByRole("dialog", { name: "Leave this project?" }).getByRole("button", { name: "Leave" }).click();
      await page.getByRole("button", { name: /^Continue seed-library/ }).waitFor();
      const other = await page.context().newPage();
      other.on("dialog", (dialog) => dialog.accept());
      await other.goto(url);
      const again = new App(other);
      await other.getByRole("button", { name: /^Continue seed-library/ }).click();
      await again.hunks(1);
      await again.transcript.locator(".entry.end", { hasText: "Stopped" }).waitFor();
      held.release();
      await page.waitForTimeout(800);
      await other.reload();
      await again.hunks(1);
      await again.transcript.locator(".entry.end", { hasText: "Stopped" }).waitFor();
      await other.waitForTimeout(300);
      assert.equal(await again.transcript.getByText("Late words.").count(), 0);
      assert.equal(await again.toast.count(), 0, "the review was not restored");
    } finally {
      await provider.close();
    }
  },

  async "a return to before a task is not undone while the assistant works"({ page, url }) {
    const held = heldReply("Second done.");
    const provider = await startProvider("sk-test", [...REPLIES, "First done.", held.promise]);
    try {
      const app = await openApp(page, url);
      await app.chooseModel({ apiKey: "sk-test", baseUrl: provider.url });
      await app.askAndWait("shorten the title");
      await page.getByRole("button", { name: "Edit and send again: shorten the title" }).click();
      await page.locator("dialog[open]").getByRole("button", { name: "Go back" }).click();
      await app.says("The files are as before the task");
      await app.ask("again");
      await page.getByRole("button", { name: /^Undo going back/ }).click();
      await app.says("stop it first");
      held.release();
      await app.transcript.getByText("Second done.").waitFor();
      await app.finished();
      await page.getByRole("button", { name: /^Undo going back/ }).click();
      await app.hunks(1);
    } finally {
      await provider.close();
    }
  },

  async "a folder with a picture is deleted or renamed as a whole or not at all, and undo stays in order"({
    page,
    url,
  }) {
    await page.goto(url);
    const app = new App(page);
    await openPictures(page, app);
    await app.openFile("a.txt");
    await app.editor.click();
    await page.keyboard.type("X");
    await page.getByRole("button", { name: /^Undo typing/ }).waitFor();
    await app.row("pics").focus();
    await page.keyboard.press("Delete");
    await page.locator("dialog[open]").getByRole("button", { name: "Delete" }).click();
    await app.says("Nothing was deleted: pics/logo.png is not a text in UTF-8");
    await app.openFile("pics/about.txt");
    assert.equal(await app.text(), "about\n");
    await app.row("pics").focus();
    await page.keyboard.press("F2");
    await page.getByLabel("New path").fill("images");
    await page.keyboard.press("Enter");
    await app.says("Nothing was renamed: pics/logo.png is not a text in UTF-8");
    await app.openFile("a.txt");
    await page.getByRole("button", { name: /^Undo typing/ }).click();
    await page.locator(".cm-line", { hasText: /^one$/ }).waitFor();
    await page.getByRole("button", { name: /everything is saved/ }).waitFor();
  },

  async "a file that the browser cannot read does not keep its folder closed"({ page, url, expectErrors }) {
    // The folder below has a method of the test, and cannot be kept.
    expectErrors(/DataCloneError/);
    await page.goto(url);
    const app = new App(page);
    await page.evaluate(async () => {
      const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("project", { create: true });
      await folder.getFileHandle("a.txt", { create: true });
      const refuse = () => Promise.reject(new DOMException("could not be read", "NotReadableError"));
      folder.entries = async function* () {
        yield ["secret.txt", { kind: "file", getFile: refuse }];
        yield* FileSystemDirectoryHandle.prototype.entries.call(folder);
      };
      window.showDirectoryPicker = async () => folder;
    });
    await page.getByRole("button", { name: "Open a folder" }).click();
    await app.row("a.txt").waitFor();
    await app.says("Skipped: secret.txt, which cannot be read.");
  },

  async "an archive that is damaged is named on the start view, which does not blame the engine"({ page, url }) {
    await page.goto(url);
    const app = new App(page);
    const file = { name: "broken.zip", mimeType: "application/zip", buffer: Buffer.from("no archive") };
    await page.getByLabel("Files to open").setInputFiles(file);
    await app.says("not a zip");
    assert.equal(await page.getByText("Emend could not start").count(), 0);
    await openSample(page);
    await app.row("README.md").waitFor();
  },

  async "the deletion and renaming of a folder with one file are undone, also before a reload"({ page, url }) {
    const app = await openApp(page, url);
    await app.row("data").focus();
    await page.keyboard.press("Delete");
    await page.locator("dialog[open]").getByRole("button", { name: "Delete" }).click();
    await app.row("data/seeds.json").waitFor({ state: "detached" });
    await page.getByRole("button", { name: /^Undo delete in data/ }).click();
    await app.says("Undid delete in data.");
    await app.row("data/seeds.json").waitFor();
    await page.getByRole("button", { name: /everything is saved/ }).waitFor();
    await app.row("data").focus();
    await page.keyboard.press("F2");
    await page.getByLabel("New path").fill("facts");
    await page.keyboard.press("Enter");
    await app.row("facts/seeds.json").waitFor();
    await page.getByRole("button", { name: /^Undo rename in data/ }).click();
    await app.row("data/seeds.json").waitFor();
    await page.getByRole("button", { name: /everything is saved/ }).waitFor();
    await page.waitForTimeout(300);
    await page.reload();
    await app.row("data/seeds.json").waitFor();
    assert.equal(await app.toast.count(), 0);
  },

  async "two clicks on Accept all are one step, and the message counts its changes"({ page, url }) {
    const app = await openApp(page, url);
    await app.editor.click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("Mine ");
    await page.getByRole("button", { name: /^Undo typing/ }).waitFor();
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename loanDays to seasonDays");
    await app.showReview();
    await page.getByRole("button", { name: "Accept all", exact: true }).dblclick();
    await page.getByText("Nothing to review.").waitFor();
    await page.waitForTimeout(300);
    await app.says("Accepted 4 changes. None left.");
    await page.getByRole("button", { name: "Undo accept in all files" }).first().click();
    await app.says("Undid accept in all files.");
    await page.getByRole("button", { name: /^Undo typing/ }).waitFor();
    assert.match(await app.changes(), /4 changes in 3 files/);
  },

  async "after Stop nothing says that the user took the file back"({ page, url }) {
    const held = heldReply("late");
    const provider = await startProvider("sk-test", [...REPLIES, held.promise]);
    try {
      const app = await openApp(page, url);
      await app.chooseModel({ apiKey: "sk-test", baseUrl: provider.url });
      await app.ask("shorten the title");
      await app.hunks(1);
      await page.getByRole("button", { name: "Stop" }).click();
      await app.finished();
      assert.deepEqual(await app.leaseRecord.allTextContents(), ["The assistant worked on README.md."]);
    } finally {
      held.release();
      await provider.close();
    }
  },

  async "a reload keeps the responses to tasks after a return, and sends no request"({ page, url }) {
    const provider = await startProvider("sk-test", [...REPLIES, "First done.", "Second done.", "Third done."]);
    try {
      const app = await openApp(page, url);
      await app.chooseModel({ apiKey: "sk-test", baseUrl: provider.url });
      await app.askAndWait("shorten the title");
      await page.getByRole("button", { name: "Edit and send again: shorten the title" }).click();
      await page.locator("dialog[open]").getByRole("button", { name: "Go back" }).click();
      await app.says("The files are as before the task");
      await app.input.fill("");
      await app.askAndWait("second");
      await page.getByRole("button", { name: /^Undo going back/ }).click();
      await app.hunks(1);
      await app.askAndWait("third");
      await page.waitForTimeout(300);
      const requests = provider.requests.length;
      page.on("dialog", (dialog) => dialog.accept());
      await page.reload();
      await app.hunks(1);
      await app.transcript.getByText("Second done.").waitFor();
      await app.transcript.getByText("Third done.").waitFor();
      assert.equal(provider.requests.length, requests, "the reload sent requests");
      await app.chooseModel({ apiKey: "sk-test", baseUrl: provider.url });
      await page.getByRole("button", { name: /^Redo going back/ }).click();
      await app.hunks(0);
      await app.askAndWait("fourth");
      assert.equal(provider.requests.length, requests + 1);
    } finally {
      await provider.close();
    }
  },

  async "a folder from which the assistant moved a file is deleted without it, as one step"({ page, url }) {
    const moved = { from: "docs/varieties.md", to: "list.md" };
    const provider = await startProvider("sk-test", [
      { name: "Read", input: { file_path: "docs/varieties.md" } },
      { name: "Move", input: moved },
    ]);
    try {
      const app = await openApp(page, url);
      await app.chooseModel({ apiKey: "sk-test", baseUrl: provider.url });
      await app.askAndWait("move the list");
      await app.row("list.md").waitFor();
      await app.openFile("README.md");
      await app.editor.click();
      await page.keyboard.press("Control+Home");
      await page.keyboard.type("Mine ");
      await page.getByRole("button", { name: /^Undo typing/ }).waitFor();
      await app.row("docs").focus();
      await page.keyboard.press("Delete");
      await page.locator("dialog[open]").getByRole("button", { name: "Delete" }).click();
      await app.row("docs/handbook.md").waitFor({ state: "detached" });
      await page.getByRole("button", { name: /^Undo delete in docs/ }).click();
      await app.says("Undid delete in docs.");
      await app.row("docs/handbook.md").waitFor();
      await app.openFile("README.md");
      await page.locator(".cm-line", { hasText: "Mine # Seed library" }).waitFor();
      await page.getByRole("button", { name: /^Undo typing/ }).waitFor();
    } finally {
      await provider.close();
    }
  },

  async "a message that was sent while the model answered has its place after a reload"({ page, url }) {
    const held = heldReply({ name: "Read", input: { file_path: "docs/handbook.md" } });
    const provider = await startProvider("sk-test", [REPLIES[0], held.promise, "Read it."]);
    try {
      const app = await openApp(page, url);
      await app.chooseModel({ apiKey: "sk-test", baseUrl: provider.url });
      await app.ask("read the title");
      while (provider.requests.length < 2) await page.waitForTimeout(20);
      await app.input.fill("and tell it");
      await app.input.press("Enter");
      await page.waitForTimeout(200);
      held.release();
      await app.transcript.getByText("Read it.").waitFor();
      await app.finished();
      const kinds = () =>
        app.transcript
          .locator(".entry:not(.lease)")
          .evaluateAll((all) => all.map(({ className }) => className.split(" ")[1]));
      const before = await kinds();
      assert.deepEqual(before, ["user", "call", "call", "user", "assistant", "end"]);
      await page.waitForTimeout(300);
      await page.reload();
      await app.transcript.getByText("Read it.").waitFor();
      assert.deepEqual(await kinds(), before);
    } finally {
      await provider.close();
    }
  },

  async "a save that the disk refuses half-way says which files are saved"({ page, url }) {
    const app = await openApp(page, url);
    const saved = await app.openFolder({ "a.txt": "one foo\n", "b.txt": "two foo\n", "c.txt": "three foo\n" });
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename foo to bar");
    await app.showReview();
    await page.getByRole("button", { name: "Accept all", exact: true }).click();
    await app.says("Accepted 3 changes.");
    await page.evaluate(() => {
      const write = FileSystemFileHandle.prototype.createWritable;
      FileSystemFileHandle.prototype.createWritable = function () {
        if (this.name !== "b.txt") return write.apply(this);
        FileSystemFileHandle.prototype.createWritable = write;
        return Promise.reject(new DOMException("The disk is full.", "QuotaExceededError"));
      };
    });
    await page.keyboard.press("Control+s");
    await app.says("Saved a.txt. b.txt could not be saved: The disk is full. Files after it were not tried.");
    assert.equal(await saved("a.txt"), "one bar\n");
    await page.getByRole("button", { name: "Save all 2" }).waitFor();
    await page.keyboard.press("Control+s");
    await app.says("Saved 2 files.");
    assert.equal(await saved("c.txt"), "three bar\n");
  },

  async "a file that was removed outside is said to be removed when it is saved"({ page, url }) {
    const app = await openApp(page, url);
    const saved = await app.openFolder({ "a.txt": "one\n" });
    await app.openFile("a.txt");
    await app.editor.click();
    await page.keyboard.type("X");
    await page.getByRole("button", { name: /^Undo typing/ }).waitFor();
    await page.evaluate(async () => {
      const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("project");
      await folder.removeEntry("a.txt");
    });
    await page.keyboard.press("Control+s");
    const dialog = page.getByRole("dialog", { name: "Save the removed file again?" });
    await dialog.getByRole("button", { name: "Save again" }).click();
    await app.says("Saved a.txt.");
    assert.match(await saved("a.txt"), /X/);
  },
};
