// The review of many changes: drawn in part, filtered by task, side by side, with comments, and said before it is done.
import assert from "node:assert/strict";
import { openApp } from "../app.mjs";
import { startProvider } from "../provider.mjs";

const RENAME = "rename loanDays to seasonDays";

export const tests = {
  async "ten thousand changes are listed, scrolled and decided while few of them are drawn"({ page, url }) {
    const app = await openApp(page, url);
    const text = (from, word) =>
      Array.from({ length: 250 }, (_, at) => `value ${from + at} ${word}\nas\nit\nis\n`).join("");
    const files = Array.from({ length: 40 }, (_, at) => ({
      name: `file-${at}.txt`,
      mimeType: "text/plain",
      buffer: Buffer.from(text(at * 250, "foo")),
    }));
    await page.getByLabel("Files to open").setInputFiles(files);
    await app.row("file-39.txt").waitFor();
    const replies = files.flatMap(({ name }, at) => [
      { name: "Read", input: { file_path: name } },
      { name: "Write", input: { file_path: name, content: text(at * 250, "bar") } },
    ]);
    const provider = await startProvider("right", replies);
    try {
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
      await app.ask("change all");
      await app.finished(40_000);
    } finally {
      await provider.close();
    }
    await app.showReview();
    await page.locator(".bulk-note", { hasText: "10,000 changes in 40 files" }).waitFor();
    const drawn = () => app.cards.count();
    assert.ok((await drawn()) <= 80, `${await drawn()} cards`);
    // Every place of the list shows cards soon after it is scrolled to.
    for (const part of [0.3, 0.7, 0.99]) {
      await page.locator(".review-list").evaluate((node, at) => node.scrollTo(0, node.scrollHeight * at), part);
      await page.waitForFunction(() => {
        const box = document.querySelector(".review-list").getBoundingClientRect();
        const found = document.elementFromPoint(box.left + 200, box.top + box.height / 2);
        return found?.closest(".hunk-card, .review-head") !== null;
      });
      assert.ok((await drawn()) <= 120, `${await drawn()} cards`);
    }
    await page.locator(".review-list").evaluate((node) => node.scrollTo(0, 0));
    const first = page.locator('.hunk-card[aria-label^="Change 1 of 250, file-0.txt"]');
    await first.focus();
    // The part with the focus stays drawn, and so do the cards near the scroll bar. Between them nothing is drawn.
    await page.locator(".review-list").evaluate((node) => node.scrollTo(0, node.scrollHeight * 0.7));
    await page.waitForFunction(() => document.querySelectorAll(".hunk-card").length > 25);
    // All keys arrive before the browser draws again, as they do on a busy page.
    await page.evaluate(() => {
      for (let at = 0; at < 30; at++) {
        document.activeElement.dispatchEvent(
          new KeyboardEvent("keydown", { key: "j", bubbles: true, cancelable: true }),
        );
      }
    });
    await page.waitForFunction(() => document.activeElement.ariaLabel?.startsWith("Change 31 of 250, file-0.txt"));
    await page.locator(".review-list").evaluate((node) => node.scrollTo(0, 0));
    await first.focus();
    // No key is lost where the next change is not drawn yet.
    for (let at = 0; at < 60; at++) await page.keyboard.press("j");
    await page.waitForFunction(() => document.activeElement.ariaLabel?.startsWith("Change 61 of 250, file-0.txt"));
    await page.keyboard.press("y");
    await app.says("Accepted 1 change. 9,999 left to review.");
    await page.waitForFunction(() => document.activeElement.classList.contains("hunk-card"));
  },

  async "the changes of the last task are shown alone, and then the bulk buttons act on them only"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait(RENAME);
    await app.showReview();
    assert.equal(await page.getByRole("button", { name: "Last task" }).count(), 0);
    await app.askAndWait('add a heading "Notes" with "None." to README.md after "Licence"');
    await page.locator(".bulk-note", { hasText: "5 changes in 3 files" }).waitFor();
    await page.getByRole("button", { name: "Last task" }).click();
    await page.locator(".bulk-note", { hasText: "1 change in 1 file" }).waitFor();
    assert.equal(await app.cards.count(), 1);
    await page.getByRole("button", { name: "Accept these" }).click();
    await app.says("Accepted 1 change. 4 left to review.");
    await page.getByText("The last task left no change to review.").waitFor();
    await page.getByRole("button", { name: "Last task" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".hunk-card").length === 4);
  },

  async "a bulk button says what it will touch before it is pressed"({ page, url }) {
    const app = await openApp(page, url);
    const provider = await startProvider("right", [
      { name: "Write", input: { file_path: "new.txt", content: "text\n" } },
      "Done.",
    ]);
    try {
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
      await app.askAndWait("write it");
      await app.chooseModel({ pace: "instant" });
      await app.askAndWait(RENAME);
      await app.showReview();
      const note = page.locator(".bulk-note");
      // Without a pointer and without the focus, as on a phone.
      await page.getByText("Accepting creates 1 file.").waitFor();
      await page.getByRole("region", { name: "new.txt, 1 change" }).getByText("1 change", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Accept all", exact: true }).hover();
      await note.filter({ hasText: "Accepts 5 changes in 4 files · creates 1 file" }).waitFor();
      await page.getByRole("button", { name: "Reject all", exact: true }).focus();
      await note.filter({ hasText: "Rejects 5 changes in 4 files · your own lines stay" }).waitFor();
      const described = await page
        .getByRole("button", { name: "Reject all", exact: true })
        .getAttribute("aria-description");
      assert.match(described, /^Rejects 5 changes/);
    } finally {
      await provider.close();
    }
  },

  async "comments on lines wait as chips and are sent with the next message, also after their change is decided"({
    page,
    url,
  }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait(RENAME);
    const provider = await startProvider("right", ["Thanks."]);
    try {
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
      await app.showReview();
      await app.cards.first().focus();
      await page.keyboard.press("c");
      await page.waitForFunction(() => document.activeElement?.ariaLabel === "Comment on line 16");
      await page.keyboard.type("say days");
      await page.keyboard.press("Control+Enter");
      await page.waitForFunction(() => document.activeElement.classList.contains("hunk-card"));
      await app.cards.first().getByText("say days").waitFor();
      await app.cards.nth(1).locator(".diff-line.added .line-number").last().click();
      await page.keyboard.type("why?");
      await page.getByRole("button", { name: "Add comment" }).click();
      const chips = page.getByRole("list", { name: "Goes with the message" }).getByRole("listitem");
      assert.equal(await chips.count(), 2);
      await app.cards.first().focus();
      await page.keyboard.press("n");
      await chips.first().getByText("the change is decided").waitFor();
      await page.getByRole("button", { name: "Send", exact: true }).click();
      await app.finished();
      const sent = JSON.stringify(JSON.parse(provider.requests[0].body).messages.at(-1));
      assert.match(sent, /About README\.md, line 16:\\+n> - A loan runs for `seasonDays`/);
      assert.match(sent, /say days/);
      assert.match(sent, /why\?/);
      assert.equal(await chips.count(), 0);
    } finally {
      await provider.close();
    }
  },

  async "old and new lines stand side by side, and files fold"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait(RENAME);
    await app.showReview();
    await page.setViewportSize({ width: 1600, height: 900 });
    await page.getByRole("button", { name: "Side by side" }).click();
    const row = app.cards.first().locator(".side-row", { has: page.locator(".removed") });
    const boxes = await row
      .first()
      .locator(".diff-line")
      .evaluateAll((all) => all.map((node) => ({ kind: node.className, box: node.getBoundingClientRect().toJSON() })));
    assert.deepEqual(
      boxes.map(({ kind }) => kind),
      ["diff-line removed", "diff-line added"],
    );
    assert.equal(boxes[0].box.top, boxes[1].box.top);
    assert.ok(boxes[0].box.right <= boxes[1].box.left + 1);
    await page.getByRole("button", { name: "Hide the changes of README.md" }).click();
    assert.equal(await app.cards.count(), 3);
    await page.getByRole("button", { name: "Show the changes of README.md" }).click();
    assert.equal(await app.cards.count(), 4);
    await page.getByRole("button", { name: "Side by side" }).click();
    await page.locator(".side-row").first().waitFor({ state: "detached" });
  },
};
