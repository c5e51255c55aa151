// Tasks: the queue, going back, checkpoints, commands, questions, subagents, costs and events.
import assert from "node:assert/strict";
import { openApp } from "../app.mjs";
import { heldReply, startProvider } from "../provider.mjs";

const RENAME = "rename loanDays to seasonDays";

async function menu(page, item) {
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: item }).click();
}

/** Reloads the page, also if it asks whether to leave. */
async function reload(page) {
  // The record is written in the background.
  await page.waitForTimeout(300);
  page.once("dialog", (dialog) => dialog.accept());
  await page.reload();
}

async function withProvider(page, url, replies, work, model = "claude-sonnet-5-5") {
  const provider = await startProvider("sk-test", replies);
  try {
    const app = await openApp(page, url);
    await app.chooseModel({ apiKey: "sk-test", model, baseUrl: provider.url });
    await work(app, provider);
  } finally {
    await provider.close();
  }
}

/** Chooses options by the names of their fields: true to check one, a text to fill one. */
async function choose(page, fields) {
  await menu(page, "Options…");
  const dialog = page.getByRole("dialog", { name: "Options" });
  for (const [name, value] of Object.entries(fields)) {
    if (value === true) await dialog.getByRole("checkbox", { name }).check();
    else await dialog.getByLabel(name).fill(value);
  }
  await dialog.getByRole("button", { name: "Use these options" }).click();
  await dialog.waitFor({ state: "detached" });
}

export const tests = {
  async "queued messages can be edited, withdrawn and sent now, and the rest follow the task one by one"({
    page,
    url,
  }) {
    const held = heldReply("First done.");
    await withProvider(page, url, [held.promise, "Second done.", "Third done."], async (app, provider) => {
      await app.ask("first");
      for (const text of ["second", "oops", "third", "never"]) {
        await app.input.fill(text);
        await app.input.press("Alt+Enter");
      }
      const queue = page.getByRole("region", { name: "Queued messages" });
      assert.deepEqual(await queue.locator(".queue-text").allTextContents(), ["second", "oops", "third", "never"]);
      await queue.getByRole("button", { name: "Withdraw: never" }).click();
      await page.waitForFunction(() => document.activeElement?.tagName === "TEXTAREA");
      await queue.getByRole("button", { name: "Edit: oops" }).click();
      assert.equal(await app.input.inputValue(), "oops");
      await app.input.fill("");
      assert.deepEqual(await queue.locator(".queue-text").allTextContents(), ["second", "third"]);
      held.release();
      await app.transcript.getByText("Third done.").waitFor();
      await app.finished();
      assert.equal(await queue.count(), 0);
      const tasks = provider.requests.map(({ body }) => JSON.parse(body).messages.at(-1).content);
      assert.deepEqual(
        tasks.map((content) => JSON.stringify(content).match(/first|second|third/)?.[0]),
        ["first", "second", "third"],
      );
    });
  },

  async "Stop sends nothing of the queue, which waits for the user"({ page, url }) {
    const held = heldReply("late");
    await withProvider(page, url, [held.promise, "Sent."], async (app, provider) => {
      await app.ask("first");
      await app.input.fill("second");
      await page.getByRole("button", { name: "Queue", exact: true }).click();
      await page.getByRole("button", { name: "Stop" }).click();
      await app.finished();
      await page.getByText("the last task did not end by itself").waitFor();
      await page.waitForTimeout(200);
      assert.equal(provider.requests.length, 1);
      await page.getByRole("button", { name: "Send now: second" }).click();
      await app.transcript.getByText("Sent.").waitFor();
      held.release();
    });
  },

  async "a message is edited and sent again, and its dialog says what becomes of the files"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait('add a heading "Notes" with "None." to README.md after "Licence"');
    await app.askAndWait(RENAME);
    assert.match(await app.changes(), /5 changes in 3 files/);
    await app.transcript.locator(".entry.user").last().hover();
    await page.getByRole("button", { name: `Edit and send again: ${RENAME}` }).click();
    const dialog = page.getByRole("dialog", { name: "Edit and send again" });
    await dialog.getByText("These files change: README.md, docs/handbook.md, src/loans.ts.").waitFor();
    await dialog.getByRole("radio", { name: /Only the conversation/ }).check();
    await dialog.getByText("No file changes.").waitFor();
    await dialog.getByRole("radio", { name: /Conversation and files/ }).check();
    await dialog.getByRole("button", { name: "Go back" }).click();
    await app.says("The files are as before the task");
    assert.equal(await app.input.inputValue(), RENAME);
    assert.match(await app.changes(), /1 change in 1 file/);
    assert.equal(await app.transcript.locator(".entry.user").count(), 1);
    await app.input.fill("rename loanDays to days");
    await app.input.press("Enter");
    await app.finished();
    assert.match(await app.changes(), /5 changes in 3 files/);
    // The former conversation is still there, and a reload keeps both.
    await reload(page);
    await app.transcript.locator(".entry.user", { hasText: "rename loanDays to days" }).waitFor();
    assert.match(await app.changes(), /5 changes in 3 files/);
    await page.getByRole("combobox", { name: "Conversation" }).selectOption({ index: 0 });
    await app.transcript.locator(".entry.user", { hasText: RENAME }).waitFor();
    assert.equal(await app.transcript.locator(".entry.user").count(), 2);
  },

  async "the project goes back to before a task with the user's own lines, and Undo brings the task back"({
    page,
    url,
  }) {
    const app = await openApp(page, url);
    await app.openFolder({ "a.txt": "foo one\nmiddle\nfoo two\n", "b.txt": "foo\n" });
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename foo to bar");
    await app.openFile("b.txt");
    await page.getByRole("button", { name: "Accept file" }).click();
    await app.says("Accepted 1 change");
    await app.openFile("a.txt");
    await page.locator(".cm-line", { hasText: "middle" }).click();
    await page.keyboard.press("End");
    await page.keyboard.type(" of mine");
    await page.keyboard.press("Control+s");
    await app.says("Saved 2 files.");
    await menu(page, "Checkpoints…");
    const dialog = page.getByRole("dialog", { name: "Checkpoints" });
    await dialog.getByRole("button", { name: /rename foo to bar.*changed 2 files/ }).waitFor();
    await dialog.getByRole("group", { name: "Before the task → now: a.txt" }).getByText("bar one").waitFor();
    await dialog.getByLabel("Compare").selectOption("On disk → before the task");
    await dialog.getByText("No difference.").waitFor();
    await dialog.getByRole("button", { name: /^Go back/ }).click();
    const question = page.getByRole("dialog", { name: "Go back to before this task" });
    await question.getByRole("radio", { name: /Only the files/ }).check();
    await question.getByRole("button", { name: "Go back", exact: true }).click();
    await app.says("The files are as before the task");
    assert.equal(await app.text(), "foo one\nmiddle of mine\nfoo two\n");
    assert.match(await app.changes(), /Nothing to review/);
    // The accepted text is on the disk; going back makes it unsaved, and does not change the disk itself.
    await page.getByRole("button", { name: /^Save all 1 changed file/ }).waitFor();
    assert.equal(await app.readSaved("b.txt"), "bar\n");
    await page.getByRole("button", { name: "Undo going back to before a task" }).first().click();
    await app.hunks(2);
    await page.getByRole("button", { name: /everything is saved/ }).waitFor();
    await page.getByRole("button", { name: "Redo going back to before a task" }).click();
    await app.hunks(0);
    await reload(page);
    await app.row("b.txt").waitFor();
    assert.equal(await app.text(), "foo one\nmiddle of mine\nfoo two\n");
    await page.getByRole("button", { name: "Undo going back to before a task" }).first().click();
    await app.hunks(2);
  },

  async "one file alone gets its text from before a task"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait(RENAME);
    await app.showReview();
    await page.getByRole("button", { name: "Accept all", exact: true }).click();
    await app.says("Accepted 4 changes");
    await menu(page, "Checkpoints…");
    const dialog = page.getByRole("dialog", { name: "Checkpoints" });
    await dialog.getByLabel("File", { exact: true }).selectOption("src/loans.ts");
    await dialog.getByRole("button", { name: "Put only this file back" }).click();
    await dialog.getByText("No difference.").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await app.openFile("src/loans.ts");
    await page.locator(".cm-line", { hasText: "loanDays" }).first().waitFor();
    await app.openFile("README.md");
    await page.locator(".cm-line", { hasText: "seasonDays" }).first().waitFor();
  },

  async "a command asks first, runs in the emulated shell, and a refusal reaches the model"({ page, url }) {
    const command = (text) => ({ name: "Bash", input: { command: text } });
    const replies = [command("ls docs | sort"), command("rm README.md"), "As you wish."];
    const provider = await startProvider("sk-test", replies);
    try {
      const app = await openApp(page, url);
      await choose(page, { "Let the assistant run commands": true });
      await page.getByRole("button", { name: "Sample project" }).waitFor({ state: "detached" });
      // The shell is there from the next project on.
      await page.getByLabel("Files to open").setInputFiles([
        { name: "README.md", mimeType: "text/plain", buffer: Buffer.from("# Hello\n") },
        { name: "b.txt", mimeType: "text/plain", buffer: Buffer.from("b\n") },
      ]);
      await app.row("b.txt").waitFor();
      await app.chooseModel({ apiKey: "sk-test", model: "claude-sonnet-5-5", baseUrl: provider.url });
      await app.ask("what is in docs?");
      const card = page.getByRole("group", { name: /^The assistant wants to use/ });
      await card.getByText("ls docs | sort").waitFor();
      await page.locator(".activity", { hasText: "Waiting for your decision" }).waitFor();
      await card.getByRole("button", { name: /^Allow/ }).focus();
      await page.keyboard.press("y");
      await card.getByText("rm README.md").waitFor({ timeout: 40_000 });
      await card.getByLabel("Reason to refuse").fill("keep it");
      await card.getByRole("button", { name: /^Refuse/ }).click();
      await app.finished();
      await app.transcript.getByText("As you wish.").waitFor();
      assert.match(JSON.stringify(JSON.parse(provider.requests.at(-1).body).messages), /keep it/);
      assert.equal(await app.row("README.md").count(), 1);
      const before = await app.transcript.textContent();
      await reload(page);
      await app.transcript.getByText("As you wish.").waitFor();
      const lasting = (text) => text.replace(/\d+ ms| · \$[\d.]+/g, "");
      assert.equal(lasting(await app.transcript.textContent()), lasting(before));
    } finally {
      await provider.close();
    }
  },

  async "a question of the model is a card whose answers are sent by a click"({ page, url }) {
    const input = { question: "Which **tone**?", options: ["formal", "friendly"] };
    await withProvider(page, url, [{ name: "AskUserQuestion", input }, "Friendly it is."], async (app, provider) => {
      await app.ask("write a greeting");
      await app.finished();
      const card = page.getByRole("group", { name: "Question" });
      await card.getByText("Which tone?").waitFor();
      await card.getByRole("button", { name: "friendly" }).click();
      await app.transcript.getByText("Friendly it is.").waitFor();
      assert.match(provider.requests.at(-1).body, /friendly/);
      assert.equal(await card.getByRole("button", { name: "formal" }).isDisabled(), true);
    });
  },

  async "a subagent has a transcript of its own"({ page, url }) {
    const task = { name: "Task", input: { prompt: "count the files" } };
    const replies = [task, { name: "Glob", input: { pattern: "**/*" } }, "Seven.", "There are seven."];
    await withProvider(page, url, replies, async (app, provider) => {
      await choose(page, { "Let the assistant start subagents": true });
      await app.ask("how many files are there?");
      await app.finished();
      const offered = JSON.parse(provider.requests[0].body).tools.map((tool) => tool.name);
      assert.ok(offered.includes("Task"), offered.join());
      const agent = app.transcript.locator(".entry.agent");
      await agent.locator("summary", { hasText: "count the files" }).first().click();
    });
  },

  async "the page shows what a conversation cost, and a task stops at its limit"({ page, url }) {
    const read = { name: "Read", input: { file_path: "README.md" } };
    await withProvider(page, url, ["Hello.", read, read, "never"], async (app) => {
      await app.askAndWait("hello");
      await app.transcript.locator(".entry.end", { hasText: /22 tokens: 10 in, 12 out · \$0\.000\d/ }).waitFor();
      await page.locator(".composer-spent", { hasText: /22 tokens · \$0\.000\d/ }).waitFor();
      await choose(page, { "Limit of a task in tokens": "30" });
      await page.locator(".composer-spent", { hasText: "limit 30 tokens a task" }).waitFor();
      await app.askAndWait("read it twice");
      await app.transcript.getByText("The task reached your limit of 30 tokens.").waitFor();
      await app.transcript.locator(".entry.end", { hasText: "Stopped at the limit of the budget" }).waitFor();
      await app.transcript.locator(".notice").getByRole("button", { name: "Continue" }).click();
      await app.transcript.locator(".entry.user", { hasText: "continue" }).waitFor();
    });
  },

  async "selected lines go with the message, and file names complete after an at sign"({ page, url }) {
    await withProvider(page, url, ["Seen."], async (app, provider) => {
      await app.openFile("src/loans.ts");
      await app.editor.click();
      await page.keyboard.press("Control+Home");
      await page.keyboard.press("Shift+ArrowDown");
      await page.keyboard.press("Shift+ArrowDown");
      await page.keyboard.press("Alt+c");
      await page.waitForFunction(() => document.activeElement?.tagName === "TEXTAREA");
      const chips = page.getByRole("list", { name: "Goes with the message" });
      await chips.getByText("loans.ts, lines 1 to 2").waitFor();
      await page.keyboard.type("compare with @handb");
      await page.getByRole("option", { name: /handbook\.md/ }).waitFor();
      await page.keyboard.press("Tab");
      assert.equal(await app.input.inputValue(), "compare with @docs/handbook.md ");
      await page.keyboard.press("Enter");
      await app.finished();
      const body = provider.requests[0].body;
      assert.match(body, /compare with @docs\/handbook\.md/);
      assert.match(body, /In src\/loans\.ts, lines 1 to 2:\\n```\\n/);
      assert.equal(await chips.count(), 0);
    });
  },

  async "the events of a run are listed, filtered and downloaded"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait(RENAME);
    await menu(page, "Events…");
    const dialog = page.getByRole("dialog", { name: "Events" });
    await dialog.getByLabel("Kind of event").selectOption("Tool calls");
    await dialog.getByLabel("Text in events").fill("handbook");
    const rows = dialog.getByRole("list", { name: "Events" }).locator("li");
    const shown = await rows.count();
    assert.ok(shown >= 4 && shown <= 12, `${shown} events`);
    await rows.first().locator("summary").click();
    await rows.first().locator("pre", { hasText: "docs/handbook.md" }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      dialog.getByRole("button", { name: /^Download \d+ events/ }).click(),
    ]);
    const chunks = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk);
    const lines = Buffer.concat(chunks)
      .toString()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.equal(lines.length, shown);
    assert.ok(lines.every(({ kind }) => /^(TOOL|APPROVAL)_/.test(kind)));
  },

  async "conversations are found by their text, renamed and opened, and a reload keeps their titles"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait(RENAME);
    await page.getByRole("button", { name: "New conversation" }).click();
    await app.askAndWait("hello there");
    await menu(page, "Conversations…");
    const dialog = page.getByRole("dialog", { name: "Conversations" });
    await dialog.getByLabel("Text in conversations").fill("SEASONDAYS");
    await dialog.getByText("1 conversation").waitFor();
    await dialog.getByRole("button", { name: `Rename: ${RENAME}` }).click();
    await dialog.getByLabel("Title").fill("The season");
    await page.keyboard.press("Enter");
    await dialog.getByLabel("Text in conversations").fill("");
    await dialog.getByRole("button", { name: /^The season/ }).click();
    await app.transcript.locator(".entry.user", { hasText: RENAME }).waitFor();
    await reload(page);
    await app.transcript.locator(".entry.user", { hasText: RENAME }).waitFor();
    await page.getByRole("combobox", { name: "Conversation" }).locator("option", { hasText: "1: The season" }).waitFor({
      state: "attached",
    });
  },

  async "the browser tells when a task ends while the page is hidden"({ page, url }) {
    await page.addInitScript(() => {
      window.shown = [];
      window.Notification = class {
        static permission = "granted";
        constructor(title, options) {
          window.shown.push(`${title}: ${options.body}`);
        }
      };
    });
    const app = await openApp(page, url);
    await choose(page, { "Tell me when it is done or waits": true });
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("hello");
    assert.deepEqual(await page.evaluate(() => window.shown), [], "the page is visible");
    await page.evaluate(() => Object.defineProperty(document, "hidden", { value: true }));
    await app.askAndWait(RENAME);
    await page.waitForFunction(() => window.shown.length > 0);
    const [text] = await page.evaluate(() => window.shown);
    assert.equal(text, "seed-library: The assistant has finished. 4 changes in 3 files to review.");
  },
};
