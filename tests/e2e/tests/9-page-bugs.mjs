// Defects that users found in the page: lines edited under review, keys, names, drops, and failures of the disk.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, openApp, openSample, withProvider } from "../app.mjs";
import { startProvider } from "../provider.mjs";

const PYTHON = { "a.py": "import os\n\ndef foo():\n    return 1\n\nprint(foo())\n" };

/** Opens a folder, renames `foo`, and types a note on the line of its definition. */
async function noted(page, url) {
  const app = await openApp(page, url);
  const saved = await app.openFolder(PYTHON);
  await app.chooseModel({ pace: "instant" });
  await app.askAndWait("rename foo to bar");
  await app.hunks(2);
  await app.editor.locator(".cm-line", { hasText: "def bar" }).click();
  await page.keyboard.press("End");
  await page.keyboard.type("  # note");
  await page.getByText("you edited this").first().waitFor();
  return { app, saved };
}

async function outcomes(dialog) {
  await dialog.waitFor();
  return dialog.locator("code").allTextContents();
}

/** Drops a file of this computer at a point of the page, as the mouse would. */
async function dropFile(page, path, x, y) {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [path], dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"])
    await session.send("Input.dispatchDragEvent", { type, x, y, data });
}

const textFile = (name, text) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });

export const tests = {
  async "saving a line with unaccepted words asks first, and shows three results"({ page, url }) {
    const { app, saved } = await noted(page, url);
    await page.locator(".cm-user-line", { hasText: "# note" }).waitFor();
    const dialog = page.getByRole("dialog", { name: "You edited inside this change" });
    await page.keyboard.press("Control+s");
    assert.deepEqual(await outcomes(dialog), ["def bar():  # note", "def foo():  # note", "def foo():"]);
    // A save decides on a change, so the page chooses nothing for the user.
    assert.equal(await dialog.getByRole("radio", { checked: true }).count(), 0);
    assert.ok(await dialog.getByRole("button", { name: "Save" }).isDisabled());
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.waitForTimeout(100);
    assert.equal(await saved("a.py"), PYTHON["a.py"], "saved without an answer");

    await app.editor.focus();
    await page.keyboard.press("Control+s");
    await dialog.getByLabel("Put my edit on the old line").check();
    await dialog.getByRole("button", { name: "Save" }).click();
    await app.says("Saved a.py. 1 change still to review is not saved.");
    assert.equal(await saved("a.py"), PYTHON["a.py"].replace("foo():", "foo():  # note"));
  },

  async "after a reload a line with unaccepted words still has its three results"({ page, url }) {
    await noted(page, url);
    await page.waitForTimeout(300);
    page.on("dialog", (dialog) => void dialog.accept());
    await page.reload();
    await page.locator(".cm-user-line", { hasText: "# note" }).waitFor();
    await page.keyboard.press("Control+s");
    const dialog = page.getByRole("dialog", { name: "You edited inside this change" });
    await dialog.waitFor();
    assert.deepEqual(await outcomes(dialog), ["def bar():  # note", "def foo():  # note", "def foo():"]);
  },

  async "of a line with unaccepted words the user can keep all, or drop both"({ page, url }) {
    const { app, saved } = await noted(page, url);
    const dialog = page.getByRole("dialog", { name: "You edited inside this change" });
    await page.keyboard.press("Control+s");
    await dialog.getByLabel("Drop both").check();
    await dialog.getByRole("button", { name: "Save" }).click();
    await app.says("Saved a.py. 1 change still to review is not saved.");
    await app.hunks(1);
    assert.equal(await saved("a.py"), PYTHON["a.py"]);
    await page.getByRole("button", { name: /^Undo reject in a.py/ }).click();
    await app.hunks(2);
    await page.keyboard.press("Control+s");
    await dialog.getByLabel("Keep my line with the assistant’s words").check();
    await dialog.getByRole("button", { name: "Save" }).click();
    await app.says("Saved a.py. 1 change still to review is not saved.");
    const kept = PYTHON["a.py"].replace("def foo():", "def bar():  # note");
    assert.equal(await saved("a.py"), kept);

    // The change is open again, and the disk still has the line.
    await page.getByRole("button", { name: /^Undo accept in a.py/ }).click();
    await app.hunks(2);
    await page.locator(".status-bar").getByText("Saved with your lines in changes under review").waitFor();
    assert.equal(await saved("a.py"), kept);
  },

  async "lines that the user typed below a dropped line stay"({ page, url }) {
    const app = await openApp(page, url);
    const saved = await app.openFolder({ "a.py": "import os\nfoo(1)\nfoo(2)\nend\n" });
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename foo to bar");
    await app.hunks(1);
    await app.editor.locator(".cm-line", { hasText: "bar(1)" }).click();
    await page.keyboard.press("End");
    await page.keyboard.type("  # note\n# L1\n# L2");
    await page.getByText("you edited this").first().waitFor();
    await page.waitForTimeout(1_000);
    const dialog = page.getByRole("dialog", { name: "You edited inside this change" });
    await page.keyboard.press("Control+s");
    const [kept] = await outcomes(dialog);
    await dialog.getByLabel("Drop both").check();
    await dialog.getByRole("button", { name: "Save" }).click();
    await app.says("Saved a.py. 1 change still to review is not saved.");
    await app.hunks(1);
    const text = await saved("a.py");
    assert.match(text, /^foo\(1\)\n/m);
    assert.doesNotMatch(text, /# note/);
    for (const line of ["# L1", "# L2"]) {
      assert.equal(text.includes(line), !kept.includes(line), `${line} was not shown as dropped: ${text}`);
    }
    assert.ok(!kept.includes("# L1"), "the lines are outside of the change");
  },

  async "rejecting all asks what becomes of the user's lines, and never leaves two versions of a line"({ page, url }) {
    const { app, saved } = await noted(page, url);
    await app.showReview();
    await page.locator(".diff-line.mine", { hasText: "# note" }).waitFor();
    const old = await app.cards.locator(".diff-line.removed .line-number:first-child").allTextContents();
    assert.deepEqual(old, ["3", "6"], "the numbers of the removed lines in the old file");
    await page.getByRole("button", { name: "Reject all", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "You edited inside this change" });
    assert.deepEqual(await outcomes(dialog), ["def bar():  # note", "def foo():  # note", "def foo():"]);
    await dialog.getByRole("button", { name: "Reject" }).click();
    await page.getByText("Nothing to review.").waitFor();
    await page.getByRole("button", { name: "Save into the folder" }).click();
    await app.says("Saved a.py.");
    assert.equal(await saved("a.py"), PYTHON["a.py"].replace("foo():", "foo():  # note"));
  },

  async "Option with J, K, Y and N decides on a Mac and types nothing"({ page, url }) {
    await page.addInitScript(() => Object.defineProperty(navigator, "platform", { get: () => "MacIntel" }));
    const app = await openApp(page, url);
    await app.openFolder(PYTHON);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename foo to bar");
    await app.hunks(2);
    const option = (key, code) =>
      app.editor.evaluate(
        (node, pressed) =>
          node.dispatchEvent(
            new KeyboardEvent("keydown", { ...pressed, altKey: true, bubbles: true, cancelable: true }),
          ),
        { key, code },
      );
    await app.editor.focus();
    assert.equal(await option("∆", "KeyJ"), false, "the key was not handled");
    await page.getByText("Change 1 of 2").first().waitFor();
    assert.equal(await option("Dead", "KeyN"), false);
    await app.hunks(1);
    assert.equal(await option("¥", "KeyY"), false);
    await app.hunks(0);
    assert.equal(await app.text(), "import os\n\ndef foo():\n    return 1\n\nprint(bar())\n");
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    await page.getByText("⌥J, ⌥K").waitFor();
  },

  async "the offline model works when the network is gone"({ url, browser }) {
    // A context with the service worker, which keeps all parts of the page from the first visit on.
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    context.setDefaultTimeout(15_000);
    try {
      const page = await context.newPage();
      const app = await openApp(page, url);
      await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
      await context.setOffline(true);
      await app.askAndWait("rename loanDays to seasonDays");
      assert.match(await app.changes(), /4 changes in 3 files/);
      await app.showReview();
      await app.cards.first().waitFor();
      await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
      await page.getByRole("dialog").waitFor();
    } finally {
      await context.close();
    }
  },

  async "an engine that does not load leaves a button to try again, and no message box before that"({
    page,
    url,
    expectErrors,
  }) {
    expectErrors(/404|wasm/);
    let broken = true;
    await page.context().route(/core_bg.*\.wasm/, (route) => {
      if (broken && !route.request().url().includes("offline")) return route.fulfill({ status: 404 });
      return route.continue();
    });
    const app = new App(page);
    await page.goto(url);
    await openSample(page);
    await page.getByText("Emend could not start").waitFor();
    assert.equal(await app.input.count(), 0, "there is a message box without an engine");
    broken = false;
    await page.getByRole("button", { name: "Try again" }).click();
    await app.row("README.md").waitFor();
    await app.ask("hello");
    await app.finished();
  },

  async "a dropped file is opened, wherever it is dropped, and its text goes nowhere else"({ page, url }) {
    const folder = await mkdtemp(join(tmpdir(), "emend-drop-"));
    try {
      const path = join(folder, "dropped.md");
      await writeFile(path, "# Dropped\n");
      for (const x of [100, 500, 1200]) {
        const fresh = await page.context().newPage();
        const app = await openApp(fresh, url);
        await dropFile(fresh, path, x, 300);
        await app.row("dropped.md").waitFor();
        await fresh.locator(".cm-line", { hasText: "# Dropped" }).waitFor();
        assert.equal(await fresh.locator(".tree-row.file").count(), 1);
        await fresh.getByRole("button", { name: /everything is saved/ }).waitFor();
        await fresh.close();
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  },

  async "files with the names of object properties open like others"({ page, url }) {
    const app = await openApp(page, url);
    const names = ["__proto__", "constructor", "a.toString"];
    await page.getByLabel("Files to open").setInputFiles(names.map((name) => textFile(name, `text of ${name}\n`)));
    for (const name of names) {
      await app.openFile(name);
      await page.locator(".cm-line", { hasText: `text of ${name}` }).waitFor();
      await page.locator(".status-bar").getByText("Plain text").waitFor();
    }
    assert.equal(await app.toast.count(), 0);
  },

  async "characters that turn a name around are shown"({ page, url }) {
    const app = await openApp(page, url);
    await page.getByLabel("Files to open").setInputFiles([textFile("rtl_\u202egnp.exe", "foo \u202etxet\n")]);
    const row = page.locator(".tree-row.file");
    await row.getByText("rtl_⟨U+202E⟩gnp.exe").waitFor();
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename foo to bar");
    await app.showReview();
    assert.match(await app.cards.first().textContent(), /foo ⟨U\+202E⟩txet/);
    assert.match(await page.locator(".review-head").textContent(), /rtl_⟨U\+202E⟩gnp/);
    assert.match((await app.transcript.locator(".tool-target").allTextContents()).join(), /⟨U\+202E⟩/);
  },

  async "a refused request names the provider's reason and a remedy that helps"({ page, url }) {
    const app = await openApp(page, url);
    const provider = await startProvider("right");
    try {
      const refuse = (status, type, message, headers = {}) =>
        page.context().route(`${provider.url}/**`, (route) =>
          route.fulfill({
            status,
            headers: { "access-control-allow-origin": "*", "access-control-expose-headers": "*", ...headers },
            contentType: "application/json",
            body: JSON.stringify({ type: "error", error: { type, message } }),
          }),
        );
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url, model: "nonsense" });
      await refuse(404, "not_found_error", "model: nonsense");
      await app.askAndWait("hello");
      const notice = app.transcript.locator(".notice").last();
      await notice.getByText("The provider does not have this model.").waitFor();
      await notice.getByText("It says: model: nonsense.").waitFor();
      await notice.getByRole("button", { name: "Model settings" }).waitFor();
      await page.context().unrouteAll();
      await refuse(429, "rate_limit_error", "slow down", { "retry-after": "3600" });
      await app.askAndWait("hello");
      await notice.getByText("Try again in 60 minutes.").waitFor();
      await page.context().unrouteAll();
      await notice.getByRole("button", { name: "Try again" }).click();
      await app.transcript.getByText("Done.").first().waitFor();
    } finally {
      await provider.close();
    }
  },

  async "a hunk of many lines is drawn in part, and shared context once"({ page, url }) {
    const app = await openApp(page, url);
    const lines = Array.from({ length: 12 }, (_, index) => (index % 3 === 0 ? "foo" : `line ${index}`));
    await page.getByLabel("Files to open").setInputFiles([textFile("near.txt", `${lines.join("\n")}\n`)]);
    await app.row("near.txt").waitFor();
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename foo to bar");
    await app.showReview();
    const numbers = await app.cards.locator(".diff-line.context .line-number:nth-child(2)").allTextContents();
    assert.equal(new Set(numbers).size, numbers.length, `repeated lines: ${numbers}`);

    const provider = await startProvider("right", [
      { name: "Write", input: { file_path: "huge.txt", content: "one line\n".repeat(30_000) } },
    ]);
    try {
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
      await app.askAndWait("write it");
      await app.row("huge.txt").waitFor();
      const drawn = () => page.locator(".diff-line").count();
      const list = page.locator(".review-list");
      await page.waitForFunction(() => document.querySelector(".review-list").scrollHeight > 500_000);
      assert.ok((await drawn()) < 1_500, `${await drawn()} lines are drawn`);
      await list.evaluate((node) => node.scrollTo(0, 300_000));
      await page
        .locator(".hunk-card .line-number", { hasText: /^1[45]\d\d\d$/ })
        .first()
        .waitFor();
      assert.ok((await drawn()) < 1_500, `${await drawn()} lines are drawn`);
    } finally {
      await provider.close();
    }
  },

  async "removing a file is said where saving is a download"({ page, url }) {
    const app = await openApp(page, url);
    const provider = await startProvider("right", [
      { name: "Write", input: { file_path: "new.txt", content: "text\n" } },
    ]);
    try {
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
      await app.askAndWait("write it");
      await app.showReview();
      await page.getByRole("button", { name: "Accept all", exact: true }).click();
      const downloading = page.waitForEvent("download");
      await page.getByRole("button", { name: "Download changed files" }).click();
      await downloading;
      await app.says("Downloaded new.txt.");
      await page.getByRole("button", { name: "Undo accept in all files" }).first().click();
      await page.getByRole("button", { name: "Reject all", exact: true }).click();
      await page.getByRole("button", { name: /^Download 1 changed file$/ }).click();
      await app.says("Removed here: new.txt. Remove it from your own copy, too.");
    } finally {
      await provider.close();
    }
  },

  async "hidden files are not shown unasked, and other files say what they are"({ page, url }) {
    const app = await openApp(page, url);
    const latin = { name: "latin1.txt", mimeType: "text/plain", buffer: Buffer.from([0xe9, 0x20, 0xe8, 0x0a]) };
    const image = {
      name: "p.png",
      mimeType: "image/png",
      buffer: Buffer.concat([Buffer.from([0x89, 80, 0]), Buffer.alloc(4_997)]),
    };
    await page.getByLabel("Files to open").setInputFiles([textFile(".env", "KEY=secret\n"), latin, image]);
    await app.row(".env").waitFor();
    await page.getByText("Open a file from the list").waitFor();
    assert.equal(await page.getByText("KEY=secret").count(), 0);
    await app.openFile("p.png");
    await page.getByText("An image, 5 KB. Emend edits text in UTF-8.").waitFor();
    await app.openFile("latin1.txt");
    await page.getByText("A file in another encoding than UTF-8, 4 bytes.").waitFor();
  },

  async "a refusal of the browser to save offers to allow it again, or a download"({ page, url }) {
    const app = await openApp(page, url);
    const saved = await app.openFolder({ "a.txt": "one\n" });
    await page.evaluate(() => {
      window.refused = true;
      const create = FileSystemFileHandle.prototype.createWritable;
      FileSystemFileHandle.prototype.createWritable = function (...given) {
        if (window.refused) throw new DOMException("The request is not allowed by the user agent", "NotAllowedError");
        return create.apply(this, given);
      };
      FileSystemHandle.prototype.requestPermission = async () => {
        window.refused = false;
        return "granted";
      };
    });
    await app.editor.click();
    await page.keyboard.type("x");
    await page.keyboard.press("Control+s");
    const dialog = page.getByRole("dialog", { name: "The browser refused to save into the folder" });
    await dialog.getByRole("button", { name: "Download" }).waitFor();
    await dialog.getByRole("button", { name: "Allow and save" }).click();
    await app.says("Saved a.txt.");
    assert.match(await saved("a.txt"), /x/);
  },

  async "a text that changed on disk can be compared and merged"({ page, url }) {
    const app = await openApp(page, url);
    const saved = await app.openFolder({ "a.txt": "one\ntwo\nthree\nfour\n" });
    await app.editor.click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("mine");
    await page.evaluate(async () => {
      const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("project");
      const stream = await (await folder.getFileHandle("a.txt")).createWritable();
      await stream.write("ONE\ntwo\nthree\nfour\n");
      await stream.close();
    });
    await page.keyboard.press("Control+s");
    const dialog = page.getByRole("dialog", { name: "Replace the file on disk?" });
    await dialog.getByText("Show both texts").click();
    await dialog.getByText(/^ONE/).waitFor();
    await dialog.getByRole("button", { name: "Merge into the editor" }).click();
    await app.says("Not saved: a.txt. The disk has another text.");
    await page.locator(".cm-line", { hasText: "ONE" }).waitFor();
    await page.keyboard.press("Control+s");
    await app.says("Saved a.txt.");
    assert.equal(await saved("a.txt"), "ONE\ntwo\nthree\nfour\nmine");
  },

  async "after the last decision the keyboard still undoes"({ page, url }) {
    const app = await openApp(page, url);
    await app.openFolder(PYTHON);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename foo to bar");
    await page.keyboard.press("Alt+r");
    await page.waitForFunction(() => document.activeElement?.classList.contains("hunk-card"));
    await page.keyboard.press("n");
    await app.says("1 left to review");
    await page.keyboard.press("n");
    await page.getByText("Nothing to review.").waitFor();
    await page.keyboard.press("u");
    await page.waitForFunction(() => document.querySelectorAll(".hunk-card").length === 1);
    await page.getByRole("button", { name: "Accept all", exact: true }).click();
    await page.getByText("Nothing to review.").waitFor();
    await page.keyboard.press("Control+z");
    await page.waitForFunction(() => document.querySelectorAll(".hunk-card").length === 1);
  },

  async "the title names the project and its state, and rejecting many changes is confirmed"({ page, url }) {
    const app = await openApp(page, url);
    assert.equal(await page.title(), "seed-library – Emend");
    const text = Array.from({ length: 30 }, () => "foo\n\n\n\n\n").join("");
    await page.getByLabel("Files to open").setInputFiles([textFile("many.txt", text)]);
    await app.row("many.txt").waitFor();
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait('replace "foo" with "bar"');
    assert.equal(await page.title(), "(30) many.txt – Emend");
    await app.showReview();
    await page.getByRole("button", { name: "Reject all", exact: true }).click();
    await page
      .getByRole("dialog", { name: "Reject 30 changes in 1 file?" })
      .getByRole("button", { name: "Cancel" })
      .click();
    assert.match(await app.changes(), /30 changes/);
  },

  async "an address with a password is refused, and a key that was not remembered is asked for"({ page, url }) {
    const app = await openApp(page, url);
    await page.getByRole("button", { name: /^Model:/ }).click();
    const dialog = page.getByRole("dialog", { name: "Model" });
    await dialog.getByRole("radio", { name: /Anthropic/ }).check();
    await dialog.getByLabel(/^API key/).fill("secret");
    await dialog.getByLabel("Base URL").fill("https://user:pw@evil.example/");
    await dialog.getByRole("button", { name: "Use this model" }).click();
    await dialog.getByText("have no password").waitFor();
    await dialog.getByLabel("Base URL").fill("");
    await dialog.getByRole("button", { name: "Use this model" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.reload();
    await app.row("README.md").waitFor();
    await page.getByText("The key for Anthropic was not remembered.").waitFor();
  },

  async "a task that a reload ended can go on, after the key that was not remembered"({ page, url }) {
    await withProvider(page, url, [{ stalls: "I begin" }, "I go on."], async (app, provider) => {
      await app.ask("write a poem");
      await app.transcript.getByText("I begin").waitFor();
      await page.waitForTimeout(300);
      await app.reload();
      await app.transcript.getByText("Stopped").waitFor();
      await page.getByText("The key for Anthropic was not remembered.").waitFor();
      await page.getByRole("button", { name: "Enter it again" }).click();
      const dialog = page.getByRole("dialog", { name: "Model" });
      await dialog.getByLabel(/^API key/).fill("right");
      await dialog.getByRole("button", { name: "Use this model" }).click();
      await dialog.waitFor({ state: "detached" });
      await page.getByText("was not remembered").waitFor({ state: "detached" });
      await app.transcript.getByRole("button", { name: "Continue" }).click();
      await app.transcript.getByText("I go on.").waitFor();
      const { messages } = JSON.parse(provider.requests.at(-1).body);
      assert.match(JSON.stringify(messages), /write a poem.*continue/s);
    });
  },

  async "axe finds nothing in the states of the page, light and dark"({ page, url }) {
    const source = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    await page.context().addInitScript({ content: source });
    const app = await openApp(page, url);
    const found = [];
    const check = async (state) => {
      for (const theme of ["light", "dark"]) {
        await page.evaluate((name) => {
          document.documentElement.dataset.theme = name;
        }, theme);
        const { violations } = await page.evaluate(() => globalThis.axe.run());
        for (const { id, nodes } of violations)
          found.push(
            `${state}, ${theme}: ${id} × ${nodes.length}: ${nodes[0].html.slice(0, 150)} ${nodes[0].any[0]?.message ?? ""}`,
          );
      }
    };
    await check("start");
    await app.chooseModel({ pace: "slow" });
    await app.ask("rename loanDays to seasonDays");
    await app.transcript.locator(".entry.call").first().waitFor();
    await check("running");
    await page.getByRole("button", { name: "Stop" }).click();
    await app.finished();
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename loanDays to seasonDays");
    await app.openFile("src/loans.ts");
    await app.bars.first().waitFor();
    await check("editor");
    await app.showReview();
    await app.cards.first().waitFor();
    await check("review");
    await page
      .getByRole("button", { name: /^Accept change 1/ })
      .first()
      .click();
    await app.toast.waitFor();
    await check("toast");
    await page.getByRole("button", { name: /^Model:/ }).click();
    await page.getByRole("radio", { name: /Anthropic/ }).check();
    await check("model");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    await check("keys");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Accept all", exact: true }).click();
    await page.getByText("Nothing to review.").waitFor();
    await check("end of the review");
    assert.deepEqual(found, []);
  },
};
