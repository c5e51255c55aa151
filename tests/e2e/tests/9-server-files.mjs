// The files of a server on the page: the tree, quick open and the search, for files that no session has touched.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { downloaded, menu } from "../app.mjs";
import { call, joinServer, withServer } from "../service.mjs";

async function write(folder, path, text) {
  await mkdir(join(folder, path, ".."), { recursive: true });
  await writeFile(join(folder, path), text);
}

export const tests = {
  async "text of another client that waits for a save is not called saved, and is saved here"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async (server) => {
      const app = await joinServer(page, url, server.url);
      await app.openFile("notes.md");
      await page.locator(".save-state", { hasText: "No unsaved changes" }).waitFor();
      const content = "# Waits\n";
      await call(server.url, "POST", "/api/agent/user_edit", { file_path: "notes.md", content, save: false });
      await page.locator(".cm-line", { hasText: "# Waits" }).waitFor();
      await page.locator(".save-state", { hasText: "Not saved" }).waitFor();
      assert.notEqual(await readFile(join(server.folder, "notes.md"), "utf8"), content);
      await page.getByRole("button", { name: "Save all 1 changed file" }).click();
      await app.toast.getByText("Saved notes.md.").waitFor();
      await page.locator(".save-state", { hasText: "No unsaved changes" }).waitFor();
      assert.equal(await readFile(join(server.folder, "notes.md"), "utf8"), content);
      assert.equal(await page.getByRole("button", { name: /^Save all/ }).count(), 0);
    });
  },

  async "the files of a server are listed, opened, created, moved and deleted, with folders"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async ({ url: server, folder }) => {
      await write(folder, "src/parts/one.txt", "first\n");
      await write(folder, "src/parts/two.txt", "second\n");
      await write(folder, ".env", "SECRET=1\n");
      const app = await joinServer(page, url, server);
      await app.openFile("src/parts/two.txt");
      await page.locator(".cm-line", { hasText: "second" }).waitFor();
      assert.equal(await app.row(".env").count(), 0);

      // A hidden file is not in the list, and is not replaced by an empty one.
      const newFile = async (name) => {
        await page.getByRole("button", { name: "New file" }).click();
        const dialog = page.getByRole("dialog", { name: "New file" });
        await dialog.getByRole("textbox").fill(name);
        await dialog.getByRole("textbox").press("Enter");
      };
      await newFile(".env");
      await app.says(".env exists already");
      assert.equal(await readFile(join(folder, ".env"), "utf8"), "SECRET=1\n");
      await newFile("src/three.txt");
      await app.row("src/three.txt").waitFor();
      assert.ok(existsSync(join(folder, "src/three.txt")));

      // The new file takes the focus when it is open.
      await page.waitForFunction(() => document.activeElement?.ariaLabel === "Text of src/three.txt");
      await app.row("src/parts").press("F2");
      const rename = page.getByRole("dialog", { name: /^Rename/ });
      await rename.getByRole("textbox").fill("src/pieces");
      await rename.getByRole("textbox").press("Enter");
      await app.row("src/pieces/one.txt").waitFor();
      assert.equal(await readFile(join(folder, "src/pieces/one.txt"), "utf8"), "first\n");
      assert.ok(!existsSync(join(folder, "src/parts/one.txt")));

      await app.row("src/pieces").press("Delete");
      await page
        .getByRole("dialog", { name: "Delete 2 files in pieces?" })
        .getByRole("button", { name: "Delete" })
        .click();
      await app.says("Deleted 2 files.");
      assert.ok(!existsSync(join(folder, "src/pieces/one.txt")));
      await app.toast.getByRole("button", { name: "Undo" }).click();
      await app.row("src/pieces/one.txt").waitFor();
      assert.equal(await readFile(join(folder, "src/pieces/two.txt"), "utf8"), "second\n");

      // A file that another program removed is gone from the list after the next task.
      await rm(join(folder, "src/three.txt"));
      await app.askAndWait("rename colour to color in notes.md");
      await app.row("src/three.txt").waitFor({ state: "detached" });
    });
  },

  async "texts are found in all files of a server, and a file is opened at its line"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async ({ url: server, folder }) => {
      await write(folder, "deep/below/poem.txt", "a\nb\nc\nThe lighthouse (old) stands.\n");
      await write(folder, "other.txt", "an old house\n");
      const app = await joinServer(page, url, server);
      await app.row("other.txt").waitFor();
      await page.keyboard.press("Control+Shift+F");
      const dialog = page.getByRole("dialog", { name: "Find in files" });
      await dialog.getByRole("combobox").fill("lighthouse (old)");
      await dialog.getByText("1 result").waitFor();
      await dialog.getByRole("option", { name: /poem\.txt:4/ }).click();
      await page.locator(".cm-line", { hasText: "lighthouse" }).waitFor();
      await page
        .locator(".status-bar", { hasText: "Line 4" })
        .or(page.locator(".status-bar", { hasText: "4:" }))
        .waitFor();
      await page.keyboard.press("Control+P");
      const quick = page.getByRole("dialog", { name: "Open a file" });
      await quick.getByRole("combobox").fill("othr");
      await quick.getByRole("option", { name: /other\.txt/ }).click();
      await page.locator(".cm-line", { hasText: "an old house" }).waitFor();
    });
  },

  async "a long list of files of a server is read in parts, and quick open finds those of later parts"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async ({ url: server, folder }) => {
      for (const name of ["a", "b", "c"]) await write(folder, `many/${name}.txt`, `text of ${name}\n`);
      // Parts of two files.
      await page.route("**/api/agent/files?*", (route) => {
        const wanted = new URL(route.request().url());
        wanted.searchParams.set("limit", "2");
        return route.continue({ url: wanted.href });
      });
      const app = await joinServer(page, url, server);
      await app.row("many/b.txt").waitFor();
      assert.equal(await app.row("notes.md").count(), 0);
      await page.keyboard.press("Control+P");
      const quick = page.getByRole("dialog", { name: "Open a file" });
      await quick.getByRole("combobox").fill("notes");
      await quick.getByRole("option", { name: /notes\.md/ }).click();
      await page.locator(".cm-line", { hasText: "The colour" }).waitFor();
      await page.getByRole("button", { name: "Show more files" }).click();
      await app.row("many/c.txt").waitFor();
      await page.getByRole("button", { name: "Show more files" }).waitFor({ state: "detached" });
    });
  },

  async "the patch of a server's pending changes applies to its disk, and the menu has only what a server can do"({
    page,
    url,
  }) {
    await withServer({ origin: new URL(url).origin }, async ({ url: server, folder }) => {
      const app = await joinServer(page, url, server);
      await app.askAndWait("rename colour to color in notes.md");
      await page.getByRole("button", { name: "More" }).click();
      const items = await page.getByRole("menuitem").allTextContents();
      assert.ok(items.includes("Download the patch"));
      assert.ok(!items.some((item) => /zip|recording$|under review|Keep in/.test(item)), items.join());
      await page.keyboard.press("Escape");
      const { name, bytes } = await downloaded(page, () => menu(page, "Download the patch"));
      assert.match(name, /\.patch$/);
      await writeFile(join(folder, "p.patch"), bytes);
      execFileSync("git", ["apply", "p.patch"], { cwd: folder });
      assert.match(await readFile(join(folder, "notes.md"), "utf8"), /The color of the sky/);
    });
  },
};
