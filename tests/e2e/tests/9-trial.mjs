// Smaller bugs that were found when the page was tried (L1, L3, L4, L5, L6, L9 of the trial).
import assert from "node:assert/strict";
import { openApp, withProvider } from "../app.mjs";

const textFile = (name, text) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });

export const tests = {
  async "the offline model says in one sentence what it cannot do here"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("run cargo test");
    const said = await app.transcript.locator(".entry.assistant").last().textContent();
    assert.match(said, /I cannot do that without shell, which this session does not offer\.$/);
  },

  async "numbers of lines have separators at each place"({ page, url }) {
    const many = Array.from({ length: 1_999 }, (_, at) => `line ${at}\n`).join("");
    const write = { name: "Write", input: { file_path: "many.txt", content: many } };
    await withProvider(page, url, [write, "Done."], async (app) => {
      await app.askAndWait("write it");
      await app.openFile("many.txt");
      await app.hunks(1);
      assert.equal(await app.bars.first().locator(".plus").textContent(), "+1,999");
      await page.locator(".pending-bar", { hasText: "+1,999" }).waitFor();
      await app.showReview();
      await page.locator(".review-head", { hasText: "+1,999" }).first().waitFor();
      assert.doesNotMatch(await page.locator("body").innerText(), /[+−]1999/);
    });
  },

  async "a failed call shows its error once, and the end of the task says that it failed"({ page, url }) {
    const read = { name: "Read", input: { file_path: "missing.txt" } };
    await withProvider(page, url, [read, "It is not there."], async (app) => {
      await app.askAndWait("read it");
      const row = app.transcript.locator(".entry.call").first();
      await row.locator("summary").click();
      assert.equal((await row.innerText()).split("missing.txt does not exist").length, 2);
      await app.transcript.getByText(/^Done · 1 tool call, 1 failed/).waitFor();
    });
  },

  async "several attempts leave one notice at most"({ page, url }) {
    const busy = { status: 529, type: "overloaded_error", message: "busy" };
    await withProvider(page, url, [busy, busy, "At last."], async (app) => {
      await app.ask("hello");
      let most = 0;
      while ((await app.transcript.getByText("At last.").count()) === 0) {
        most = Math.max(most, await app.transcript.locator(".entry.notice").count());
        await page.waitForTimeout(50);
      }
      await app.finished();
      assert.equal(most, 1);
      assert.equal(await app.transcript.locator(".entry.notice").count(), 0);
    });
  },

  async "the marks of changed words have no blanks at their ends"({ page, url }) {
    const app = await openApp(page, url);
    await page.getByLabel("Files to open").setInputFiles([textFile("a.txt", "ten packets of seed\n")]);
    await app.row("a.txt").waitFor();
    await app.openFile("a.txt");
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait('replace " packets " with " bags "');
    await app.showReview();
    assert.deepEqual(await app.cards.first().locator("mark").allTextContents(), ["packets", "bags"]);
  },

  async "Cancel of a save says that nothing was saved, and no older message stays under its question"({ page, url }) {
    const app = await openApp(page, url);
    const saved = await app.openFolder({ "a.txt": "use foo here\n" });
    await app.openFile("a.txt");
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename foo to bar");
    await app.hunks(1);
    await page.getByRole("button", { name: "Accept change 1 of 1" }).click();
    await app.says("Accepted 1 change");
    await page.evaluate(async () => {
      const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("project");
      const stream = await (await folder.getFileHandle("a.txt")).createWritable();
      await stream.write("theirs\n");
      await stream.close();
    });
    await page.keyboard.press("Control+s");
    const dialog = page.getByRole("dialog", { name: "Replace the file on disk?" });
    await dialog.waitFor();
    assert.equal(await app.toast.count(), 0);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await app.says("Not saved");
    assert.equal(await saved("a.txt"), "theirs\n");
  },
};
