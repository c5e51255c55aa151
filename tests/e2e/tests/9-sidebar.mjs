// The assistant's pane: Markdown, groups of calls, conversations, and the time of a slow provider.
import assert from "node:assert/strict";
import { openApp, withProvider } from "../app.mjs";
import { heldReply } from "../provider.mjs";

const ANSWER = `# Plan

A **bold** move with [a link](https://example.com/x) and \`code\`.

| Name | Cost |
|---|---:|
| a | 1 |

> A quote

3. third
4. fourth
   - nested
   - [x] done

---

\`\`\`ts
const a = 1;
\`\`\`

~~old~~ <img src=x onerror=alert(1)> <b>html</b> [x](javascript:alert(1)) ${"and so on ".repeat(20)}
`;

const read = (offset) => ({ name: "Read", input: { file_path: "README.md", offset, limit: 1 } });

export const tests = {
  async "a conversation that is scrolled up stays there and leads back to its end"({ page, url }) {
    const long = Array.from({ length: 80 }, (_, at) => `Line ${at}\n\n`).join("");
    const held = heldReply("The last words.");
    await withProvider(page, url, [long, held.promise, "Yes."], async (app) => {
      const distance = () => app.transcript.evaluate((node) => node.scrollHeight - node.scrollTop - node.clientHeight);
      const latest = page.getByRole("button", { name: "Latest" });
      await app.askAndWait("first");
      assert.equal(await latest.count(), 0);
      await app.ask("second");
      await page.waitForFunction(() => document.querySelector(".transcript").scrollTop > 0);
      await app.transcript.hover();
      await page.mouse.wheel(0, -600);
      await latest.waitFor();
      const before = await distance();
      held.release();
      await app.finished();
      assert.ok((await distance()) >= before, "the view stays while the assistant writes");
      await latest.click();
      await latest.waitFor({ state: "detached" });
      await page.waitForFunction(() => {
        const node = document.querySelector(".transcript");
        return node.scrollHeight - node.scrollTop - node.clientHeight < 2;
      });
      assert.equal(await page.evaluate(() => document.activeElement.className), "transcript");
      // An own message is shown.
      await page.mouse.wheel(0, -600);
      await latest.waitFor();
      await app.askAndWait("third");
      await latest.waitFor({ state: "detached" });
    });
  },

  async "an answer is shown as Markdown, with copy buttons, and nothing of it is HTML or a link"({ page, url }) {
    await withProvider(page, url, [ANSWER], async (app) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await app.askAndWait("plan it");
      const answer = app.transcript.locator(".entry.assistant .markdown");
      assert.deepEqual(await answer.locator("th, td").allTextContents(), ["Name", "Cost", "a", "1"]);
      assert.equal(await answer.locator("blockquote").textContent(), "A quote");
      assert.equal(await answer.locator("ol").getAttribute("start"), "3");
      assert.match(await answer.locator("ol ul").textContent(), /nested.*☑ done/s);
      assert.equal(await answer.locator("hr").count(), 1);
      assert.equal(await answer.locator("del").textContent(), "old");
      assert.match(await answer.textContent(), /a link \(https:\/\/example\.com\/x\).*<img src=x.*<b>html<\/b>/s);
      assert.equal(await answer.locator("a, img, b").count(), 0);
      await answer.locator("pre .tok-keyword").waitFor();
      assert.deepEqual(await answer.locator("pre .tok-keyword").allTextContents(), ["const"]);
      await page.getByRole("button", { name: "Copy code" }).click();
      assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "const a = 1;");
      await page.getByRole("button", { name: "Copy the answer" }).click();
      assert.equal((await page.evaluate(() => navigator.clipboard.readText())).trim(), ANSWER.trim());
      await app.transcript.getByText(/tokens: 10 in, 12 out/).waitFor();
    });
  },

  async "a long answer in small pieces does not block the page"({ page, url }) {
    const block = "A paragraph with **bold** words, `code` and [a link](https://example.com).\n\n- one\n- two\n\n";
    await withProvider(page, url, [block.repeat(800)], async (app) => {
      await page.evaluate(() => {
        window.long = [];
        new PerformanceObserver((entries) => {
          for (const { duration } of entries.getEntries()) window.long.push(Math.round(duration));
        }).observe({ entryTypes: ["longtask"] });
      });
      const begun = Date.now();
      await app.ask("write a lot");
      await app.finished(40_000);
      const long = await page.evaluate(() => window.long);
      console.log(
        `# ${block.length * 800} characters: ${Date.now() - begun} ms, long tasks ${long.join(" ") || "none"}`,
      );
      // One task of 7 seconds before. The limit is for a computer that others use, too.
      assert.ok(Math.max(0, ...long) < 600, `long tasks: ${long}`);
    });
  },

  async "calls of one tool are one line that unfolds, and an edit leads to its change"({ page, url }) {
    const edit = { file_path: "docs/handbook.md", old_string: "# Handbook", new_string: "# The handbook" };
    const replies = [1, 2, 3, 4, 5, 6].map(read);
    replies.push({ name: "Read", input: { file_path: "docs/handbook.md" } }, { name: "Edit", input: edit }, "Done.");
    await withProvider(page, url, replies, async (app) => {
      await app.askAndWait("read and edit");
      const group = app.transcript.locator(".entry.calls");
      await group
        .locator(".tool-target", { hasText: /^\d calls in \d files?$/ })
        .first()
        .waitFor();
      assert.equal(await group.locator(".entry.call").first().isVisible(), false);
      await group.locator("summary").first().click();
      await group.locator(".entry.call").first().waitFor();
      const call = app.transcript.locator(".entry.call", { hasText: "Edit" });
      await call.locator("summary").click();
      if ((await call.locator(".tool-failure").count()) === 0) {
        await call.getByRole("button", { name: "Show this change" }).click();
        await page.locator(".tree-row.selected").and(app.row("docs/handbook.md")).waitFor();
        await app.hunks(1);
      }
    });
  },

  async "a new conversation keeps the review, the last one can be opened again, and a reload keeps both"({
    page,
    url,
  }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename loanDays to seasonDays");
    await page.getByRole("button", { name: "New conversation" }).click();
    await page.getByText("What should I change?").waitFor();
    assert.match(await app.changes(), /4 changes in 3 files/);
    await app.askAndWait("hello");
    assert.equal(await app.transcript.locator(".entry.user").count(), 1);
    const select = page.getByRole("combobox", { name: "Conversation" });
    await select.selectOption({ index: 0 });
    await app.transcript.getByText("rename loanDays to seasonDays").first().waitFor();
    await app.askAndWait("rename seasonDays to days");
    assert.equal(await app.transcript.locator(".entry.user").count(), 2);
    await page.waitForTimeout(300);
    page.on("dialog", (dialog) => void dialog.accept());
    await page.reload();
    await app.transcript.getByText("rename seasonDays to days").first().waitFor();
    assert.equal(await select.locator("option").count(), 2);
    await select.selectOption({ index: 1 });
    await app.transcript.getByText("hello").first().waitFor();
    assert.equal(await app.transcript.locator(".entry.user").count(), 1);
  },

  async "the page counts the time of a run, and says which server is silent"({ page, url }) {
    const held = heldReply("At last.");
    await withProvider(page, url, [held.promise], async (app, provider) => {
      await page.clock.install();
      await app.ask("hello");
      const activity = page.locator(".activity");
      await page.clock.runFor(3_000);
      // The clock of the page also runs between the message and the jump.
      await activity.getByText(/Thinking… [3-9] s/).waitFor();
      await page.clock.runFor(17_000);
      const host = new URL(provider.url).host.replaceAll(".", "\\.");
      await activity.getByText(new RegExp(`No answer yet from ${host} 2\\d s`)).waitFor();
      held.release();
      await page.clock.resume();
      await app.finished();
    });
  },
};

export const alone = ["a long answer in small pieces does not block the page"];
