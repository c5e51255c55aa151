// Going back to before a task: the user's lines with words of the assistant, without the user's edits, and in part.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { menu, openApp } from "../app.mjs";
import { startProvider } from "../provider.mjs";
import { joinServer, withServer } from "../service.mjs";

const FILES = { "a.txt": "the loanDays are 14\nmiddle\nend\n", "b.txt": "loanDays\n" };

/** Replaces the text of a line as a user does, and waits until the engine has it. */
async function retype(page, app, old, text) {
  await app.editor.locator(".cm-line", { hasText: old }).click();
  await page.keyboard.press("Home");
  await page.keyboard.press("Shift+End");
  await page.keyboard.insertText(text);
  await page.waitForTimeout(700);
}

/** Opens a folder in which a task has renamed a word in two files. */
async function withTask(page, url, test, files = FILES) {
  const app = await openApp(page, url);
  await app.openFolder(files);
  await app.chooseModel({ pace: "instant" });
  await app.askAndWait("rename loanDays to seasonDays");
  await app.openFile("a.txt");
  await test(app);
}

async function openGoBack(page) {
  await menu(page, "Checkpoints…");
  await page
    .getByRole("dialog", { name: "Checkpoints" })
    .getByRole("button", { name: /^Go back/ })
    .click();
  const dialog = page.getByRole("dialog", { name: "Go back to before this task" });
  await dialog.getByRole("radio", { name: /Only the files/ }).check();
  await dialog.getByText(/This file changes|These files change/).waitFor();
  return dialog;
}

export const tests = {
  async "going back asks about a line that is half the assistant's and half the user's, and names its file"({
    page,
    url,
  }) {
    const outcomes = [
      ["Keep my line with the assistant’s words", "the seasonDays are 21"],
      ["Put my edit on the old line", "the loanDays are 21"],
      ["Drop both: the old line returns", "the loanDays are 14"],
    ];
    await withTask(page, url, async (app) => {
      await retype(page, app, "seasonDays are 14", "the seasonDays are 21");
      for (const [label, line] of outcomes) {
        const dialog = await openGoBack(page);
        await dialog.getByText("These files change: a.txt, b.txt.").waitFor();
        await dialog.getByText("your edit is on words of the assistant, line 1: you choose what stays").waitFor();
        await dialog.getByRole("button", { name: "Go back", exact: true }).click();
        const question = page.getByRole("dialog", { name: "You edited inside this change" });
        await question.getByText("a.txt, line 1").waitFor();
        assert.deepEqual(
          await question.locator("code").allTextContents(),
          outcomes.map((each) => each[1]),
        );
        await question.getByLabel(label).check();
        await question.getByRole("button", { name: "Go back" }).click();
        await app.says("The files are as before the task");
        assert.equal(await app.text(), `${line}\nmiddle\nend\n`);
        assert.match(await app.changes(), /Nothing to review/);
        if (label.startsWith("Drop")) break;
        await page.getByRole("button", { name: "Undo going back to before a task" }).first().click();
        await app.editor.getByText("the seasonDays are 21").waitFor();
      }
      await page.waitForTimeout(300);
      page.once("dialog", (each) => each.accept());
      await page.reload();
      await app.row("b.txt").waitFor();
      await app.editor.getByText("the loanDays are 14").waitFor();
    });
  },

  async "a question about a line before going back can be cancelled, and then nothing has changed"({ page, url }) {
    await withTask(page, url, async (app) => {
      await retype(page, app, "seasonDays are 14", "the seasonDays are 21");
      const dialog = await openGoBack(page);
      await dialog.getByRole("button", { name: "Go back", exact: true }).click();
      const question = page.getByRole("dialog", { name: "You edited inside this change" });
      await question.getByRole("button", { name: "Cancel" }).click();
      assert.equal(await app.text(), "the seasonDays are 21\nmiddle\nend\n");
      assert.match(await app.changes(), /2 changes in 2 files/);
    });
  },

  async "a line of the user among lines of the assistant stays without them"({ page, url }) {
    const edit = { name: "Edit", input: { file_path: "a.txt", old_string: "end", new_string: "one\ntwo\nend" } };
    const provider = await startProvider("right", [{ name: "Read", input: { file_path: "a.txt" } }, edit]);
    try {
      const app = await openApp(page, url);
      await app.openFolder(FILES);
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
      await app.askAndWait("count");
      await app.openFile("a.txt");
      await app.editor.locator(".cm-line", { hasText: "one" }).click();
      await page.keyboard.press("End");
      await page.keyboard.insertText("\nmine");
      await page.waitForTimeout(700);
      const dialog = await openGoBack(page);
      await dialog.getByRole("button", { name: "Go back", exact: true }).click();
      await app.says("The files are as before the task");
      assert.equal(await app.text(), "the loanDays are 14\nmiddle\nmine\nend\n");
    } finally {
      await provider.close();
    }
  },

  async "going back without the user's edits says which of them are lost, and is undone"({ page, url }) {
    await withTask(page, url, async (app) => {
      await retype(page, app, "middle", "middle of mine");
      const dialog = await openGoBack(page);
      await dialog.getByRole("radio", { name: /They go, too/ }).check();
      const lost = dialog.getByRole("list", { name: "Your edits in a.txt that are lost" });
      assert.deepEqual(await lost.getByRole("listitem").allTextContents(), ["line 2: middle of mine"]);
      await dialog.getByText("Your edits that are listed are lost; Undo brings them back.").waitFor();
      await dialog.getByRole("button", { name: "Go back", exact: true }).click();
      await app.says("The files are as before the task, without your edits since then.");
      assert.equal(await app.text(), FILES["a.txt"]);
      assert.match(await app.changes(), /Nothing to review/);
      await page.waitForTimeout(300);
      page.once("dialog", (each) => each.accept());
      await page.reload();
      await app.row("b.txt").waitFor();
      await app.editor.getByText("the loanDays are 14").waitFor();
      assert.equal(await app.text(), FILES["a.txt"]);
      await page.getByRole("button", { name: "Undo going back to before a task" }).first().click();
      await app.editor.getByText("middle of mine").waitFor();
      assert.equal(await app.text(), "the seasonDays are 14\nmiddle of mine\nend\n");
    });
  },

  async "only the chosen files go back, as one step"({ page, url }) {
    await withTask(page, url, async (app) => {
      const dialog = await openGoBack(page);
      await dialog.getByRole("checkbox", { name: "a.txt" }).uncheck();
      await dialog.getByText("This file changes: b.txt.").waitFor();
      await dialog.getByRole("button", { name: "Go back", exact: true }).click();
      await app.says("b.txt is as before the task, with your own edits.");
      assert.match(await app.changes(), /1 change in 1 file/);
      assert.equal(await app.text(), FILES["a.txt"].replace("loanDays", "seasonDays"));
      await app.openFile("b.txt");
      assert.equal(await app.text(), FILES["b.txt"]);
      await page.getByRole("button", { name: "Undo the earlier text of b.txt" }).first().click();
      await page.waitForFunction(() =>
        /2 changes in 2 files/.test(document.querySelector(".review-button").textContent),
      );
      await page.waitForTimeout(300);
      await page.getByRole("button", { name: "Redo the earlier text of b.txt" }).click();
      await page.waitForFunction(() => /1 change in 1 file/.test(document.querySelector(".review-button").textContent));
      page.once("dialog", (each) => each.accept());
      await page.reload();
      await app.row("b.txt").waitFor();
      await page.waitForFunction(() => /1 change in 1 file/.test(document.querySelector(".review-button").textContent));
    });
  },

  async "only the chosen parts of a file go back"({ page, url }) {
    const text = `loanDays\n${"line\n".repeat(20)}loanDays\n`;
    const parts = async (app) => {
      await menu(page, "Checkpoints…");
      const dialog = page.getByRole("dialog", { name: "Checkpoints" });
      await dialog.getByRole("checkbox", { name: /^Put back: line 22/ }).check();
      await dialog.getByRole("button", { name: "Put the chosen parts back" }).click();
      await app.says("1 part of a.txt is as before the task.");
      await dialog.getByRole("button", { name: "Close" }).click();
      assert.equal(await app.text(), text.replace("loanDays", "seasonDays"));
      await page.getByRole("button", { name: "Undo the earlier text of a.txt" }).first().click();
      await app.hunks(2);
    };
    await withTask(page, url, parts, { "a.txt": text, "b.txt": "x\n" });
  },

  async "three texts of a file stand in columns with aligned rows, and below each other on a phone"({ page, url }) {
    await withTask(page, url, async (app) => {
      await retype(page, app, "middle", "middle of mine");
      await menu(page, "Checkpoints…");
      const dialog = page.getByRole("dialog", { name: "Checkpoints" });
      await dialog.getByLabel("Compare").selectOption("Before · by the assistant · now");
      const view = dialog.getByRole("group", { name: "Three texts of a.txt" });
      const column = async (name) =>
        (await view.getByRole("region", { name }).locator("code").allTextContents()).join("\n");
      assert.equal(await column("Before the task"), "the loanDays are 14\nmiddle\nend");
      assert.equal(await column("By the assistant"), "the seasonDays are 14\nmiddle\nend");
      assert.equal(await column("Now"), "the seasonDays are 14\nmiddle of mine\nend");
      assert.equal(await view.locator(".diff-line.added code").textContent(), "the seasonDays are 14");
      assert.equal(await view.locator(".diff-line.mine code").textContent(), "middle of mine");
      const tops = (text) =>
        view
          .locator("code", { hasText: text })
          .evaluateAll((all) => all.map((each) => each.getBoundingClientRect().top));
      assert.equal(new Set(await tops("end")).size, 1, "the rows are aligned");
      await page.setViewportSize({ width: 390, height: 844 });
      assert.equal(new Set(await tops("end")).size, 3, "the columns are below each other");
      const wide = await dialog.evaluate((node) => node.scrollWidth - node.clientWidth);
      assert.ok(wide <= 0, "nothing is cut off");
    });
  },

  async "a server goes back without the user's edits, or in chosen files, and undoes it"({ page, url }) {
    const files = { "other.md": "The colour of grass.\n" };
    await withServer({ origin: new URL(url).origin, files }, async (server) => {
      const disk = async (name) => readFile(join(server.folder, name), "utf8");
      const diskHas = async (name, text) => {
        for (let n = 0; n < 100 && !text.test(await disk(name)); n += 1) await page.waitForTimeout(50);
        assert.match(await disk(name), text);
      };
      const app = await joinServer(page, url, server.url);
      await app.askAndWait("rename colour to color");
      await app.showReview();
      await page.getByRole("button", { name: "Accept all", exact: true }).click();
      await app.says("Accepted 2 changes");
      await app.openFile("notes.md");
      await page.locator(".cm-line", { hasText: "## End" }).click();
      await page.keyboard.press("Control+End");
      await page.keyboard.type("Mine.");
      await diskHas("notes.md", /The color of[^]*Mine\.$/);

      const dialog = await openGoBack(page);
      await dialog.getByRole("checkbox", { name: "notes.md" }).uncheck();
      await dialog.getByText("This file changes: other.md.").waitFor();
      await dialog.getByRole("button", { name: "Go back", exact: true }).click();
      await app.says("other.md is as before the task, with your own edits.");
      await diskHas("other.md", /The colour of/);
      assert.match(await disk("notes.md"), /The color of[^]*Mine\.$/);
      await app.toast.getByRole("button", { name: "Undo" }).click();
      await diskHas("other.md", /The color of/);

      const again = await openGoBack(page);
      await again.getByRole("radio", { name: /They go, too/ }).check();
      await again.getByText("1 edit of yours in it is lost").waitFor();
      await again.getByRole("button", { name: "Go back", exact: true }).click();
      await app.says("The files are as before the task, without your edits since then.");
      await diskHas("notes.md", /The colour of[^]*End\n$/);
      await diskHas("other.md", /The colour of/);
      await app.toast.getByRole("button", { name: "Undo" }).click();
      await diskHas("notes.md", /The color of[^]*Mine\.$/);
    });
  },
};
