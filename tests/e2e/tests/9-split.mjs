// A change of several lines is split at a line, and each part is decided alone.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { openApp } from "../app.mjs";
import { startProvider } from "../provider.mjs";
import { joinServer, withServer } from "../service.mjs";

const BEFORE = "# Notes\n\nThe colour of the sky.\n\n## Sea\n\nIt is wet.\n\n## End\n";
const ADDED = "One.\nTwo.\nThree.\nFour.\n";
const REPLIES = [
  { name: "Read", input: { file_path: "notes.md" } },
  { name: "Edit", input: { file_path: "notes.md", old_string: "It is wet.\n", new_string: ADDED } },
  "Done.",
];

const cards = async (app) =>
  app.cards.evaluateAll((all) => all.map((card) => card.querySelector(".hunk-label").textContent));
const focused = (page) => page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? null);

async function inTab({ page, url }, test, replies = REPLIES) {
  const provider = await startProvider("sk-test", replies);
  try {
    const app = await openApp(page, url);
    const saved = await app.openFolder({ "notes.md": BEFORE });
    await app.chooseModel({ apiKey: "sk-test", baseUrl: provider.url });
    await app.askAndWait("rewrite the part about the sea");
    await app.showReview();
    await app.cards.first().waitFor();
    await test(app, saved);
  } finally {
    await provider.close();
  }
}

async function reload(page, app) {
  const accept = (dialog) => void dialog.accept();
  page.on("dialog", accept);
  await page.reload();
  await page.locator(".tree-row").first().waitFor();
  await app.editor.waitFor({ state: "attached" });
  page.off("dialog", accept);
}

/** Splits the only change before its third added line, by keys. */
async function splitByKeys(page, app) {
  await app.cards.first().focus();
  await page.keyboard.press("s");
  await page.getByText("Choose the line that begins the second change.").waitFor();
  assert.equal(await focused(page), "Split here, before the added line 7");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  assert.equal(await focused(page), "Split here, before the added line 9");
  await page.keyboard.press("Enter");
  await app.says("Split the change in two.");
  await app.cards.nth(1).waitFor();
}

/** Rejects the second part, accepts the first one, and saves. */
async function keepFirst(page, app) {
  await app.cards.nth(1).focus();
  await page.keyboard.press("n");
  await app.says("Rejected 1 change.");
  await page.keyboard.press("y");
  await page.getByText("Nothing to review.").waitFor();
  await page.keyboard.press("Control+s");
  await app.says("Saved notes.md.");
}

export const tests = {
  async "a change is split by keys, each part is decided alone, and undo joins them"(context) {
    const { page } = context;
    await inTab(context, async (app, saved) => {
      await splitByKeys(page, app);
      assert.deepEqual(await cards(app), ["Lines 7 to 8", "Lines 9 to 10"]);
      assert.match(await focused(page), /^Change 1 of 2, notes.md, lines 7 to 8, 1 removed, 2 added/);
      await page.keyboard.press("u");
      await app.says("Undid split in notes.md.");
      await app.cards.nth(1).waitFor({ state: "detached" });
      await page.getByRole("button", { name: /^Redo split in notes.md/ }).click();
      await app.cards.nth(1).waitFor();
      await keepFirst(page, app);
      assert.equal(await saved("notes.md"), BEFORE.replace("It is wet.\n", "One.\nTwo.\n"));
    });
  },

  async "a line stays with its replacement, wherever a change of as many lines is split"(context) {
    const { page } = context;
    const edit = {
      file_path: "notes.md",
      old_string: "## Sea\n\nIt is wet.\n",
      new_string: "## Ocean\n-----\nIt is deep.\n",
    };
    const replies = [{ name: "Read", input: { file_path: "notes.md" } }, { name: "Edit", input: edit }, "Done."];
    const test = async (app, saved) => {
      await app.cards.first().focus();
      await page.keyboard.press("s");
      await page.getByRole("button", { name: "Split here, before the added line 7" }).click();
      await app.cards.nth(1).waitFor();
      await keepFirst(page, app);
      assert.equal(await saved("notes.md"), BEFORE.replace("## Sea\n\n", "## Ocean\n-----\n"));
    };
    await inTab(context, test, replies);
  },

  async "a reload keeps a split, what was decided since, and its undoing"(context) {
    const { page } = context;
    await inTab(context, async (app) => {
      await splitByKeys(page, app);
      await app.cards.nth(1).focus();
      await page.keyboard.press("y");
      await app.cards.nth(1).waitFor({ state: "detached" });
      await page.waitForTimeout(300);
      await reload(page, app);
      await app.showReview();
      await app.cards.first().waitFor();
      assert.deepEqual(await cards(app), ["Lines 7 to 8"]);
      await page.getByRole("button", { name: /^Undo accept in notes.md/ }).click();
      await app.cards.nth(1).waitFor();
      await page.getByRole("button", { name: /^Undo split in notes.md/ }).click();
      await app.cards.nth(1).waitFor({ state: "detached" });
      assert.deepEqual(await cards(app), ["Lines 7 to 10"]);
    });
  },

  async "a change is split by the pointer, and Escape ends the choice of a line"(context) {
    const { page } = context;
    await inTab(context, async (app) => {
      const button = page.getByRole("button", { name: "Split change 1 of 1 in notes.md" });
      await button.click();
      await page.locator(".splitting").waitFor();
      await page.keyboard.press("Escape");
      await page.locator(".splitting").waitFor({ state: "detached" });
      assert.match(await focused(page), /^Change 1 of 1/);
      // Without the choice of a line, the pointer finds the button at each line.
      const row = page.locator(".diff-line.added").nth(1);
      await row.hover();
      await row.getByRole("button", { name: "Split here, before the added line 8" }).click();
      await app.cards.nth(1).waitFor();
      assert.deepEqual(await cards(app), ["Line 7", "Lines 8 to 10"]);
    });
  },

  async "a change of one line has no split"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename loanDays to seasonDays");
    await app.showReview();
    await app.cards.first().waitFor();
    assert.equal(await page.locator(".split-here").count(), 0);
    await app.cards.first().focus();
    await page.keyboard.press("s");
    assert.equal(await page.locator(".splitting").count(), 0);
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    await page.getByText("Split the change").waitFor();
  },

  async "the choice of a line fits a phone, and axe finds nothing"(context) {
    const { page } = context;
    const source = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    await page.context().addInitScript({ content: source });
    await inTab(context, async (app) => {
      await page.setViewportSize({ width: 390, height: 844 });
      await page.getByRole("button", { name: "Split change 1 of 1 in notes.md" }).click();
      await page.locator(".splitting").waitFor();
      for (const button of await page.locator(".split-here, .hunk-bar .cut").all()) {
        const { width, height } = await button.boundingBox();
        assert.ok(width >= 44 && height >= 44, `${width} × ${height}`);
      }
      for (const theme of ["light", "dark"]) {
        await page.evaluate((chosen) => {
          document.documentElement.dataset.theme = chosen;
        }, theme);
        const { violations } = await page.evaluate(() => globalThis.axe.run(".editor-pane"));
        assert.deepEqual(
          violations.map(({ id, nodes }) => `${theme}: ${id} ${nodes[0].html.slice(0, 120)}`),
          [],
        );
      }
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      await page.locator(".split-here").nth(1).click();
      await app.cards.nth(1).waitFor();
      assert.deepEqual(await cards(app), ["Line 7", "Lines 8 to 10"]);
    });
  },

  async "a server splits a change, and undo joins it again"({ page, url }) {
    const provider = await startProvider("sk-test", REPLIES);
    try {
      await withServer({ origin: new URL(url).origin, provider }, async (server) => {
        const app = await joinServer(page, url, server.url);
        await app.askAndWait("rewrite the part about the sea");
        await app.showReview();
        await app.cards.first().waitFor();
        await splitByKeys(page, app);
        assert.deepEqual(await cards(app), ["Lines 7 to 8", "Lines 9 to 10"]);
        await page.getByRole("button", { name: /^Undo split in notes.md/ }).click();
        await app.cards.nth(1).waitFor({ state: "detached" });
      });
    } finally {
      await provider.close();
    }
  },
};
