// The layout: each pane scrolls by itself, and all of a pane fits on wide and narrow screens.
import assert from "node:assert/strict";
import { openApp } from "../app.mjs";

const RENAME = "rename loanDays to seasonDays";

/** Returns the scrollers of the page from which hidden words would escape, by their classes. */
const leaky = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll("*")]
      .filter((node) => ["auto", "scroll"].includes(getComputedStyle(node).overflowY))
      .filter((node) => node.querySelector(".visually-hidden") !== null)
      .filter((node) => getComputedStyle(node).position === "static")
      .map((node) => node.className),
  );

/** Returns by how much the page is higher than the window. */
const beyond = (page) => page.evaluate(() => document.scrollingElement.scrollHeight - window.innerHeight);

export const tests = {
  async "a long conversation and a long review never make the page itself scroll"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    for (const text of [RENAME, "rename seasonDays to loanDays", RENAME, 'replace "the" with "a"']) {
      await app.askAndWait(text);
    }
    assert.equal(await beyond(page), 0);
    assert.deepEqual(await leaky(page), []);
    await app.showReview();
    await app.cards.first().waitFor();
    assert.equal(await beyond(page), 0);
    assert.deepEqual(await leaky(page), []);
    await page.setViewportSize({ width: 390, height: 700 });
    assert.equal(await beyond(page), 0);
    await page.getByRole("navigation", { name: "Panes" }).getByRole("button", { name: "Chat" }).click();
    assert.equal(await beyond(page), 0);
  },

  async "on a phone each bar is one row, and the open file, the project and its state are named"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait(RENAME);
    await app.openFile("README.md");
    await app.hunks(1);
    await app.editor.locator(".cm-line", { hasText: "seasonDays" }).click();
    await page.keyboard.press("End");
    await page.keyboard.type(" mine");
    await page.getByText("you edited this").first().waitFor();
    await page.setViewportSize({ width: 390, height: 780 });
    const accept = app.bars.first().locator(".accept");
    assert.ok((await accept.evaluate((node) => node.getBoundingClientRect().right)) <= 390, "Accept is cut off");
    const rows = (selector) =>
      page
        .locator(selector)
        .first()
        .evaluate((bar) => {
          const middles = [...bar.children]
            .map((node) => node.getBoundingClientRect())
            .filter((box) => box.width > 0)
            .map((box) => box.top + box.height / 2);
          return Math.max(...middles) - Math.min(...middles);
        });
    const nav = page.getByRole("navigation", { name: "Panes" });
    const title = page.locator(".phone-title");
    assert.equal(await title.innerText(), "README.md\n1 not saved · seed-library");
    for (const bar of [".top-bar", ".editor-view .file-bar", ".editor-view .hunk-bar"]) {
      assert.ok((await rows(bar)) < 4, `${bar} has several rows`);
    }
    await nav.getByRole("button", { name: /^Review/ }).click();
    await app.cards.first().waitFor();
    assert.ok((await rows(".review .file-bar")) < 4, "the toolbar of the review has several rows");
    const label = nav.getByText("Review").first();
    const [word, badge] = await label.evaluate((node) => {
      const range = document.createRange();
      range.selectNode(node.firstChild);
      return [range.getBoundingClientRect().right, node.querySelector(".count").getBoundingClientRect().left];
    });
    assert.ok(badge >= word + 2, "the number covers the word");
    await page
      .getByRole("button", { name: /^Accept change 1/ })
      .last()
      .click();
    await app.toast.waitFor();
    assert.ok((await app.toast.boundingBox()).width > 350, "the message is narrow");
    assert.ok((await app.toast.boundingBox()).height < 70, "the message is high");
  },

  async "the list of conversations has room for their names, and Send stays beside Stop"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait(RENAME);
    await page.getByRole("button", { name: "New conversation" }).click();
    await app.askAndWait("rename seasonDays to days");
    const list = page.getByRole("combobox", { name: "Conversation" });
    assert.ok((await list.boundingBox()).width > 150, "the list is narrow");
    assert.equal(await list.getAttribute("title"), "rename seasonDays to days");
    await page.setViewportSize({ width: 390, height: 780 });
    await page.getByRole("navigation", { name: "Panes" }).getByRole("button", { name: "Chat" }).click();
    assert.ok((await list.boundingBox()).width > 150, "the list is narrow on a phone");
    await page.setViewportSize({ width: 1280, height: 800 });
    await app.chooseModel({ pace: "slow" });
    await app.ask("rename days to loanDays");
    const middle = async (name) => {
      const { y, height } = await page.getByRole("button", { name, exact: true }).boundingBox();
      return y + height / 2;
    };
    assert.equal(await middle("Send"), await middle("Stop"));
    await page.getByRole("button", { name: "Stop" }).click();
    await app.finished();
  },

  async "on a phone the page keeps its heading, and a message covers no button at the bottom"({ page, url }) {
    await openApp(page, url);
    await page.setViewportSize({ width: 360, height: 700 });
    await page.getByRole("heading", { level: 1, name: "Emend" }).waitFor();
    await page.getByRole("navigation", { name: "Panes" }).getByRole("button", { name: /^Text/ }).click();
    await page.locator(".cm-content, #tab-editor").first().waitFor({ state: "attached" });
    await page.evaluate(() => document.querySelector(".cm-content")?.focus());
    await page.keyboard.press("Alt+y");
    const toast = await page.locator(".toast").boundingBox();
    const bar = await page.getByRole("navigation", { name: "Panes" }).boundingBox();
    assert.ok(toast.y + toast.height < bar.y - 100, `the message is at ${toast.y}, the bar at ${bar.y}`);
  },
};
