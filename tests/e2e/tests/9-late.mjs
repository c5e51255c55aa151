// The parts of the page that are loaded with their first use.
import assert from "node:assert/strict";
import { App, openApp } from "../app.mjs";

/** Opens a text without a language. */
async function openText(page, url, text) {
  await page.goto(url);
  await page
    .getByLabel("Files to open")
    .first()
    .setInputFiles([{ name: "a.txt", mimeType: "text/plain", buffer: Buffer.from(text) }]);
  const app = new App(page);
  await app.editor.click();
  await page.keyboard.press("Control+End");
  return app;
}

/** Delays the scripts of the page whose path fits. */
function delay(page, path) {
  return page.context().route(path, async (route) => {
    await new Promise((done) => setTimeout(done, 400));
    await route.continue();
  });
}

export const tests = {
  async "a part of the page that cannot be loaded says so, and is there at the next attempt"({
    page,
    url,
    expectErrors,
  }) {
    expectErrors(/ERR_FAILED/);
    const parts = /assets\/(review-pane|dialogs)[^/]*\.js/;
    await page.context().route(parts, (route) => route.abort());
    const app = await openApp(page, url);
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    await app.says("could not be loaded");
    await app.askAndWait("rename loanDays to seasonDays");
    await app.showReview();
    const note = page.getByRole("tabpanel").getByText("could not be loaded");
    await note.waitFor();
    await page.context().unroute(parts);
    await page.getByRole("button", { name: "Try again" }).click();
    await app.cards.first().waitFor();
    assert.equal(await note.count(), 0);
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    await page.getByRole("dialog").waitFor();
  },

  async "an editor that cannot be loaded says so, and shows the next file"({ page, url, expectErrors }) {
    expectErrors(/ERR_FAILED/);
    const part = /assets\/editor[^/]*\.js/;
    await page.context().route(part, (route) => route.abort());
    await page.goto(url);
    await page.getByRole("button", { name: /^Try the sample/ }).click();
    await page.getByText("The editor could not be loaded.").first().waitFor();
    await page.context().unroute(part);
    await page.locator(".tree-row.file:not(.selected)").first().click();
    await page.locator(".cm-content").waitFor();
  },

  async "keys that are typed before a dialog is loaded go into it, and not into the text"({ page, url }) {
    await delay(page, /assets\/dialogs[^/]*\.js/);
    const app = await openText(page, url, "one\n");
    await page.keyboard.press("Control+p");
    await page.keyboard.press("Escape");
    await page.waitForTimeout(600);
    assert.equal(await page.getByRole("dialog").count(), 0, "Escape did not cancel the dialog");
    await page.reload();
    await app.editor.click();
    await page.keyboard.press("Control+End");
    await page.keyboard.press("Control+p");
    await page.keyboard.type("a.t");
    await page.getByRole("dialog").waitFor();
    await page.waitForFunction(() => document.activeElement?.value === "a.t");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.equal(await app.text(), "one\n");
    assert.equal(await app.editor.evaluate((node) => node === document.activeElement), true);
  },

  async "a click into a text before a dialog is loaded cancels the dialog, and no key is lost"({ page, url }) {
    await delay(page, /assets\/dialogs[^/]*\.js/);
    const app = await openText(page, url, "one\n");
    await page
      .getByRole("button", { name: /^Model:/ })
      .first()
      .focus();
    await page.keyboard.press("Enter");
    await app.input.click();
    await page.keyboard.type("a b");
    await page.waitForTimeout(600);
    assert.equal(await app.input.inputValue(), "a b");
    assert.equal(await page.getByRole("dialog").count(), 0, "the dialog was not cancelled");
  },

  async "keys that are typed before the search is loaded go into it, and not into the text"({ page, url }) {
    const app = await openText(page, url, "one two one\n");
    await delay(page, /assets\/[^/]*\.js/);
    await page.keyboard.press("Control+f");
    await page.keyboard.type("two");
    const field = page.getByRole("textbox", { name: "Find" });
    await field.waitFor();
    await page.waitForFunction(() => document.activeElement?.value === "two");
    await page.keyboard.press("Enter");
    await page.locator(".cm-searchMatch-selected", { hasText: "two" }).waitFor();
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
    assert.equal(await app.text(), "one two one\n");
  },

  async "a plain text keeps its indentation, and marks brackets and equal words"({ page, url }) {
    const app = await openText(page, url, "  one (two) one");
    await page.locator(".cm-matchingBracket").first().waitFor({ state: "detached" });
    await page.keyboard.press("Enter");
    await page.keyboard.type("[x]");
    await page.locator(".cm-matchingBracket").first().waitFor();
    assert.equal(await app.text(), "  one (two) one\n  [x]");
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("Control+ArrowRight");
    await page.keyboard.press("Control+Shift+ArrowLeft");
    await page.locator(".cm-selectionMatch").first().waitFor();
  },
};
