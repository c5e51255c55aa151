// The page itself: files, saving, leaving, width, accessible names, and the content security policy.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, openApp, openSample } from "../app.mjs";
import { startProvider } from "../provider.mjs";

export const tests = {
  async "a folder can be opened with a plain input and saves as a download"({ page, url }) {
    const folder = await mkdtemp(join(tmpdir(), "emend-e2e-"));
    try {
      await mkdir(join(folder, "node_modules"));
      await mkdir(join(folder, "docs"));
      await writeFile(join(folder, "node_modules/x.js"), "skipped");
      await writeFile(join(folder, "docs/a.md"), "\uFEFF# A\r\n");
      await writeFile(join(folder, "b.bin"), Buffer.from([0, 159, 146, 150]));
      const app = await openApp(page, url);
      await page.getByLabel("Folder to open").setInputFiles(folder);
      await app.row("docs/a.md").waitFor();
      assert.equal(await page.locator(".tree-row.file").count(), 2);
      await app.says("Skipped: node_modules/");

      await app.row("b.bin").click();
      await page.locator(".canvas .empty").waitFor();
      await app.openFile("docs/a.md");
      await app.editor.click();
      await page.keyboard.press("Control+End");
      await page.keyboard.type("text");
      const downloading = page.waitForEvent("download");
      await page.getByRole("button", { name: /^Download 1 changed file/ }).click();
      const download = await downloading;
      assert.equal(download.suggestedFilename(), "a.md");
      const chunks = [];
      for await (const chunk of await download.createReadStream()) chunks.push(chunk);
      assert.equal(Buffer.concat(chunks).toString(), "\uFEFF# A\r\ntext");
      await page.getByRole("button", { name: /0 changed files: everything is saved/ }).waitFor();
    } finally {
      await rm(folder, { recursive: true });
    }
  },

  async "a file that programs run reaches the folder only once the user has accepted it"({ page, url }) {
    const write = (path) => ({ name: "Write", input: { file_path: path, content: "run me\n" } });
    const paths = [".envrc", ".vscode/tasks.json", ".git/hooks/post-commit"];
    const provider = await startProvider("right", paths.map(write));
    try {
      const app = await openApp(page, url);
      const saved = await app.openFolder({ "a.txt": "one\n" });
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
      await app.askAndWait("set the project up");
      // Also if the user saves meanwhile.
      await app.openFile("a.txt");
      await app.editor.click();
      await page.keyboard.type("x");
      await page.keyboard.press("Control+s");
      await app.says("Saved a.txt.");
      for (const path of paths) await assert.rejects(saved(path), /NotFoundError/, path);
      await app.showReview();
      assert.equal(await app.cards.count(), paths.length);
      await page.getByRole("button", { name: "Reject file .envrc" }).click();
      await page.getByRole("button", { name: "Accept all", exact: true }).click();
      await page.getByText("Nothing to review.").waitFor();
      await page.getByRole("button", { name: /^Save all 2 changed files/ }).click();
      await app.says("Saved");
      await page.getByRole("button", { name: /0 changed files: everything is saved/ }).waitFor();
      await assert.rejects(saved(".envrc"), /NotFoundError/);
      assert.equal(await saved(".vscode/tasks.json"), "run me\n");
    } finally {
      await provider.close();
    }
  },

  async "a new file is saved into the folder, and a file changed outside is not replaced unasked"({ page, url }) {
    const app = await openApp(page, url);
    const saved = await app.openFolder({ "a.txt": "one\n" });
    await page.getByRole("button", { name: "New file" }).click();
    const dialog = page.getByRole("dialog", { name: "New file" });
    await dialog.getByLabel("Path in the project").fill("../x");
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByText("must not contain").waitFor();
    await dialog.getByLabel("Path in the project").fill("sub/new.md");
    await dialog.getByRole("button", { name: "Create" }).click();
    // The row of the new file appears before its editor has the focus.
    await page.locator('.cm-content:focus[aria-label="Text of sub/new.md"]').waitFor();
    await page.keyboard.type("hello");
    await page.keyboard.press("Control+s");
    await app.says("Saved new.md.");
    assert.equal(await saved("sub/new.md"), "hello");

    await app.openFile("a.txt");
    await app.editor.click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("two");
    await page.evaluate(async () => {
      const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("project");
      const stream = await (await folder.getFileHandle("a.txt")).createWritable();
      await stream.write("other\n");
      await stream.close();
    });
    await page.keyboard.press("Control+s");
    const question = page.getByRole("dialog", { name: "Replace the file on disk?" });
    await question.getByRole("button", { name: "Cancel" }).click();
    assert.equal(await saved("a.txt"), "other\n");
    await page.keyboard.press("Control+s");
    await question.getByRole("button", { name: "Replace" }).click();
    await app.says("Saved a.txt.");
    assert.equal(await saved("a.txt"), "one\ntwo");
  },

  async "leaving the page asks first only while changes would be lost"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename loanDays to seasonDays");
    const asked = page.waitForEvent("dialog");
    const reloading = page.reload({ timeout: 3_000 }).catch(() => undefined);
    const question = await asked;
    assert.equal(question.type(), "beforeunload");
    await question.dismiss();
    await reloading;
    await app.showReview();
    await page.getByRole("button", { name: "Reject all", exact: true }).click();
    await page.getByText("Nothing to review.").waitFor();
    let unexpected = false;
    page.on("dialog", (dialog) => {
      unexpected = true;
      void dialog.accept();
    });
    await page.reload();
    await app.row("README.md").waitFor();
    assert.equal(unexpected, false);
  },

  async "opening another project asks before it drops unsaved work"({ page, url }) {
    const app = await openApp(page, url);
    await app.editor.click();
    await page.keyboard.type("x");
    await page.getByRole("button", { name: /^(Save all|Download) 1 changed file/ }).waitFor();
    await page
      .getByLabel("Files to open")
      .setInputFiles({ name: "z.txt", mimeType: "text/plain", buffer: Buffer.from("z") });
    const question = page.getByRole("dialog", { name: "Open another project?" });
    await question.getByText("1 unsaved file").waitFor();
    await page.keyboard.press("Escape");
    await app.row("README.md").waitFor();
    assert.equal(await app.row("z.txt").count(), 0);
  },

  async "opening another project during a run leaves nothing of the run behind"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "slow" });
    await app.ask("rename loanDays to seasonDays");
    await app.transcript.locator(".entry.call").first().waitFor();
    await page
      .getByLabel("Files to open")
      .setInputFiles({ name: "z.txt", mimeType: "text/plain", buffer: Buffer.from("z") });
    await app.row("z.txt").waitFor();
    await page.waitForTimeout(1_000);
    await page.getByText("What should I change?").waitFor();
    assert.equal(await page.locator(".tree-row.file").count(), 1);
    assert.equal(await app.transcript.locator(".entry").count(), 0);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename z to y");
    await app.hunks(1);
  },

  async "every button and field has a name of its own, in every view"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename loanDays to seasonDays");
    const nameless = () =>
      page.evaluate(() => {
        const name = (node) =>
          node.getAttribute("aria-label") || node.labels?.[0]?.textContent || node.textContent?.trim() || "";
        const controls = [...document.querySelectorAll("button, input, textarea, select, [role=treeitem]")];
        return controls.filter((node) => node.checkVisibility() && name(node) === "").map((node) => node.outerHTML);
      });
    assert.deepEqual(await nameless(), []);
    await app.showReview();
    assert.deepEqual(await nameless(), []);
    const names = await app.cards
      .locator("button")
      .evaluateAll((all) => all.map((node) => node.getAttribute("aria-label")));
    const decisions = names.filter((name) => name !== null);
    // Accept, reject and comment for each of the four changes.
    assert.equal(decisions.length, 12);
    assert.equal(new Set(decisions).size, 12, "two buttons have one name");
    // Screen readers distinguish added and removed lines by words.
    assert.match(await app.cards.first().textContent(), /removed: [^]*added: /);
  },

  async "at 800 pixels everything fits, and the files come as a drawer"({ page, url }) {
    await page.setViewportSize({ width: 800, height: 700 });
    const app = new App(page);
    await page.goto(url);
    await openSample(page);
    await app.editor.waitFor();
    await page.getByRole("button", { name: "Show files" }).click();
    await app.row("src/loans.ts").click();
    await page.locator(".files-pane").waitFor({ state: "hidden" });
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename loanDays to seasonDays");
    await page.getByRole("toolbar", { name: "Changes in this file" }).getByText("2 changes").waitFor();
    await app.showReview();
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(overflow <= 0, `the page is ${overflow} pixels too wide`);
    for (const pane of [".editor-pane", ".chat-pane", ".top-bar"]) {
      const clipped = await page.locator(pane).evaluate((node) => node.scrollWidth - node.clientWidth);
      assert.ok(clipped <= 1, `${pane} is ${clipped} pixels too wide`);
    }
  },

  async "the page's policy lets no other script run and nothing else be reached"({ page, url, expectErrors }) {
    expectErrors(/Content Security Policy/);
    await openApp(page, url);
    const blocked = await page.evaluate(async () => {
      const violations = [];
      document.addEventListener("securitypolicyviolation", (event) => violations.push(event.effectiveDirective));
      const script = document.createElement("script");
      script.textContent = "window.injected = true";
      document.body.append(script);
      await fetch("http://192.0.2.1/").catch(() => undefined);
      await new Promise((done) => setTimeout(done, 100));
      return { injected: window.injected ?? false, violations };
    });
    assert.deepEqual(blocked, { injected: false, violations: ["script-src-elem", "connect-src"] });
  },
};
