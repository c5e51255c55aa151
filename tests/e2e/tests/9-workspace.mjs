// Finding and switching between files, and the page on a phone.
import assert from "node:assert/strict";
import { menu, openApp } from "../app.mjs";
import { heldReply, startProvider } from "../provider.mjs";

export const tests = {
  async "a file is opened by letters of its name, and a text is found in all files"({ page, url }) {
    const app = await openApp(page, url);
    await page.keyboard.press("Control+p");
    const dialog = page.getByRole("dialog", { name: "Open a file" });
    await page.keyboard.type("handb");
    await dialog.getByRole("option", { name: /handbook\.md/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".tree-row.selected").and(app.row("docs/handbook.md")).waitFor();

    await page.keyboard.press("Control+Shift+F");
    const search = page.getByRole("dialog", { name: "Find in files" });
    await page.keyboard.type("LOANDAYS");
    await search.getByText("4 results").waitFor();
    await search
      .getByRole("option", { name: /^src\/loans\.ts:\d+/ })
      .first()
      .click();
    await page.locator(".tree-row.selected").and(app.row("src/loans.ts")).waitFor();
    await page.locator(".cm-activeLine", { hasText: "loanDays" }).waitFor();
  },

  async "open files have tabs, which the keyboard reaches and closes"({ page, url }) {
    const app = await openApp(page, url);
    await app.openFile("src/loans.ts");
    await app.openFile("docs/handbook.md");
    const names = () => page.getByRole("tab").allTextContents();
    const selected = (name) => page.locator('[role="tab"][aria-selected="true"]', { hasText: name }).waitFor();
    assert.deepEqual(await names(), ["README.md", "loans.ts", "docs/handbook.md", "Review changes0"]);
    await page.getByRole("tab", { name: "README.md" }).click();
    await selected("README.md");
    await page.locator("#tab-editor").focus();
    await page.keyboard.press("ArrowRight");
    await selected("loans.ts");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    await selected("Review changes");
    await page.keyboard.press("ArrowLeft");
    await selected("handbook.md");
    await page.waitForFunction(() => document.activeElement?.id === "tab-editor");
    await page.keyboard.press("Delete");
    await selected("loans.ts");
    await page.getByRole("tab", { name: "README.md" }).click({ button: "middle" });
    await page.waitForFunction(() => document.querySelectorAll('[role="tab"]').length === 2);
  },

  async "equal changes are decided as one step"({ page, url }) {
    const app = await openApp(page, url);
    const saved = await app.openFolder({
      "a.txt": "foo one\n1\n2\n3\n4\n5\n6\nfoo two\n",
      "b.txt": "a foo b\n",
      "c.txt": "z\n",
    });
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename foo to bar");
    await app.askAndWait("rename z to y");
    await app.showReview();
    const group = page.getByRole("region", { name: "Equal changes" });
    await group.getByText("in 2 files").waitFor();
    await group.getByRole("button", { name: "Accept 3 equal changes of foo to bar" }).click();
    await app.says("Accepted 3 changes. 1 left to review.");
    await page.keyboard.press("Control+s");
    await app.says("Saved 2 files. 1 change still to review is not saved.");
    assert.equal(await saved("b.txt"), "a bar b\n");
    await page.getByRole("button", { name: /^Undo accept in all files/ }).click();
    await page.waitForFunction(() => document.querySelectorAll(".hunk-card").length === 4);
    await group.getByRole("button", { name: "Reject 3 equal changes of foo to bar" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".hunk-card").length === 1);
  },

  async "a phone shows one pane at a time, with large targets"({ page, url }) {
    const app = await openApp(page, url);
    await page.setViewportSize({ width: 390, height: 844 });
    const panes = page.getByRole("navigation", { name: "Panes" });
    const show = (name) => panes.getByRole("button", { name }).click();
    const small = () =>
      page.evaluate(() =>
        [...document.querySelectorAll("button, summary, select, [role=treeitem]")]
          .filter((node) => node.checkVisibility())
          .map((node) => ({ name: node.ariaLabel ?? node.textContent, box: node.getBoundingClientRect() }))
          .filter(({ box }) => box.height < 44 || box.width < 24)
          .map(({ name, box }) => `${name} ${Math.round(box.width)}×${Math.round(box.height)}`),
      );
    const visible = async () => ({
      files: await page.locator(".files-pane").isVisible(),
      middle: await page.locator(".editor-pane").isVisible(),
      chat: await page.locator(".chat-pane").isVisible(),
    });
    assert.deepEqual(await visible(), { files: false, middle: true, chat: false });
    assert.deepEqual(await small(), []);
    await show("Files");
    assert.deepEqual(await visible(), { files: true, middle: false, chat: false });
    assert.deepEqual(await small(), []);
    await app.row("src/loans.ts").click();
    await page.locator(".cm-line", { hasText: "loanDays" }).first().waitFor();
    await show("Chat");
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename loanDays to seasonDays");
    assert.deepEqual(await small(), []);
    await page.getByRole("button", { name: "Review", exact: true }).click();
    await app.cards.first().waitFor();
    assert.deepEqual(await visible(), { files: false, middle: true, chat: false });
    assert.deepEqual(await small(), []);
    await page.getByRole("button", { name: "Accept all", exact: true }).click();
    await page.getByText("Nothing to review.").waitFor();
    assert.deepEqual(await small(), []);
  },

  async "a phone shows a request of the assistant first, and marks the conversation that has one"({ page, url }) {
    const input = { question: "Which **tone**?", options: ["formal", "friendly"] };
    const asked = heldReply({ name: "AskUserQuestion", input });
    const command = heldReply({ name: "Bash", input: { command: "ls" } });
    const provider = await startProvider("sk-test", [asked.promise, command.promise, "Done."]);
    try {
      const app = await openApp(page, url);
      await page.setViewportSize({ width: 390, height: 844 });
      const panes = page.getByRole("navigation", { name: "Panes" });
      const tab = (name) => panes.getByRole("button", { name });
      await menu(page, "Options…");
      const options = page.getByRole("dialog", { name: "Options" });
      await options.getByLabel("Let the assistant run commands").check();
      await options.getByRole("button", { name: "Use these options" }).click();
      await page
        .getByLabel("Files to open")
        .setInputFiles([{ name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("a\n") }]);
      await tab("Files").click();
      await app.row("a.txt").waitFor();
      await tab("Chat").click();
      await app.chooseModel({ apiKey: "sk-test", model: "claude-sonnet-5-5", baseUrl: provider.url });
      await app.ask("write a greeting");
      await tab("Text").click();
      asked.release();
      const question = page.getByRole("group", { name: "Question" });
      await question.getByRole("button", { name: "friendly" }).waitFor();
      await tab("Chat 1 request waits for you").waitFor();
      await question.getByRole("button", { name: "friendly" }).click();
      await tab("Text").click();
      // Keys of the user do not go astray: the conversation is only marked.
      await app.editor.click();
      await page.keyboard.type("x");
      command.release();
      await tab("Chat 1 request waits for you").waitFor();
      assert.equal(await app.editor.isVisible(), true);
      await tab("Chat").click();
      const card = page.getByRole("group", { name: /^The assistant wants to use/ });
      await card.getByRole("button", { name: /^Allow/ }).click();
      await app.transcript.getByText("Done.", { exact: true }).waitFor();
      assert.equal(await tab("Chat").textContent(), "Chat");
    } finally {
      await provider.close();
    }
  },
};
