// The manners of the page: focus, narrow windows, the message box during a run, and other servers.
import assert from "node:assert/strict";
import { openApp } from "../app.mjs";
import { heldReply, startProvider } from "../provider.mjs";

const RENAME = "rename loanDays to seasonDays";
const READ = { name: "Read", input: { file_path: "README.md" } };

const focused = (page) =>
  page.evaluate(() => {
    const node = document.activeElement;
    return node?.getAttribute("aria-label") ?? node?.className ?? "";
  });

const userMessages = (app) => app.transcript.locator(".entry.user").allTextContents();

/** Waits until the element with this label has the focus. */
async function focusIs(page, label) {
  await page
    .waitForFunction((wanted) => document.activeElement?.getAttribute("aria-label")?.startsWith(wanted), label, {
      timeout: 3_000,
    })
    .catch(async () => assert.fail(`the focus is on ${await focused(page)}, not on ${label}`));
}

export const tests = {
  async "Stop keeps the draft, sends nothing, and the message box gets the focus"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "slow" });
    const stop = page.getByRole("button", { name: "Stop" });
    const ways = [
      () => stop.click(),
      () => stop.dblclick(),
      () => stop.press("Enter"),
      () => stop.press("Space"),
      async () => {
        // A held key repeats after the first press has ended the run.
        await stop.focus();
        await page.keyboard.down("Enter");
        await page.keyboard.down("Enter");
        await page.keyboard.up("Enter");
      },
    ];
    for (const [index, way] of ways.entries()) {
      await app.ask(RENAME);
      await app.input.fill("my draft");
      await way();
      await app.finished();
      await page.waitForTimeout(100);
      assert.equal(await app.input.inputValue(), "my draft", `way ${index}`);
      assert.equal((await userMessages(app)).length, index + 1, `way ${index} sent the draft`);
      await focusIs(page, "Message to the assistant");
    }
  },

  async "after Stop a greeting gets the list of instructions and changes nothing"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "slow" });
    await app.ask(RENAME);
    await app.transcript.locator(".entry.call").first().waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await app.finished();
    const calls = (await app.toolCalls()).length;
    const changes = await app.changes();
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("hello");
    assert.equal((await app.toolCalls()).length, calls);
    assert.equal(await app.changes(), changes);
    const answer = await app.transcript.locator(".entry.assistant").last().textContent();
    assert.match(answer, /rename/);
    assert.ok(!answer.includes("cargo test"), "commands are listed, and there is no shell");
  },

  async "the page fits windows from 320 to 1440 pixels"({ page, url }) {
    const app = await openApp(page, url);
    const check = async (width, step) => {
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${width} ${step}: the page is ${wide} pixels too wide`);
      const outside = await page.evaluate(() =>
        [...document.querySelectorAll("button")]
          .filter((node) => node.checkVisibility() && !node.closest(".files-pane"))
          .filter((node) => {
            const box = node.getBoundingClientRect();
            return box.left < 0 || box.right > innerWidth + 1;
          })
          .map((node) => node.textContent || node.ariaLabel),
      );
      assert.deepEqual(outside, [], `${width} ${step}`);
    };
    for (const width of [320, 390, 820, 1440]) {
      await page.setViewportSize({ width, height: width < 500 ? 700 : 900 });
      await check(width, "first");
      const isPhone = width <= 640;
      const show = (pane) =>
        page.getByRole("navigation", { name: "Panes" }).getByRole("button", { name: pane }).click();
      if (isPhone) await show("Chat");
      await check(width, "chat");
      await app.ask(width === 320 ? RENAME : "hello");
      await page.getByRole("button", { name: "Stop" }).waitFor();
      await check(width, "running");
      await app.finished();
      if (isPhone) await show("Text");
      await app.hunks(1);
      await check(width, "editor");
      if (isPhone) await show("Review");
      else await app.showReview();
      await app.cards.first().waitFor();
      await check(width, "review");
      if (isPhone) await show("Text");
      else await page.getByRole("tab", { name: /README/ }).click();
    }
    await page.setViewportSize({ width: 320, height: 700 });
    await page.getByRole("navigation", { name: "Panes" }).getByRole("button", { name: "Files" }).click();
    await check(320, "files");
    await page.getByRole("navigation", { name: "Panes" }).getByRole("button", { name: "Chat" }).click();
    await page.getByRole("button", { name: /^Model:/ }).click();
    await check(320, "dialog");
    await page.keyboard.press("Escape");
    await page
      .getByLabel("Files to open")
      .setInputFiles({ name: "z.txt", mimeType: "text/plain", buffer: Buffer.from("z") });
    await page.getByRole("button", { name: "Discard and open" }).click();
    await app.row("z.txt").waitFor({ state: "attached" });
    await check(320, "own files");
  },

  async "Alt+R moves the focus to the first change and back to the text"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait(RENAME);
    await focusIs(page, "Message to the assistant");
    await page.keyboard.press("Alt+r");
    await focusIs(page, "Change 1 of 1, README.md");
    await page.keyboard.press("y");
    await app.says("Accepted 1 change. 3 left to review.");
    assert.equal(await app.input.inputValue(), "");
    await page.keyboard.press("Alt+r");
    await focusIs(page, "Text of README.md");
  },

  async "a dialog returns the focus to its opener, and nothing is logged"({ page, url }) {
    const app = await openApp(page, url);
    const logged = [];
    page.on("console", (message) => logged.push(message.text()));
    for (const [opener, title, closing] of [
      ["Keyboard shortcuts", "Keyboard shortcuts", "Escape"],
      ["Keyboard shortcuts", "Keyboard shortcuts", "Close"],
      ["Model:", "Model", "Escape"],
      ["Model:", "Model", "Cancel"],
      ["Model:", "Model", "Use this model"],
      ["New file", "New file", "Cancel"],
    ]) {
      await page.getByRole("button", { name: opener }).focus();
      await page.keyboard.press("Enter");
      const dialog = page.getByRole("dialog", { name: title });
      await dialog.waitFor();
      if (closing === "Escape") await page.keyboard.press("Escape");
      else await dialog.getByRole("button", { name: closing }).click();
      await dialog.waitFor({ state: "detached" });
      await focusIs(page, opener);
    }
    assert.deepEqual(logged, []);
    // The run ends while Stop has the focus.
    await app.chooseModel({ pace: "steady" });
    await app.ask("hello");
    await page.getByRole("button", { name: "Stop" }).focus();
    await app.finished();
    await focusIs(page, "Message to the assistant");
  },

  async "another server gets neither the saved key nor, unannounced, the conversation"({ page, url }) {
    const first = await startProvider("right", ["Hello."]);
    const second = await startProvider("right", ["Hello."]);
    try {
      const app = await openApp(page, url);
      await app.chooseModel({ apiKey: "right", baseUrl: first.url });
      await app.askAndWait("my secret plan");
      await page.getByRole("button", { name: /^Model:/ }).click();
      const dialog = page.getByRole("dialog", { name: "Model" });
      const key = dialog.getByLabel(/^API key/);
      assert.equal(await key.inputValue(), "right");
      assert.equal(await dialog.getByText("sends this conversation").count(), 0);
      await dialog.getByLabel("Base URL").fill(second.url);
      assert.equal(await key.inputValue(), "");
      await dialog.getByText(`The key was entered for ${first.url}`).waitFor();
      await dialog.getByText(new RegExp(`sends this conversation, .* to ${second.url}`)).waitFor();
      await dialog.getByRole("button", { name: "Use this model" }).click();
      await dialog.getByText("Enter your Anthropic API key.").waitFor();
      await dialog.getByLabel("Base URL").fill(first.url);
      assert.equal(await key.inputValue(), "right");
      await dialog.getByLabel("Base URL").fill(second.url);
      await key.pressSequentially("right");
      assert.equal(await key.inputValue(), "right");
      await dialog.getByRole("button", { name: "Use this model" }).click();
      await dialog.waitFor({ state: "detached" });
      await app.askAndWait("hello again");
      assert.equal(second.requests[0].key, "right");
    } finally {
      await first.close();
      await second.close();
    }
  },

  async "a sent message is scrolled into view"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    for (let round = 0; round < 3; round++) await app.askAndWait("hello");
    await app.transcript.evaluate((node) => {
      node.scrollTop = 0;
    });
    await page.waitForTimeout(100);
    await app.askAndWait("what now");
    const below = await app.transcript.evaluate((node) => node.scrollHeight - node.scrollTop - node.clientHeight);
    assert.ok(below < 40, `${below} pixels are out of view`);
  },

  async "a message during a run joins it, and comes back if the run is stopped first"({ page, url }) {
    const [slow, never] = [heldReply(READ), heldReply("")];
    const provider = await startProvider("right", [slow.promise, never.promise]);
    try {
      const app = await openApp(page, url);
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
      await app.ask("read the README");
      await app.input.fill("and be brief");
      await app.input.press("Enter");
      const waiting = app.transcript.locator(".entry.user.waiting");
      await waiting.getByText("and be brief").waitFor();
      assert.equal(await app.input.inputValue(), "");
      slow.release();
      await waiting.waitFor({ state: "detached" });
      await app.transcript.locator(".entry.user", { hasText: "and be brief" }).waitFor();
      await page.waitForTimeout(100);
      assert.match(provider.requests.at(-1).body, /and be brief/);

      await app.input.fill("one more thing");
      await app.input.press("Enter");
      await waiting.getByText("one more thing").waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      await app.finished();
      assert.equal(await waiting.count(), 0);
      assert.equal(await app.input.inputValue(), "one more thing");
      assert.deepEqual(await userMessages(app), ["You: read the README", "You: and be brief"]);
    } finally {
      await provider.close();
    }
  },

  async "a run over a large file leaves frames to the browser"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    const line = (_, index) => `line ${index} ${index % 50 === 0 ? "needle" : "with nothing in it"}\n`;
    const buffer = Buffer.from(Array.from({ length: 3_000 }, line).join(""));
    await page.getByLabel("Files to open").setInputFiles({ name: "large.txt", mimeType: "text/plain", buffer });
    await app.row("large.txt").waitFor();
    await page.evaluate(() => {
      window.drawn = new Set();
      const look = () => {
        window.drawn.add(document.querySelectorAll(".entry.call").length);
        requestAnimationFrame(look);
      };
      look();
    });
    await app.ask('replace "needle" with "pin"');
    await app.finished(45_000);
    assert.match(await app.changes(), /60 changes in 1 file/);
    const calls = await app.transcript.locator(".entry.call").count();
    const drawn = await page.evaluate(() => [...window.drawn]);
    const steps = drawn.slice(1).map((count, index) => count - drawn[index]);
    // Without pauses all 60 calls of a round appear in one frame.
    const most = Math.max(...steps);
    assert.ok(most < 40, `${most} of ${calls} calls appeared in one frame`);
  },

  async "a file without text has no position, line endings or state, and hidden inputs no name"({ page, url }) {
    const app = await openApp(page, url);
    await page.getByLabel("Files to open").setInputFiles([
      { name: "crlf.txt", mimeType: "text/plain", buffer: Buffer.from("a\r\nb\r\n") },
      { name: "image.png", mimeType: "image/png", buffer: Buffer.from([0x89, 0x50, 0, 1]) },
    ]);
    await app.row("crlf.txt").waitFor();
    const status = page.locator(".status-bar");
    await app.openFile("crlf.txt");
    await status.getByText("CRLF").waitFor();
    await app.openFile("image.png");
    await page.locator(".canvas .empty").waitFor();
    assert.equal(await status.textContent(), "No text to show");
    const tree = await page.locator("header").ariaSnapshot();
    assert.ok(!tree.includes("to open"), tree);
  },

  async "a file that the user took back is explained in the user's words"({ page, url }) {
    const input = { file_path: "README.md", old_string: "# Seed library", new_string: "# Seeds" };
    const edit = heldReply({ name: "Edit", input });
    const provider = await startProvider("right", [READ, edit.promise]);
    try {
      const app = await openApp(page, url);
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
      await app.ask("shorten the title");
      await app.lease.waitFor();
      await page.getByRole("button", { name: "Take control" }).click();
      edit.release();
      await app.finished();
      await app.transcript.locator(".entry.call.failed summary").click();
      await app.transcript.getByText("You took this file back, so the assistant did not change it.").waitFor();
      assert.equal(await app.transcript.getByText("do not edit it again").count(), 0);
    } finally {
      await provider.close();
    }
  },
};
