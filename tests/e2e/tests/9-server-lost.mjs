// The page on a server that stops, and comes back with the same token or with another one.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { App } from "../app.mjs";
import { call, joinServer, TOKEN, withServer } from "../service.mjs";

const onDisk = ({ folder }) => readFile(join(folder, "notes.md"), "utf8");

/** Joins a server and types a line into its notes. */
async function typed(page, url, server) {
  const app = await joinServer(page, url, server.url);
  await app.openFile("notes.md");
  await page.locator(".cm-line", { hasText: "The colour" }).click();
  await page.keyboard.press("Control+End");
  return app;
}

async function saved(server, expected) {
  for (let attempt = 0; attempt < 80 && !expected.test(await onDisk(server)); attempt++) {
    await new Promise((done) => setTimeout(done, 100));
  }
  assert.match(await onDisk(server), expected);
}

export const tests = {
  async "text that is typed while a server is down is not called saved, and is saved when it is back"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async (server) => {
      const app = await typed(page, url, server);
      await server.stop();
      const note = page.getByRole("alert", { name: "Connection" });
      await note.getByText("The server cannot be reached.").waitFor({ timeout: 5_000 });
      await page.keyboard.type("Mine.");
      await page.locator(".status-bar", { hasText: "Not saved: the server cannot be reached" }).waitFor();
      await note.getByText("1 file with text that is not saved").waitFor();
      assert.doesNotMatch(await onDisk(server), /Mine/);
      assert.equal(await app.transcript.locator(".entry.notice").count(), 0);

      // Closing the page asks.
      const asked = page.waitForEvent("dialog");
      await page.close({ runBeforeUnload: true });
      await (await asked).dismiss();

      // A task names the server, and its message is not lost.
      await app.input.fill("rename colour to color in notes.md");
      await app.input.press("Enter");
      await app.transcript.getByText("The server cannot be reached.").waitFor();
      assert.equal(await app.transcript.getByText("provider").count(), 0);
      assert.equal(await app.input.inputValue(), "rename colour to color in notes.md");

      await server.start();
      await note.waitFor({ state: "detached", timeout: 8_000 });
      await saved(server, /Mine\.$/);
      await page.locator(".save-state", { hasText: "No unsaved changes" }).waitFor();
      await app.input.press("Enter");
      await app.finished(30_000);
      await app.hunks(1);
    });
  },

  async "a line that two users change at once gets the later text, and its user is told what it replaced"({
    page,
    url,
  }) {
    await withServer({ origin: new URL(url).origin }, async (server) => {
      const app = await typed(page, url, server);
      const text = await onDisk(server);
      const theirs = text.replace(/The colour.*/, "A line of theirs.");
      assert.notEqual(theirs, text);
      // The other client writes while the edit of the page is on its way.
      await page.route("**/api/agent/user_edit", async (route) => {
        await call(server.url, "POST", "/api/agent/user_edit", { file_path: "notes.md", content: theirs });
        await route.continue();
      });
      await page.locator(".cm-line", { hasText: "The colour" }).click();
      await page.keyboard.press("End");
      await page.keyboard.type(" Mine.");
      await app.toast
        .getByText(/replaced a change that was made elsewhere meanwhile, in line \d+: “A line of theirs\.”/)
        .waitFor();
      await saved(server, /The colour.* Mine\.\n/);
      await page.unroute("**/api/agent/user_edit");
      await page.keyboard.press("Control+z");
      await saved(server, /A line of theirs\.\n/);
    });
  },

  async "a file that cannot be read from a server shows an error, and its text when the server is back"({ page, url }) {
    await withServer({ origin: new URL(url).origin, files: { "other.md": "Other text.\n" } }, async (server) => {
      const app = await typed(page, url, server);
      await server.stop();
      await page.getByRole("alert", { name: "Connection" }).waitFor();
      await app.row("other.md").click();
      await page.locator(".canvas > .empty", { hasText: "The server cannot be reached." }).waitFor();
      assert.equal(await page.locator(".editor-host:visible .cm-line:visible").count(), 0);
      await server.start();
      await page.locator(".cm-line", { hasText: "Other text." }).waitFor();
    });
  },

  async "a server with another token is named, and joining it again saves the text that was typed before"({
    page,
    url,
  }) {
    await withServer({ origin: new URL(url).origin }, async (server) => {
      const app = await typed(page, url, server);
      await server.stop();
      await server.start("another-token-of-the-page-test");
      const note = page.getByRole("alert", { name: "Connection" });
      await note.getByText("The server was started again with another token.").waitFor();
      await page.keyboard.type("Mine.");
      await page.locator(".status-bar", { hasText: "Not saved: the server does not accept this page" }).waitFor();
      const download = page.waitForEvent("download");
      await note.getByRole("button", { name: "Download the text" }).click();
      assert.match(await readFile(await (await download).path(), "utf8"), /Mine\.$/);

      page.on("dialog", (dialog) => dialog.accept());
      await joinServer(page, url, server.url, "another-token-of-the-page-test");
      await app.says("Saved what you typed while the server did not answer: notes.md.");
      await saved(server, /Mine\.$/);
    });
  },

  async "a page goes on by itself when the browser has opened the printed address of a restarted server"({ page }) {
    const args = ["--web-app", fileURLToPath(new URL("../../../web/dist", import.meta.url))];
    await withServer({ args }, async (server) => {
      await page.goto(`${server.url}/?token=${TOKEN}`);
      const app = new App(page);
      await app.openFile("notes.md");
      await page.locator(".cm-line", { hasText: "The colour" }).click();
      await page.keyboard.press("Control+End");
      await server.stop();
      const note = page.getByRole("alert", { name: "Connection" });
      await note.getByText("The server cannot be reached.").waitFor();
      await page.keyboard.type("Mine.");
      await server.start("another-token-of-the-page-test");
      await note.getByText("The server was started again with another token.").waitFor();
      const second = await page.context().newPage();
      await second.goto(`${server.url}/?token=another-token-of-the-page-test`);
      await saved(server, /Mine\.$/);
      await note.waitFor({ state: "detached" });
    });
  },
};
