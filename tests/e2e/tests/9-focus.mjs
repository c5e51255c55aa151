// Keys and the focus: what a key does depends on where the focus is, and the focus is never lost.
import assert from "node:assert/strict";
import { openApp } from "../app.mjs";

const PACKETS = 'replace "packets" with "bags"';

export const tests = {
  async "Ctrl+Z on the button of a change undoes the decision and leaves typed text alone"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait(PACKETS);
    await app.openFile("src/catalog.ts");
    await app.bars.first().waitFor();
    const undone = page.getByRole("button", { name: /^Accept change 1 of/ });
    const name = await undone.getAttribute("aria-label");
    await app.editor.click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("// my comment here");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: /^Undo typing/ }).waitFor();
    await undone.click();
    await page.waitForFunction((old) => {
      const button = document.activeElement;
      return button?.classList.contains("hunk-button") && button.ariaLabel !== old;
    }, name);
    const before = await app.text();
    assert.match(before, /^\/\/ my comment here\n/);
    await page.keyboard.press("Control+z");
    await app.says("Undid accept in catalog.ts.");
    await page.getByRole("button", { name }).waitFor();
    await page.waitForTimeout(600);
    assert.match(await app.text(), /^\/\/ my comment here\n/);
    await page.keyboard.press("Control+Shift+z");
    await page.getByRole("button", { name }).waitFor({ state: "detached" });
    assert.equal(await app.text(), before);
  },

  async "the browser's own undo of the text is the undo of the page"({ page, url }) {
    const app = await openApp(page, url);
    await app.editor.click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("mine ");
    await page.getByRole("button", { name: /^Undo typing/ }).waitFor();
    // As from the browser's Edit menu or a phone's keyboard.
    const session = await page.context().newCDPSession(page);
    await session.send("Input.dispatchKeyEvent", { type: "rawKeyDown", key: "F13", commands: ["undo"] });
    await app.says("Undid typing in README.md.");
    await page.locator(".cm-line", { hasText: /^# Seed library/ }).waitFor();
    await page.getByRole("button", { name: /^Redo typing/ }).waitFor();
  },

  async "a decision right after typing inside a change is about the typed text"({ page, url }) {
    const app = await openApp(page, url);
    const text = "import os\n\ndef foo():\n    return 1\n\nprint(foo())\n";
    await app.openFolder({ "a.py": text });
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename foo to bar");
    await app.hunks(2);
    const asked = page.getByRole("dialog", { name: "You edited inside this change" });
    for (const [line, word] of [
      ["def bar", "  # note"],
      ["print(bar", "  # end"],
    ]) {
      await app.editor.locator(".cm-line", { hasText: line }).click();
      await page.keyboard.press("End");
      await page.keyboard.type(word);
      await page.keyboard.press("Alt+n");
      await asked.getByText(word.trim()).first().waitFor();
      await asked.getByRole("button", { name: "Cancel" }).click();
      await asked.waitFor({ state: "detached" });
      assert.match(await app.changes(), /2 changes|2/);
    }
    await page.keyboard.press("Alt+n");
    await asked.getByLabel("Put my edit on the old line").check();
    await asked.getByRole("button", { name: "Reject" }).click();
    await app.hunks(1);
    assert.equal(await app.text(), text.replace("foo():", "bar():  # note").replace("foo())", "foo())  # end"));
  },

  async "undo right after typing undoes the typing"({ page, url }) {
    const app = await openApp(page, url);
    await app.editor.click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("mine ");
    await page.keyboard.press("Control+z");
    await app.says("Undid typing in README.md.");
    await page.locator(".cm-line", { hasText: /^# Seed library/ }).waitFor();
  },
};
