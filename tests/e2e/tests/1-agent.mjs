// Working with the assistant: streamed runs, taking over, stopping, models.
import assert from "node:assert/strict";
import { openApp } from "../app.mjs";
import { heldReply, startProvider } from "../provider.mjs";

const RENAME = "rename loanDays to seasonDays";

/** A change of the file that the page shows first. */
const TITLE_EDIT = { file_path: "README.md", old_string: "# Seed library", new_string: "# Seeds" };

export const tests = {
  async "the page starts on the sample project with nothing to review or save"({ page, url }) {
    const app = await openApp(page, url);
    assert.match(await app.text(), /^# Seed library\n/);
    assert.equal(await page.locator(".tree-row.file").count(), 7);
    assert.equal(await app.bars.count(), 0);
    await page.getByText("Nothing to review").first().waitFor();
    await page.getByRole("button", { name: /0 changed files: everything is saved/ }).waitFor();
    await page.getByRole("button", { name: "Model: Offline model (no AI). Change" }).waitFor();
  },

  async "an offline rename streams its text, shows its tool calls and leaves hunks to decide on"({ page, url }) {
    const app = await openApp(page, url);
    // The page itself records the streaming text, so that no state is missed.
    await page.evaluate(() => {
      window.seen = new Set();
      new MutationObserver(() => {
        const text = document.querySelector(".entry.assistant.streaming")?.textContent;
        if (text) window.seen.add(text);
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    await app.askAndWait(RENAME);
    const seen = await page.evaluate(() => [...window.seen]);
    assert.ok(seen.length >= 3, `the text appeared in ${seen.length} steps`);
    assert.ok(
      seen.some((text, index) => index > 0 && text.startsWith(seen[index - 1])),
      "no text grew",
    );

    const calls = await app.toolCalls();
    assert.equal(calls[0], "grep");
    assert.ok(calls.indexOf("read_file") < calls.indexOf("edit_file"), `in order: ${calls}`);
    const first = app.transcript.locator(".entry.call").first();
    await first.locator("summary").click();
    await first.getByText("pattern:").waitFor();
    await first.getByRole("heading", { name: "Output" }).waitFor();

    await app.hunks(1);
    for (const [path, count] of [
      ["README.md", "1"],
      ["docs/handbook.md", "1"],
      ["src/loans.ts", "2"],
    ]) {
      assert.equal(await app.row(path).locator(".pending-count").textContent(), count, path);
    }
    assert.match(await app.text(), /`seasonDays`/);
    await page.locator(".removed-line", { hasText: "`loanDays`" }).waitFor();
    await page.getByRole("button", { name: /0 changed files: everything is saved/ }).waitFor();
  },

  async "a key typed while the assistant holds the file is kept and takes the file back"({ page, url }) {
    const edit = heldReply({ name: "Edit", input: TITLE_EDIT });
    const provider = await startProvider("right", [
      { name: "Read", input: { file_path: "README.md" } },
      edit.promise,
      { name: "Write", input: { file_path: "notes/new.md", content: "# New\n" } },
    ]);
    try {
      const app = await openApp(page, url);
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
      await app.editor.click();
      await page.keyboard.press("Control+Home");
      await app.ask("shorten the title");
      await app.editor.focus();
      await app.lease.getByText("Assistant editing canvas… press Esc or type to take control").waitFor();
      assert.ok(await page.locator(".canvas.leased").isVisible());
      await page
        .locator("[aria-live=polite]", { hasText: "The assistant is editing README.md" })
        .waitFor({ state: "attached" });
      await page.keyboard.type("Q");
      await app.lease.waitFor({ state: "detached", timeout: 2_000 });
      edit.release();
      await app.finished();
      assert.equal(await app.leaseRecord.getAttribute("data-state"), "preempted");
      assert.match(await app.text(), /^Q# Seed library\n/, "the assistant wrote although the user had taken over");
      // The assistant continued in other files.
      await page.locator(".tree-row[data-path='notes/new.md'] .pending-count").waitFor();
      await app.page.getByRole("button", { name: /^(Save all|Download) 1 changed file/ }).waitFor();
    } finally {
      await provider.close();
    }
  },

  async "typing all through a run loses no character, and what is shown is what is saved"({ page, url }) {
    const app = await openApp(page, url);
    const lines = Array.from({ length: 12 }, (_, index) => `line ${index} has foo in it\r\n`);
    const saved = await app.openFolder({ "long.md": `\r\n${lines.join("")}` });
    await app.chooseModel({ pace: "slow" });
    await app.openFile("long.md");
    await app.editor.click();
    await page.keyboard.press("Control+Home");
    await app.ask("rename foo to bar");
    await app.editor.focus();
    const typed = "all of this was typed while the assistant was at work ".repeat(3);
    await page.keyboard.type(typed, { delay: 25 });
    await app.finished();
    const text = await app.text();
    assert.equal(text.split("\n")[0], typed);
    // The assistant's edits are rejected or merged with the typing. In either case every line occurs once.
    assert.equal(text.split("\n").length, 14);
    await page.keyboard.press("Control+s");
    await app.says("Saved long.md");
    await app.showReview();
    if ((await app.cards.count()) > 0) await page.getByRole("button", { name: "Accept all", exact: true }).click();
    await page.keyboard.press("Control+s");
    await page.getByRole("button", { name: /0 changed files: everything is saved/ }).waitFor();
    assert.equal(await saved("long.md"), text.replaceAll("\n", "\r\n"));
  },

  async "Esc takes the file back without changing it"({ page, url }) {
    const edit = heldReply({ name: "Edit", input: TITLE_EDIT });
    const provider = await startProvider("right", [{ name: "Read", input: { file_path: "README.md" } }, edit.promise]);
    try {
      const app = await openApp(page, url);
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
      const before = await app.text();
      await app.ask("shorten the title");
      await app.editor.focus();
      await app.lease.waitFor();
      await page.keyboard.press("Escape");
      await app.lease.waitFor({ state: "detached", timeout: 2_000 });
      edit.release();
      await app.finished();
      assert.equal(await app.text(), before);
      await app.transcript.locator(".entry.call.failed").first().waitFor();
      assert.equal(await app.leaseRecord.getAttribute("data-state"), "preempted");
    } finally {
      await provider.close();
    }
  },

  async "Stop ends the run at once, earlier edits stay pending, and the next message works"({ page, url }) {
    const never = heldReply("").promise;
    const read = { name: "Read", input: { file_path: "README.md" } };
    const provider = await startProvider("right", [read, never, { name: "Edit", input: TITLE_EDIT }, never]);
    try {
      const app = await openApp(page, url);
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
      await app.ask("read the README");
      await app.transcript.locator(".entry.call").first().waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      await app.transcript.getByText(/^Stopped/).waitFor();
      await app.finished();
      await page.getByText("No changes to review", { exact: true }).waitFor();

      await app.ask("shorten the title");
      await page.locator(".tree-row[data-path='README.md'] .pending-count").waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      await app.transcript
        .getByText(/^Stopped/)
        .nth(1)
        .waitFor();
      await app.finished();
      await app.hunks(1);

      await app.chooseModel({ pace: "instant" });
      await app.askAndWait("rename packetsLeft to bagsLeft");
      await page.locator(".tree-row[data-path='src/catalog.ts'] .pending-count").waitFor();
    } finally {
      await provider.close();
    }
  },

  async "an unknown instruction is answered with the list of known ones"({ page, url }) {
    const app = await openApp(page, url);
    await app.askAndWait("make everything nicer");
    const answer = await app.transcript.locator(".entry.assistant").last().textContent();
    for (const known of ["rename", "replace", "table of contents", "sort the list", "heading"]) {
      assert.ok(answer.includes(known), `${known} is not in: ${answer}`);
    }
    assert.deepEqual(await app.toolCalls(), []);
  },

  async "every offered example works and leaves changes to review"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    const examples = await page.getByRole("list", { name: "Examples" }).getByRole("button").allTextContents();
    assert.ok(examples.length >= 5);
    for (const example of examples) {
      const before = await app.changes();
      await app.askAndWait(example);
      assert.notEqual(await app.changes(), before, `nothing came of: ${example}`);
    }
  },

  async "a wrong key is reported with a link to the settings, and is not stored"({ page, url }) {
    const provider = await startProvider("right");
    try {
      const app = await openApp(page, url);
      await app.chooseModel({ apiKey: "wrong", baseUrl: provider.url });
      await app.askAndWait("hello");
      const alert = app.transcript.getByRole("alert");
      await alert.getByText("The provider refused the API key.").waitFor();
      await alert.getByText("Details").click();
      await alert.getByText("Code: authentication").waitFor();
      await alert.getByText("It says: invalid x-api-key.").waitFor();
      assert.deepEqual(
        provider.requests.map((request) => request.key),
        ["wrong"],
      );
      await alert.getByRole("button", { name: "Model settings" }).click();
      await page.getByRole("dialog", { name: "Model" }).waitFor();
      const stored = await page.evaluate(() => JSON.stringify(localStorage));
      assert.ok(!stored.includes("wrong"), `the key was stored: ${stored}`);
    } finally {
      await provider.close();
    }
  },

  async "a provider's streamed answer and tool call work, and a remembered key is there after a reload"({ page, url }) {
    const provider = await startProvider("right", [
      { name: "Read", input: { file_path: "README.md" } },
      { name: "Edit", input: TITLE_EDIT },
      "I shortened the title.",
    ]);
    try {
      const app = await openApp(page, url);
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url, remember: true });
      await app.askAndWait("shorten the title");
      await app.transcript.getByText("I shortened the title.").waitFor();
      assert.deepEqual(await app.toolCalls(), ["Read", "Edit"]);
      await app.hunks(1);
      assert.match(await app.text(), /^# Seeds\n/);
      assert.ok(provider.requests.every((request) => request.key === "right"));
      await page.reload();
      await page.getByRole("button", { name: /^Model: claude/ }).waitFor();
    } finally {
      await provider.close();
    }
  },

  async "a file that the assistant creates exists until it is rejected, and is saved when accepted"({ page, url }) {
    const provider = await startProvider("right", [
      { name: "Write", input: { file_path: "notes/new.md", content: "# New\n" } },
      "Made it.",
    ]);
    try {
      const app = await openApp(page, url);
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
      await app.askAndWait("make a note");
      await app.openFile("notes/new.md");
      await app.hunks(1);
      await page.getByRole("button", { name: "Reject change 1 of 1" }).click();
      await page.getByText("This file no longer exists.").waitFor();
      await app.row("notes/new.md").waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Undo reject in new.md" }).click();
      await app.row("notes/new.md").waitFor();
      await app.hunks(1);
      assert.equal(await app.text(), "# New\n");
      await page.getByRole("button", { name: "Accept change 1 of 1" }).click();
      await page.getByRole("button", { name: /^(Save all|Download) 1 changed file/ }).waitFor();
    } finally {
      await provider.close();
    }
  },

  async "an unreachable address is reported as a network problem"({ page, url }) {
    const provider = await startProvider("right");
    await provider.close();
    const app = await openApp(page, url);
    await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
    await app.ask("hello");
    const alert = app.transcript.getByRole("alert");
    await alert.getByText("The provider could not be reached.").waitFor({ timeout: 45_000 });
    await alert.getByText("Details").click();
    await alert.getByText("Code: network").waitFor();
  },
};
