// The page on a slow server, a server that is down, and a server with other clients.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { App, openApp } from "../app.mjs";
import { startProvider } from "../provider.mjs";
import { call, joinServer, TOKEN, withServer } from "../service.mjs";

const origin = (url) => new URL(url).origin;
const onDisk = ({ folder }, name = "notes.md") => readFile(join(folder, name), "utf8");

async function until(read, wanted) {
  for (let attempt = 0; attempt < 80; attempt++) {
    if (wanted.test(await read())) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  assert.match(await read(), wanted);
}

/** Answers requests only when `release` is called. */
async function hold(page, pattern, isMeant = () => true) {
  let release;
  const released = new Promise((done) => {
    release = done;
  });
  const asked = [];
  await page.route(pattern, async (route) => {
    if (!isMeant(route.request())) return route.continue();
    asked.push(route.request().url());
    await released;
    return route.continue();
  });
  return { release, asked };
}

const edit = (server, file_path, content) => call(server.url, "POST", "/api/agent/user_edit", { file_path, content });

export const tests = {
  async "a new conversation of a slow server is shown to begin at once, and is begun once"({ page, url }) {
    await withServer({ origin: origin(url) }, async (server) => {
      const app = await joinServer(page, url, server.url);
      await app.row("notes.md").waitFor();
      await app.askAndWait("hello");
      const slow = await hold(page, "**/api/agent/sessions", (request) => request.method() === "POST");
      await page.getByRole("button", { name: "New conversation", exact: true }).click();
      await page.locator(".pending-bar", { hasText: "Starting a conversation…" }).waitFor({ timeout: 1_000 });
      await page.keyboard.press("Space");
      await page.keyboard.press("Enter");
      await page.keyboard.press("Enter");
      await page.keyboard.type("rename colour to color in notes.md");
      slow.release();
      await page.locator(".pending-bar", { hasText: "Starting a conversation…" }).waitFor({ state: "detached" });
      await app.transcript.locator(".entry").first().waitFor({ state: "detached" });
      assert.equal(slow.asked.length, 1);
      assert.equal((await app.input.inputValue()).trim(), "rename colour to color in notes.md");
      const { sessions } = await call(server.url, "GET", "/api/agent/sessions");
      assert.equal(sessions.length, 2);
      await app.input.press("Enter");
      await app.finished();
      await app.transcript.locator(".entry.user", { hasText: "colour" }).waitFor();
    });
  },

  async "a message for a conversation that could not be begun stays in the box"({ page, url, expectErrors }) {
    expectErrors(/./);
    await withServer({ origin: origin(url) }, async (server) => {
      const app = await joinServer(page, url, server.url);
      await app.row("notes.md").waitFor();
      await app.askAndWait("hello");
      let release;
      const released = new Promise((done) => {
        release = done;
      });
      await page.route("**/api/agent/sessions", async (route) => {
        if (route.request().method() !== "POST") return route.continue();
        await released;
        return route.fulfill({ status: 500, body: '{"code":"io_error","message":"the disk is full"}' });
      });
      await page.getByRole("button", { name: "New conversation", exact: true }).click();
      await page.locator(".pending-bar", { hasText: "Starting a conversation…" }).waitFor();
      await page.keyboard.type("for the new one");
      await page.keyboard.press("Enter");
      release();
      await page.locator(".pending-bar", { hasText: "Starting" }).waitFor({ state: "detached" });
      await page.waitForTimeout(300);
      assert.equal(await app.input.inputValue(), "for the new one");
      assert.equal(await app.transcript.locator(".entry.user").count(), 1);
    });
  },

  async "a file of a slow server is shown as being read, and takes no keys before"({ page, url }) {
    const files = { "first.md": "First text.\n", "second.md": "Second text.\n" };
    await withServer({ origin: origin(url), files }, async (server) => {
      const app = await joinServer(page, url, server.url);
      const isOf = (name) => (request) => decodeURIComponent(request.url()).includes(name);
      for (const [name, text] of [
        ["first.md", "First text."],
        ["second.md", "Second text."],
      ]) {
        const slow = await hold(page, "**/api/agent/**", isOf(name));
        await app.row(name).click();
        await page.locator(".canvas > .reading", { hasText: "Reading…" }).waitFor({ timeout: 2_000 });
        assert.equal(await page.locator(".editor-host:visible").count(), 0);
        await page.locator(".status-bar", { hasText: "Reading…" }).waitFor();
        slow.release();
        await page.locator(".cm-line", { hasText: text }).waitFor();
        assert.equal(await page.locator(".canvas > .reading").count(), 0);
        await page.unrouteAll();
      }
    });
  },

  async "a file that is closed while a slow server sends it leaves no word of reading, and one without text keeps its reason"({
    page,
    url,
  }) {
    await withServer({ origin: origin(url), files: { "first.md": "First text.\n" } }, async (server) => {
      await writeFile(join(server.folder, "p.png"), Buffer.from([0x89, 80, 78, 71, 0, 1, 2, 3]));
      const app = await joinServer(page, url, server.url);
      const slow = await hold(page, "**/api/agent/**", (request) => request.url().includes("first.md"));
      await app.row("first.md").click();
      await page.locator(".canvas > .reading").waitFor();
      await page.getByRole("tab", { name: /first\.md/ }).focus();
      await page.keyboard.press("Delete");
      slow.release();
      await page.getByText("Open a file from the list").waitFor();
      await page.unrouteAll();

      await app.row("p.png").click();
      const reason = page.locator(".canvas > .empty", { hasText: /binary|Not a text|image/i });
      await reason.waitFor();
      await page.evaluate(() => {
        window.words = new Set();
        const note = () => window.words.add(document.querySelector(".canvas > .empty")?.textContent ?? "none");
        new MutationObserver(note).observe(document.querySelector(".canvas"), {
          childList: true,
          subtree: true,
          characterData: true,
          attributes: true,
        });
      });
      await edit(server, "first.md", "Changed.\n");
      await page.waitForTimeout(1_000);
      assert.ok(!(await page.evaluate(() => [...window.words])).includes("Reading…"));
      await reason.waitFor();
    });
  },

  async "a file that quick open finds gets the focus, and so does a line of the search"({ page, url }) {
    const app = await openApp(page, url);
    await app.input.focus();
    await page.keyboard.press("Control+p");
    await page.getByRole("combobox", { name: "Letters of the name" }).fill("loans.ts");
    await page.keyboard.press("Enter");
    await page.locator('.cm-content[aria-label="Text of src/loans.ts"]:focus').waitFor();
    await app.input.focus();
    await page.keyboard.press("Control+Shift+f");
    await page.getByRole("combobox", { name: "Text to find" }).fill("Rules of lending");
    await page.getByRole("option").first().waitFor();
    await page.keyboard.press("Enter");
    await page.locator('.cm-content[aria-label="Text of README.md"]:focus').waitFor();
    await page.keyboard.type("X");
    await page.locator(".cm-line", { hasText: /X/ }).first().waitFor();
    assert.equal(await app.input.inputValue(), "");
  },

  async "a message that the server cannot be reached goes when it is back"({ page, url }) {
    await withServer({ origin: origin(url) }, async (server) => {
      const app = await joinServer(page, url, server.url);
      await app.openFile("notes.md");
      await server.stop();
      const note = page.getByRole("alert", { name: "Connection" });
      await note.waitFor();
      await page.getByRole("button", { name: "More" }).click();
      await page.getByRole("menuitem", { name: "Options…" }).click();
      await app.toast.filter({ hasText: "The server cannot be reached." }).waitFor();
      await page.keyboard.press("Escape");
      await server.start();
      await note.waitFor({ state: "detached", timeout: 8_000 });
      await app.toast
        .filter({ hasText: "The server cannot be reached." })
        .waitFor({ state: "detached", timeout: 1_000 });
      assert.equal(await page.getByText("The server cannot be reached.").count(), 0);
    });
  },

  async "a reload while the server is down keeps it, with a way back and a way out"({ browser }) {
    const args = ["--web-app", fileURLToPath(new URL("../../../web/dist", import.meta.url))];
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    context.setDefaultTimeout(15_000);
    try {
      await withServer({ args }, async (server) => {
        const page = await context.newPage();
        await page.goto(`${server.url}/?token=${TOKEN}`);
        const app = new App(page);
        await app.openFile("notes.md");
        await page.evaluate(async () => {
          await navigator.serviceWorker.ready;
          const [name] = await caches.keys();
          while ((await (await caches.open(name)).keys()).length < 20)
            await new Promise((done) => setTimeout(done, 50));
        });
        await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
        await server.stop();
        const problem = page.getByRole("alert").filter({ hasText: "The server of this page cannot be reached." });
        await page.reload();
        await problem.waitFor();
        await page.reload();
        await problem.getByRole("button", { name: "Try again" }).click();
        await problem.waitFor();
        await server.start();
        await problem.getByRole("button", { name: "Try again" }).click();
        await app.row("notes.md").waitFor();
        await server.stop();
        await page.reload();
        await problem.getByRole("button", { name: "Leave the server" }).click();
        await problem.waitFor({ state: "detached" });
        await page.reload();
        await page.getByRole("button", { name: /^Try the sample/ }).waitFor();
        await page.waitForTimeout(500);
        assert.equal(await problem.count(), 0);
        await server.start();
      });
    } finally {
      await context.close();
    }
  },

  async "one undo takes back a rejection with my edit on the old line"({ page, url }) {
    const change = {
      name: "Edit",
      input: { file_path: "notes.md", old_string: "def foo():", new_string: "def bar():" },
    };
    const provider = await startProvider("right", [{ name: "Read", input: { file_path: "notes.md" } }, change]);
    try {
      const app = await openApp(page, url);
      await app.openFolder({ "notes.md": "a\n\ndef foo():\n\nb\n" });
      await app.openFile("notes.md");
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
      await app.askAndWait("rename it");
      await app.hunks(1);
      await app.editor.locator(".cm-line", { hasText: "def bar():" }).click();
      await page.keyboard.press("End");
      await page.keyboard.type("  # note");
      await page.locator(".save-state", { hasText: "Not saved" }).waitFor();
      const before = await app.text();
      const reject = async () => {
        await page.getByRole("button", { name: "Reject change 1 of 1" }).click();
        const dialog = page.getByRole("dialog", { name: "You edited inside this change" });
        await dialog.getByLabel("Put my edit on the old line").check();
        await dialog.getByRole("button", { name: /Reject/ }).click();
        await app.says("Rejected 1 change");
        await app.hunks(0);
        assert.match(await app.text(), /def foo\(\): {2}# note/);
      };
      await reject();
      await page.getByRole("button", { name: /^Undo/ }).first().click();
      await app.hunks(1);
      assert.equal(await app.text(), before);
      await page.reload();
      await app.hunks(1);
      assert.equal(await app.text(), before);
      await page.getByRole("button", { name: /^Redo/ }).click();
      await app.hunks(0);
      assert.match(await app.text(), /def foo\(\): {2}# note/);
    } finally {
      await provider.close();
    }
  },

  async "a user whose line another client replaced is told"({ page, url }) {
    await withServer({ origin: origin(url) }, async (server) => {
      const app = await joinServer(page, url, server.url);
      await app.openFile("notes.md");
      await page.locator(".cm-line", { hasText: "The colour" }).click();
      await page.keyboard.press("End");
      await page.keyboard.type(" Mine.");
      await until(() => onDisk(server), /Mine\./);
      const text = await onDisk(server);
      // The page does not tell this user about lines of others.
      await edit(server, "notes.md", text.replace("It is wet.", "It is deep."));
      await page.locator(".cm-line", { hasText: "It is deep." }).waitFor();
      assert.equal(await app.toast.count(), 0);
      await edit(server, "notes.md", text.replace(/The colour.*/, "A line of theirs."));
      await app.says(
        "A change that was made elsewhere replaced your text in notes.md: “The colour of the sky. Mine.”.",
      );
    });
  },

  async "an undo that may take back the step of another client is asked about"({ page, url }) {
    await withServer({ origin: origin(url), files: { "other.md": "Other.\n" } }, async (server) => {
      const app = await joinServer(page, url, server.url);
      await app.openFile("notes.md");
      await page.locator(".cm-line", { hasText: "The colour" }).click();
      await page.keyboard.press("End");
      await page.keyboard.type(" Mine.");
      await until(() => onDisk(server), /Mine\./);
      // Alone, the page undoes without a question.
      await page.keyboard.press("Control+z");
      await until(() => onDisk(server), /sky\.\n/);
      await app.says("Undid typing in notes.md.");
      await page.keyboard.press("Control+y");
      await until(() => onDisk(server), /Mine\./);

      await edit(server, "other.md", "Theirs.\n");
      await page.waitForTimeout(800);
      const dialog = page.getByRole("dialog", { name: "Undo the last step on this server?" });
      await page.keyboard.press("Control+z");
      await dialog.getByText("your last step, typing in notes.md").waitFor();
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await page.waitForTimeout(300);
      assert.equal(await onDisk(server, "other.md"), "Theirs.\n");
      await app.editor.click();
      await page.keyboard.press("Control+z");
      await dialog.getByRole("button", { name: "Undo the last step" }).click();
      await until(() => onDisk(server, "other.md"), /Other\./);
      assert.match(await onDisk(server), /Mine\./);
      await app.says("Undid the last step on this server.");
    });
  },
};
