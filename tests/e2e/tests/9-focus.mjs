// Keys and the focus: what a key does depends on where the focus is, and the focus is never lost.
import assert from "node:assert/strict";
import { openApp } from "../app.mjs";

const RENAME = "rename loanDays to seasonDays";
const PACKETS = 'replace "packets" with "bags"';

const textFile = (name, text) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });

/** Opens a file with `count` changes under review. */
async function manyChanges(page, url, count) {
  const app = await openApp(page, url);
  const text = Array.from({ length: count }, (_, at) => `foo ${at}\n\n\n\n\n\n`).join("");
  await page.getByLabel("Files to open").setInputFiles([textFile("many.txt", text)]);
  await app.row("many.txt").waitFor();
  await app.chooseModel({ pace: "instant" });
  await app.ask('replace "foo" with "bar"');
  await app.finished(30_000);
  return app;
}

/** Presses keys with Alt in the editor, without a pause between them. */
const pressAtOnce = (page, keys) =>
  page.evaluate((all) => {
    const editor = document.querySelector(".cm-content");
    for (const key of all) {
      editor.dispatchEvent(new KeyboardEvent("keydown", { key, altKey: true, bubbles: true, cancelable: true }));
    }
  }, keys);

const focusIsOn = (page, selector) =>
  page.waitForFunction((wanted) => document.activeElement?.matches(wanted) === true, selector);

export const tests = {
  async "another letter for an action works in the editor and in the review, also after a reload"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait(PACKETS);
    await app.openFile("src/catalog.ts");
    await app.bars.first().waitFor();
    const open = () => page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    await open();
    const accept = page.getByRole("button", { name: "Letter of: Accept" });
    await accept.click();
    await page.keyboard.press("Escape");
    assert.equal(await accept.textContent(), "Y", "Esc ends the choice and not the dialog");
    await accept.click();
    await page.keyboard.press("a");
    assert.equal(await accept.textContent(), "A");
    await page.locator(".keys kbd", { hasText: /^Alt\+A$/ }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Alt+r");
    const cards = page.locator(".hunk-card");
    await page.locator(".hunk-card button[title$='(A)']").first().waitFor();
    const waiting = await cards.count();
    const left = (count) => page.waitForFunction((n) => document.querySelectorAll(".hunk-card").length === n, count);
    await cards.first().focus();
    await page.keyboard.press("y");
    await page.keyboard.press("a");
    await left(waiting - 1);
    await page.keyboard.press("Alt+r");
    await app.editor.click();
    await page.keyboard.press("Alt+j");
    await page.keyboard.press("Alt+y");
    await page.keyboard.press("Alt+a");
    await page.keyboard.press("Alt+r");
    await left(waiting - 2);
    await page.reload();
    await open();
    assert.equal(await accept.textContent(), "A");
    await page.getByRole("button", { name: "Use the usual letters" }).click();
    assert.equal(await accept.textContent(), "Y");
  },

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

  async "the keys of the review work after the pointer opened it, and a key leaves the focus on the tabs"({
    page,
    url,
  }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait(PACKETS);
    const left = Number(await page.locator("#tab-review .count").textContent());
    await page.getByRole("tab", { name: /^Review changes/ }).click();
    await focusIsOn(page, ".hunk-card");
    await page.keyboard.press("y");
    await page.locator("#tab-review .count", { hasText: new RegExp(`^${left - 1}$`) }).waitFor();

    await page.locator("#tab-editor").click();
    await page.getByRole("button", { name: "Review", exact: true }).click();
    await focusIsOn(page, ".hunk-card");
    await page.keyboard.press("n");
    await page.locator("#tab-review .count", { hasText: new RegExp(`^${left - 2}$`) }).waitFor();

    await page.locator("#tab-editor").click();
    await page.locator("#tab-editor").focus();
    await page.keyboard.press("ArrowRight");
    await focusIsOn(page, "#tab-review");
  },

  async "a message at the bottom of the page does not cover the change that has the focus"({ page, url }) {
    await page.setViewportSize({ width: 1280, height: 620 });
    await manyChanges(page, url, 12);
    await page.getByRole("tab", { name: /^Review changes/ }).click();
    await focusIsOn(page, ".hunk-card");
    await page.keyboard.press("y");
    await page.locator("#tab-review .count", { hasText: /^11$/ }).waitFor();
    await page.locator(".toast").waitFor();
    const seen = [];
    for (let at = 0; at < 10; at++) {
      await page.keyboard.press("j");
      const [card, toast] = await page.evaluate(() => [
        document.activeElement.getBoundingClientRect().bottom,
        document.querySelector(".toast")?.getBoundingClientRect().top ?? null,
      ]);
      if (toast !== null) seen.push(card <= toast);
    }
    assert.ok(seen.length >= 5, `the message was there for ${seen.length} steps`);
    assert.deepEqual(
      seen.filter((free) => !free),
      [],
    );
  },

  async "a key after the undo of a decision acts on the change that came back"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait(PACKETS);
    await app.showReview();
    const name = await app.cards.first().getAttribute("aria-label");
    await app.cards.first().focus();
    await page.keyboard.press("y");
    await page.waitForFunction((old) => {
      return document.activeElement.matches(".hunk-card") && document.activeElement.ariaLabel !== old;
    }, name);
    await page.keyboard.press("u");
    await app.says(/^Undid accept/);
    await page.waitForFunction((old) => document.activeElement.ariaLabel === old, name);
    // Keys that arrive together mean the same changes.
    for (const key of ["y", "u", "n"]) await page.keyboard.press(key);
    await app.says(/^Rejected 1 change/);
    assert.equal(await page.locator(`.hunk-card[aria-label="${name}"]`).count(), 0);
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

  async "keys that are pressed faster than decisions are carried out act on one change after the other"({ page, url }) {
    const app = await manyChanges(page, url, 300);
    await page.keyboard.press("Alt+r");
    await focusIsOn(page, ".hunk-card");
    for (let at = 0; at < 10; at++) await page.keyboard.press("y");
    for (const key of ["j", "n", "k", "u"]) await page.keyboard.press(key);
    await app.says("Undid reject in many.txt.");
    assert.match(await app.changes(), /290/);
    await focusIsOn(page, ".hunk-card");
    const left = await app.cards.first().textContent();
    assert.match(left, /bar 10/);
  },

  async "a question that is cancelled ends the keys that were pressed before it was shown"({ page, url }) {
    const app = await openApp(page, url);
    await app.openFolder({ "a.py": "import os\n\ndef foo():\n    return 1\n\nprint(foo())\n" });
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename foo to bar");
    await app.editor.locator(".cm-line", { hasText: "def bar" }).click();
    await page.keyboard.press("End");
    await page.keyboard.type("  # note");
    await page.getByText("you edited this").first().waitFor();
    await page.keyboard.press("Alt+r");
    await focusIsOn(page, ".hunk-card");
    await page.evaluate(() => {
      for (const key of ["n", "y"]) {
        const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
        document.activeElement.dispatchEvent(event);
      }
    });
    const dialog = page.getByRole("dialog", { name: "You edited inside this change" });
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.waitForTimeout(300);
    assert.match(await app.changes(), /2/);
  },

  async "u brings changes back with the focus on one of them, and never takes back typing"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.editor.click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("mine ");
    await app.askAndWait(RENAME);
    await page.keyboard.press("Alt+r");
    await focusIsOn(page, ".hunk-card");
    await page.keyboard.press("y");
    await app.says("3 left to review.");
    await page.getByRole("button", { name: "Reject all", exact: true }).click();
    await page.getByText("Nothing to review.").waitFor();
    await focusIsOn(page, ".review-end");
    await page.keyboard.press("u");
    await focusIsOn(page, ".hunk-card");
    const first = await page.evaluate(() => document.activeElement.dataset.hunk);
    await page.keyboard.press("j");
    assert.notEqual(await page.evaluate(() => document.activeElement.dataset.hunk), first);
    // More often than there are decisions, and faster than they are carried out.
    for (let at = 0; at < 5; at++) await page.keyboard.press("u");
    await app.says("Your last step is typing in README.md.");
    assert.equal(await app.cards.count(), 4);
    assert.equal(await page.locator(".toast.error").count(), 0);
    await page.getByRole("button", { name: /^Undo typing in README.md/ }).waitFor();
    await page.locator("#tab-editor").click();
    assert.match(await app.text(), /^mine # Seed/);
  },

  async "undo that is pressed more often than there are steps says nothing wrong and undoes each once"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait(RENAME);
    await app.openFile("src/loans.ts");
    await app.bars.first().waitFor();
    await app.editor.focus();
    for (let at = 0; at < 2; at++) {
      await page.keyboard.press("Alt+j");
      await page.keyboard.press("Alt+y");
      await app.says("Accepted 1 change.");
      await page.waitForTimeout(100);
    }
    const undo = page.getByRole("button", { name: /^Undo/ }).first();
    await undo.focus();
    for (let at = 0; at < 6; at++) await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Undo", exact: true }).waitFor();
    await page.waitForTimeout(300);
    assert.equal(await page.locator(".toast.error").count(), 0);
    assert.match(await app.changes(), /4/);
    assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), "Undo");
    await page.getByRole("button", { name: /^Redo accept/ }).focus();
    for (let at = 0; at < 6; at++) await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Redo", exact: true }).waitFor();
    assert.match(await app.changes(), /2/);
    assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), "Redo");
  },

  async "keys that follow a step to the next file are about its change"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait(RENAME);
    await app.openFile("src/loans.ts");
    await app.bars.first().waitFor();
    const here = await app.bars.count();
    await app.editor.focus();
    for (let at = 0; at < here; at++) await page.keyboard.press("Alt+j");
    // Faster than the next file is shown.
    await pressAtOnce(page, ["j", "y", "k", "n"]);
    await app.says("Rejected 1 change.");
    await page.waitForTimeout(100);
    assert.match(await app.changes(), /2/);
    assert.equal(await page.locator(".toast.error").count(), 0);
    await page.locator('.cm-content[aria-label="Text of src/loans.ts"]').waitFor();
    // One of the file that was stepped to, and one of this file, to which the last step returned.
    await app.hunks(here - 1);
  },

  async "keys that follow a decision at once are about the next change"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait(RENAME);
    await app.openFile("src/loans.ts");
    await app.bars.first().waitFor();
    await app.editor.focus();
    await page.keyboard.press("Alt+j");
    await pressAtOnce(page, ["y", "n"]);
    await app.hunks(0);
    await app.says("2 left to review.");
    const text = await app.text();
    assert.deepEqual([/loanDays/.test(text), /seasonDays/.test(text)], [true, true], text);
  },

  async "a button that has done all there is to do passes the focus on"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait(RENAME);
    await page.keyboard.press("Alt+r");
    await focusIsOn(page, ".hunk-card");
    await page.getByRole("button", { name: "Reject file README.md" }).focus();
    await page.keyboard.press("Enter");
    await app.says("Rejected 1 change.");
    await focusIsOn(page, ".hunk-card");
    await app.openFile("src/loans.ts");
    const reject = page.getByRole("button", { name: "Reject file", exact: true });
    await reject.focus();
    await page.keyboard.press("Enter");
    await app.hunks(0);
    await focusIsOn(page, ".cm-content");
    await page.getByRole("button", { name: /^Download \d/ }).focus();
    await page.evaluate(() => document.activeElement.blur());
    await page.waitForTimeout(300);
    assert.equal(await page.evaluate(() => document.activeElement === document.body), true, "the user left the focus");
  },

  async "Alt+Y and Alt+N say that the cursor is in no change"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.editor.focus();
    await page.keyboard.press("Alt+y");
    await app.says("This file has no change to decide on.");
    await app.askAndWait(RENAME);
    await app.openFile("src/loans.ts");
    await app.bars.first().waitFor();
    await app.editor.focus();
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("Alt+n");
    await app.says("The cursor is in no change. Alt+J goes to the next one.");
    // Also from the button of a change, where the keys act on the change at the cursor.
    await page.keyboard.press("Alt+j");
    await page
      .getByRole("button", { name: /^Accept change/ })
      .first()
      .focus();
    await page.keyboard.press("Alt+n");
    await app.says("Rejected 1 change.");
  },

  async "F6 goes through all parts of the page, the header too"({ page, url }) {
    const app = await openApp(page, url);
    await app.openFile("README.md");
    await app.editor.focus();
    const part = () =>
      page.evaluate(
        () => document.activeElement?.closest(".top-bar, .files-pane, .editor-pane, .chat-pane")?.className,
      );
    const parts = [await part()];
    for (let press = 0; press < 4; press += 1) {
      await page.keyboard.press("F6");
      parts.push(await part());
    }
    assert.deepEqual(
      parts.map((name) => name?.split(" ")[0]),
      ["editor-pane", "chat-pane", "top-bar", "files-pane", "editor-pane"],
    );
    await page.keyboard.press("Shift+F6");
    await page.keyboard.press("Shift+F6");
    assert.match(await part(), /^top-bar/);
  },
};
