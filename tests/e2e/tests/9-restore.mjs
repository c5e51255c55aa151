// A reload at any moment: typed text, the words of a stopped run, and the page while it restores.
import assert from "node:assert/strict";
import { App, openApp } from "../app.mjs";
import { startProvider } from "../provider.mjs";

/** Reloads the page at once, without the browser's question. */
async function reload(page) {
  const accept = (dialog) => void dialog.accept();
  page.on("dialog", accept);
  await page.reload();
  page.off("dialog", accept);
}

export const tests = {
  async "text that was typed right before a reload is there after it, once"({ page, url }) {
    const app = await openApp(page, url);
    let typed = "";
    for (const [word, pause] of [
      ["first ", 0],
      ["second ", 40],
      ["third ", 500],
      ["fourth ", 460],
    ]) {
      await app.editor.click();
      await page.keyboard.press("Control+Home");
      await page.keyboard.type(word);
      await page.waitForTimeout(pause);
      await reload(page);
      typed = `${word}${typed}`;
      await page.locator(".cm-line", { hasText: `${typed}# Seed library` }).waitFor();
      assert.equal((await app.text()).split("\n")[0], `${typed}# Seed library`);
    }
    await page.getByRole("button", { name: /^Undo typing in README.md/ }).click();
    await page.locator(".cm-line", { hasText: /^third second first # Seed library/ }).waitFor();
  },

  async "text that was typed right before the tab was closed is there when the project is continued"({ page, url }) {
    const app = await openApp(page, url);
    await app.editor.click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("mine ");
    page.on("dialog", (dialog) => void dialog.accept());
    const closed = page.waitForEvent("close");
    const later = await page.context().newPage();
    await page.close({ runBeforeUnload: true });
    await closed;
    await later.goto(url);
    await later.getByRole("button", { name: /^Continue seed-library/ }).click();
    await new App(later).editor.waitFor();
    await later.locator(".cm-line", { hasText: /^mine # Seed library/ }).waitFor();
  },

  async "a reload keeps all words of a run that was stopped in the middle of them"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "slow" });
    await app.ask('replace "loan" with "lease"');
    const words = page.locator(".entry.assistant").last();
    await page.locator(".entry.assistant", { hasText: /Changing \d+/ }).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await app.finished();
    const said = await app.transcript.locator(".entry.assistant").allTextContents();
    assert.match(said.at(-1), /Changing \d+/);
    await page.waitForTimeout(300);
    await reload(page);
    await app.transcript.locator(".entry.end").waitFor();
    const after = await app.transcript.locator(".entry.assistant").allTextContents();
    assert.deepEqual(after.slice(0, -1), said.slice(0, -1));
    assert.ok(after.at(-1).startsWith(said.at(-1)), `“${said.at(-1)}” became “${after.at(-1)}”`);
    await words.waitFor();
  },

  async "a reload keeps the words of a provider that was silent after them, stopped or not"({ page, url }) {
    const provider = await startProvider("right", [{ stalls: "Hello, I begin " }, { stalls: "Again I begin " }]);
    try {
      const app = await openApp(page, url);
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
      await app.ask("one");
      await app.transcript.getByText("Hello, I begin").waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      await app.finished();
      await page.waitForTimeout(300);
      await reload(page);
      await app.transcript.getByText("Hello, I begin").waitFor();
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
      await app.ask("two");
      await app.transcript.getByText("Again I begin").waitFor();
      await page.waitForTimeout(300);
      await reload(page);
      await app.transcript.getByText("Again I begin").waitFor();
      await app.transcript.getByText("Hello, I begin").waitFor();
      await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
      assert.equal(await app.transcript.locator(".entry.user").count(), 2);
    } finally {
      await provider.close();
    }
  },

  async "while a project is restored the page says so, and a message waits for it"({ page, url }) {
    // As a slow computer, or a review of many changes.
    await page.addInitScript(() => {
      if (sessionStorage.getItem("slow") === null) return;
      const post = Worker.prototype.postMessage;
      Worker.prototype.postMessage = function (message, ...rest) {
        const send = () => post.call(this, message, ...rest);
        if (message.method === "snapshot") setTimeout(send, 1_500);
        else send();
      };
    });
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename loanDays to seasonDays");
    await page.waitForTimeout(300);
    await page.evaluate(() => sessionStorage.setItem("slow", ""));
    await reload(page);
    await page.getByText("Restoring your project…").first().waitFor();
    await app.input.waitFor();
    assert.equal(await page.getByText("No file open").count(), 0);
    assert.equal(await page.getByText(/Nothing to review|No changes to review/).count(), 0);
    await app.input.fill("rename seasonDays to leaseDays");
    await app.input.press("Enter");
    await app.says("The message is sent when the project is open.");
    await app.input.press("Enter");
    await page.evaluate(() => sessionStorage.removeItem("slow"));
    await app.finished(30_000);
    const users = app.transcript.locator(".entry.user");
    await users.filter({ hasText: "leaseDays" }).waitFor();
    assert.equal(await users.count(), 2);
    assert.equal(await app.input.inputValue(), "");
  },

  async "a message to a folder that is still read waits for it"({ page, url }) {
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await page.evaluate(async () => {
      const root = await navigator.storage.getDirectory();
      const folder = await root.getDirectoryHandle("project", { create: true });
      const stream = await (await folder.getFileHandle("other.md", { create: true })).createWritable();
      await stream.write("# Other\n");
      await stream.close();
      window.showDirectoryPicker = () =>
        new Promise((done) => {
          window.choose = () => done(folder);
        });
    });
    await page.getByRole("button", { name: "Open folder" }).click();
    await page.waitForFunction(() => window.choose !== undefined);
    await app.input.fill("hello to the folder");
    await app.input.press("Enter");
    await app.says("The message is sent when the project is open.");
    await page.evaluate(() => window.choose());
    await app.row("other.md").waitFor();
    await app.transcript.locator(".entry.user", { hasText: "hello to the folder" }).waitFor();
    await app.finished();
    assert.equal(await app.input.inputValue(), "");
  },
};
