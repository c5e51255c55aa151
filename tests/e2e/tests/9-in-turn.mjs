// Decisions take their turn: a button waits for the keys before it, and a decision is about the text as it was typed. Texts
// that are not sent yet are not lost.
import assert from "node:assert/strict";
import { openApp } from "../app.mjs";

const RENAME = "rename loanDays to seasonDays";
const textFile = (name, text) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });

/** Types in a change and rejects it at once. Cancelling the question leaves both, also after the keys of undo. */
async function rejectTyped(page, url, reject) {
  const app = await openApp(page, url);
  await app.chooseModel({ pace: "instant" });
  await app.askAndWait('replace "packets" with "bags"');
  await app.openFile("src/catalog.ts");
  await app.bars.first().waitFor();
  await app.editor.focus();
  await page.keyboard.press("Alt+j");
  await page.keyboard.press("End");
  await page.keyboard.type(" // MINE");
  await reject();
  const dialog = page.getByRole("dialog", { name: "You edited inside this change" });
  await dialog.waitFor();
  // These keys are not for the text behind a dialog.
  await page.keyboard.press("Control+z");
  await page.waitForTimeout(100);
  assert.match(await app.text(), /\/\/ MINE/);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.match(await app.text(), /bags.*\/\/ MINE/);
}

export const tests = {
  async "Accept all waits for the keys before it, and says what it did"({ page, url }) {
    const app = await openApp(page, url);
    const lines = Array.from({ length: 60 }, (_, at) => `foo ${at}\n\n\n\n\n\n`);
    await page.getByLabel("Files to open").setInputFiles([textFile("many.txt", lines.join(""))]);
    await app.row("many.txt").waitFor();
    await app.chooseModel({ pace: "instant" });
    await app.ask('replace "foo" with "bar"');
    await app.finished(30_000);
    await page.getByRole("tab", { name: /^Review changes/ }).click();
    await page.waitForFunction(() => document.activeElement?.matches(".hunk-card") === true);
    await page.evaluate(() => {
      for (let at = 0; at < 5; at++) {
        const event = new KeyboardEvent("keydown", { key: "n", bubbles: true, cancelable: true });
        document.activeElement.dispatchEvent(event);
      }
      const buttons = [...document.querySelectorAll(".review button")];
      buttons.find((button) => button.textContent === "Accept all").click();
    });
    await app.says("Accepted 55 changes. None left.");
    await app.openFile("many.txt");
    const text = await app.text();
    assert.deepEqual([text.match(/^foo/gm)?.length, text.slice(0, 5)], [5, "foo 0"], "the first five were rejected");
  },

  async "Alt+N right after typing in a change asks what becomes of the typed text"({ page, url }) {
    await rejectTyped(page, url, () => page.keyboard.press("Alt+n"));
  },

  async "Reject right after typing in a change asks what becomes of the typed text"({ page, url }) {
    await rejectTyped(page, url, () => page.getByRole("button", { name: /^Reject change 1 of/ }).click());
  },

  async "a second key on the same change does nothing to its decision"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait(RENAME);
    await app.openFile("README.md");
    await app.bars.first().waitFor();
    const bar = page.locator(".hunk-bar").first();
    await bar.evaluate((node) => {
      node.querySelector(".accept").click();
      node.querySelector(".reject").click();
    });
    await app.says("Accepted 1 change. 3 left to review.");
    await page.waitForTimeout(200);
    assert.match(await app.text(), /seasonDays/);
    assert.equal(await page.locator(".toast.error").count(), 0);
  },

  async "an example does not replace the message, and a reload keeps it and the queue"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "slow" });
    await app.input.fill("my own words");
    await page.getByRole("list", { name: "Examples" }).getByRole("button").first().click();
    assert.match(await app.input.inputValue(), /^my own words\n./);
    await app.input.fill("");
    await app.ask(RENAME);
    await app.input.fill("do this later");
    await page.getByRole("button", { name: /^Queue/ }).click();
    await app.input.fill("half a mess");
    page.on("dialog", (dialog) => void dialog.accept());
    await page.reload();
    await page.locator(".tree-row").first().waitFor();
    await page.waitForFunction(() => document.querySelector(".composer textarea")?.value === "half a mess");
    await page.getByText("do this later").waitFor();
  },
};
