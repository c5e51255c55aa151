// The whole story in the folder of this repository: open, ask, type into a change while the assistant works, decide, reload, go back,
// and save. Afterwards only what the user kept is on the disk.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { App, openApp } from "../app.mjs";
import { Clock, traced } from "../measure.mjs";
import { heldReply, startProvider } from "../provider.mjs";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const BINARY = /\.(webp|png|wasm)$|^emend-bin$/;
/** Processor time of the longest task, in units of `measure.mjs`, each about a millisecond. */
const TASK_UNITS_MAX = 100;

/** Returns the text files of this repository. */
function repository() {
  const list = execFileSync("git", ["ls-files", "-z", "--cached"], { cwd: ROOT, encoding: "utf8" });
  const paths = list.split("\0").filter((path) => path !== "" && !BINARY.test(path));
  return new Map(paths.map((path) => [path, readFileSync(join(ROOT, path), "utf8")]));
}

/** Writes files into a folder of the browser, and makes it the folder that the user chooses. */
async function provideFolder(page, files) {
  const write = async (some) => {
    const root = await navigator.storage.getDirectory();
    const folder = await root.getDirectoryHandle("project", { create: true });
    const parents = new Map([["", folder]]);
    for (const [path] of some) {
      const names = path.split("/").slice(0, -1);
      for (let depth = 1; depth <= names.length; depth++) {
        const below = names.slice(0, depth).join("/");
        const parent = parents.get(names.slice(0, depth - 1).join("/"));
        if (!parents.has(below))
          parents.set(below, await parent.getDirectoryHandle(names[depth - 1], { create: true }));
      }
    }
    const put = async ([path, text]) => {
      const names = path.split("/");
      const name = names.pop();
      const handle = await parents.get(names.join("/")).getFileHandle(name, { create: true });
      const stream = await handle.createWritable();
      await stream.write(text);
      await stream.close();
    };
    await Promise.all(some.map(put));
    // The browser's dialog cannot be driven. It would return the same kind of handle.
    window.showDirectoryPicker = async () => folder;
  };
  const all = [...files];
  for (let at = 0; at < all.length; at += 250) await page.evaluate(write, all.slice(at, at + 250));
}

/** Returns the digest of each file of the folder. */
async function digests(page) {
  const found = await page.evaluate(async () => {
    const list = [];
    const walk = async (folder, below) => {
      for await (const [name, handle] of folder) {
        if (handle.kind === "directory") await walk(handle, `${below}${name}/`);
        else {
          const bytes = await (await handle.getFile()).arrayBuffer();
          const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
          list.push([
            below + name,
            digest.toHex?.() ?? Array.from(digest, (n) => n.toString(16).padStart(2, "0")).join(""),
          ]);
        }
      }
    };
    await walk(await (await navigator.storage.getDirectory()).getDirectoryHandle("project"), "");
    return list;
  });
  return new Map(found);
}

const digestOf = (text) => createHash("sha256").update(text).digest("hex");
const titleOf = (text) => text.split("\n")[0];
const read = (path) => ({ name: "Read", input: { file_path: path, limit: 20 } });
const edit = (path, old_string, new_string) => ({ name: "Edit", input: { file_path: path, old_string, new_string } });

/** The actions of the story, by mouse or by keyboard. `words` stand in the change to decide on. */
const BY_MOUSE = {
  activate: (locator) => locator.click(),
  async goTo(app) {
    await app.editor.locator(".cm-line", { hasText: "The second line" }).click();
  },
  async decide(page, { path, name }) {
    await page.getByRole("button", { name: `${name} file ${path}` }).click();
  },
};
const BY_KEYBOARD = {
  async activate(locator) {
    await locator.focus();
    await locator.press("Enter");
  },
  async goTo(app) {
    await app.editor.focus();
    await app.page.keyboard.press("Control+Home");
    await app.page.keyboard.press("ArrowDown");
  },
  async decide(page, { name, words }) {
    await page.locator(".hunk-card").first().focus();
    const isThere = () => page.evaluate((wanted) => document.activeElement.textContent.includes(wanted), words);
    for (let at = 0; at < 3 && !(await isThere()); at++) await page.keyboard.press("j");
    assert.ok(await isThere(), `no change with "${words}"`);
    await page.keyboard.press(name === "Accept" ? "y" : "n");
  },
};

async function story({ page, url, browser }, by, shots) {
  const files = repository();
  assert.ok(files.size >= 2_000, `${files.size} files`);
  const [kept, refused, also] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];
  const title = (path) => titleOf(files.get(path));
  const late = heldReply(edit(also, title(also), `${title(also)}, once more`));
  const provider = await startProvider("right", [
    read(kept),
    read(refused),
    read(also),
    edit(kept, title(kept), `${title(kept)}\nThe second line.\nThe third line.`),
    edit(refused, title(refused), "# Another title"),
    late.promise,
    "Three titles are changed.",
  ]);
  try {
    let app = await openApp(page, url);
    const clock = await Clock.of(page);
    await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
    await provideFolder(page, files);
    const { tasks } = await traced(browser, page, async () => {
      await by.activate(page.getByRole("button", { name: "Open folder" }));
      const count = page.locator(".files-pane .pane-head .faint");
      await count.filter({ hasText: new RegExp(`^${files.size}$`) }).waitFor({ timeout: 60_000 });
      await page.locator(".tree-row.selected").and(app.row(kept)).waitFor();
      await app.ask("change the titles");
      // The assistant waits for its model with a change of this file shown.
      await page
        .getByText(/2 changes in 2 files/)
        .first()
        .waitFor();
      await by.goTo(app);
      await page.keyboard.press("End");
      await page.keyboard.insertText(" Mine.");
      await shots("typed");
      late.release();
      await app.finished(30_000);
    });
    const longest = Math.max(...tasks.map(({ cpu }) => cpu)) / (await clock.unit(page));
    console.log(`# ${files.size} files: longest task ${longest.toFixed(0)} units`);
    assert.ok(longest <= TASK_UNITS_MAX, `a task of ${longest} units`);
    assert.match(await app.changes(), /3 changes in 3 files/);
    await by.activate(page.getByRole("tab", { name: /Review changes/ }));
    await app.cards.first().waitFor();
    await shots("review");
    await by.decide(page, { path: refused, name: "Reject", words: "Another title" });
    await page
      .getByText(/2 changes in 2 files/)
      .first()
      .waitFor();

    // A reload in the middle of the review.
    page.once("dialog", (dialog) => dialog.accept());
    await page.waitForTimeout(300);
    await page.reload();
    app = new App(page);
    await page
      .getByText(/2 changes in 2 files/)
      .first()
      .waitFor({ timeout: 30_000 });
    await by.activate(page.getByRole("tab", { name: /Review changes/ }));
    await app.cards.first().waitFor();
    await by.decide(page, { path: also, name: "Accept", words: "once more" });
    await page
      .getByText(/1 change in 1 file/)
      .first()
      .waitFor();
    await by.decide(page, { path: kept, name: "Accept", words: "The third line" });
    await page.getByText("Nothing to review.").waitFor();
    await shots("reviewed");

    // Back to before the task, and forth again.
    const press = (name, exact) => by.activate(page.getByRole("button", { name, exact }).first());
    await press("More");
    await by.activate(page.getByRole("menuitem", { name: "Checkpoints…" }));
    await press(/^Go back to before this task/);
    await press("Go back", true);
    // The user typed at the end of a line of the assistant.
    const question = page.getByRole("dialog", { name: "You edited inside this change" });
    await by.activate(question.getByRole("button", { name: "Go back" }));
    await press("Undo going back to before a task");
    await press(/^Save all 2 changed files/);
    await page.getByRole("button", { name: /everything is saved/ }).waitFor({ timeout: 30_000 });
    await shots("saved");

    const expected = new Map(files);
    expected.set(kept, files.get(kept).replace(title(kept), `${title(kept)}\nThe second line. Mine.\nThe third line.`));
    expected.set(also, files.get(also).replace(title(also), `${title(also)}, once more`));
    const found = await digests(page);
    const wrong = [...expected].filter(([path, text]) => found.get(path) !== digestOf(text)).map(([path]) => path);
    assert.deepEqual(wrong, []);
    assert.equal(found.size, files.size, "no file was added");
  } finally {
    await provider.close();
  }
}

/** Takes pictures of the states into the folder `PNG`, light and dark. */
function pictures(page, name) {
  return async (state) => {
    if (process.env.PNG === undefined) return;
    for (const theme of ["light", "dark"]) {
      await page.evaluate((wanted) => {
        document.documentElement.dataset.theme = wanted;
      }, theme);
      await page.screenshot({ path: join(process.env.PNG, `${name}-${state}-${theme}.png`) });
    }
  };
}

export const tests = {
  async "the whole story in the folder of this repository"(given) {
    await story(given, BY_MOUSE, pictures(given.page, "story"));
  },

  async "the whole story in the folder of this repository, with the keyboard"(given) {
    await story(given, BY_KEYBOARD, pictures(given.page, "keys"));
  },
};

export const alone = Object.keys(tests);

/** Thousands of files are written first. */
export const limitMs = 150_000;
