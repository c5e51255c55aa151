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
};
