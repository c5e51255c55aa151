// Decisions on hunks: one by one, by keyboard, undone, and with the user's edits in between.
import assert from "node:assert/strict";
import { openApp } from "../app.mjs";

const FILES = {
  "notes.md": "# Notes\r\n\r\nfoo is here\r\nand\r\nthere\r\nis\r\nmore\r\nof\r\nfoo\r\n",
  "src/a.txt": "x foo\ny\nz\nfood\nw\nv\nu foo",
};

/** Opens a folder and renames `foo` in it. All changes are pending. */
async function renamed(page, url) {
  const app = await openApp(page, url);
  const saved = await app.openFolder(FILES);
  await app.chooseModel({ pace: "instant" });
  await app.askAndWait("rename foo to bar");
  await app.openFile("notes.md");
  await app.hunks(2);
  return { app, saved };
}

export const tests = {
  async "hunks are decided one by one, and only accepted text is saved, with its line endings"({ page, url }) {
    const { app, saved } = await renamed(page, url);
    await page.getByRole("button", { name: "Accept change 1 of 2" }).click();
    await app.says("Accepted 1 change. 3 left to review.");
    await app.hunks(1);
    await page.getByRole("button", { name: /^Save all 1 changed file/ }).click();
    await app.says("Saved notes.md. 3 changes still to review are not saved.");
    assert.equal(await saved("notes.md"), FILES["notes.md"].replace("foo is", "bar is"));

    await page.getByRole("button", { name: "Reject change 1 of 1" }).click();
    await app.hunks(0);
    assert.match(await app.text(), /bar is here[^]*\nfoo\n$/);
    await app.openFile("src/a.txt");
    await page.getByRole("button", { name: "Accept file" }).click();
    await app.says("None left.");
    await page.keyboard.press("Control+s");
    await app.says("Saved a.txt.");
    assert.equal(await saved("src/a.txt"), "x bar\ny\nz\nfood\nw\nv\nu bar");
    assert.equal(await saved("notes.md"), FILES["notes.md"].replace("foo is", "bar is"));
  },

  async "the review lists all files and decides with y, n and u"({ page, url }) {
    const { app } = await renamed(page, url);
    await app.showReview();
    assert.equal(await app.cards.count(), 4);
    await page.getByText("4 changes in 2 files").first().waitFor();
    // The focus stays in the list: it moves to the card that takes the place of the last one.
    const cardsWithFocus = (wanted) =>
      page.waitForFunction((count) => {
        const cards = [...document.querySelectorAll(".hunk-card")];
        return cards.length === count && cards.includes(document.activeElement);
      }, wanted);
    await app.cards.first().focus();
    await page.keyboard.press("y");
    await cardsWithFocus(3);
    await page.keyboard.press("j");
    await page.keyboard.press("n");
    await cardsWithFocus(2);
    await page.keyboard.press("u");
    await page.waitForFunction(() => document.querySelectorAll(".hunk-card").length === 3);
    await page.getByRole("button", { name: "Reject file src/a.txt" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".hunk-card").length === 1);
    await page.getByRole("button", { name: "Accept all", exact: true }).click();
    await page.getByText("Nothing to review.").waitFor();
  },

  async "the keyboard alone reaches the buttons, keeps its place after each, and continues in the next file"({
    page,
    url,
  }) {
    const { app, saved } = await renamed(page, url);
    const focused = (name) => page.waitForFunction((label) => document.activeElement?.ariaLabel === label, name);
    await app.editor.focus();
    await page.keyboard.press("Alt+j");
    await page.getByText("Change 1 of 2").first().waitFor();
    // From the text, Tab moves to the buttons of the hunks.
    await page.keyboard.press("Tab");
    await focused("Reject change 1 of 2");
    await page.keyboard.press("Tab");
    await focused("Accept change 1 of 2");
    await page.keyboard.press("Enter");
    await focused("Accept change 1 of 1");
    await page.keyboard.press("Enter");
    await focused("Text of notes.md");
    await page.keyboard.press("Control+s");
    await app.says("Saved notes.md");
    assert.equal(await saved("notes.md"), FILES["notes.md"].replaceAll("foo", "bar"));

    await page.keyboard.press("Alt+j");
    await page.locator(".tree-row.selected").and(app.row("src/a.txt")).waitFor();
    await app.hunks(2);
    await focused("Text of src/a.txt");
    await page.keyboard.press("Alt+n");
    await app.hunks(1);
    // The cursor is at the next hunk.
    await page.getByText("Change 1 of 1").first().waitFor();
    await page.keyboard.press("Alt+y");
    await app.hunks(0);
    await page.keyboard.press("Control+s");
    await app.says("Saved a.txt");
    assert.equal(await saved("src/a.txt"), "x foo\ny\nz\nfood\nw\nv\nu bar");
  },

  async "rejecting a hunk keeps the line the user edited inside it"({ page, url }) {
    const { app, saved } = await renamed(page, url);
    await app.editor.locator(".cm-line", { hasText: "bar is here" }).click();
    await page.keyboard.press("End");
    await page.keyboard.type(", mine");
    await page.getByText("you edited this").first().waitFor();
    await page.getByRole("button", { name: "Reject change 1 of 2" }).click();
    const dialog = page.getByRole("dialog", { name: "You edited inside this change" });
    await dialog.waitFor();
    assert.deepEqual(await dialog.locator("code").allTextContents(), [
      "bar is here, mine",
      "foo is here, mine",
      "foo is here",
    ]);
    await dialog.getByRole("button", { name: "Reject" }).click();
    await app.hunks(1);
    assert.match(await app.text(), /foo is here, mine/);
    await page.keyboard.press("Control+s");
    await app.says("Saved notes.md");
    assert.equal(await saved("notes.md"), FILES["notes.md"].replace("foo is here", "foo is here, mine"));
  },

  async "undo takes back the last decision, then the user's own typing, and never the assistant's edit"({ page, url }) {
    const { app } = await renamed(page, url);
    await app.editor.click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("Mine ");
    await page.getByRole("button", { name: /^Undo typing in notes.md/ }).waitFor();
    await page.getByRole("button", { name: "Accept change 1 of 2" }).click();
    await app.hunks(1);
    await page.getByRole("button", { name: "Undo accept in notes.md" }).click();
    await app.hunks(2);
    assert.match(await app.text(), /^Mine # Notes/);
    await app.editor.focus();
    await page.keyboard.press("Control+z");
    await page.waitForFunction(() => !document.querySelector(".cm-content").textContent.includes("Mine"));
    await app.hunks(2);
    await page.keyboard.press("Control+z");
    assert.match(await app.text(), /bar is here/);
    await page.keyboard.press("Control+Shift+Z");
    await page.waitForFunction(() => document.querySelector(".cm-content").textContent.includes("Mine"));
  },
};
