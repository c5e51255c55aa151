// The symbols of the open file: one module for its language, which also works offline afterwards.
import assert from "node:assert/strict";
import { openApp } from "../app.mjs";

/** The names of the grammars that the page and its workers have loaded. */
const grammars = (requests) => [
  ...new Set(requests.flatMap((url) => /outline-([a-z]+)-?[^/]*\.wasm/.exec(url)?.[1] ?? [])),
];

export const tests = {
  async "a symbol of the open file is found by letters, and Enter goes to its line"({ page, url }) {
    const requests = [];
    page.on("request", (request) => requests.push(request.url()));
    page.context().on("request", (request) => requests.push(request.url()));
    const app = await openApp(page, url);
    await app.openFile("src/loans.ts");
    assert.deepEqual(grammars(requests), [], "no grammar is loaded before its first use");
    await page.keyboard.press("Control+Shift+O");
    const dialog = page.getByRole("dialog", { name: "Go to a symbol" });
    const all = dialog.getByRole("option");
    await all.first().waitFor();
    const names = await all.allTextContents();
    assert.ok(names.length >= 2, names.join("\n"));
    // The last one, so that the cursor has to move.
    const [, name, line] = /^\u2003*(.+):(\d+)/.exec(names.at(-1));
    await page.keyboard.type(name);
    await page.waitForFunction(
      (expected) => document.querySelector(".found-row.chosen")?.textContent.includes(expected),
      name,
    );
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "hidden" });
    await page.locator(".cm-activeLineGutter", { hasText: new RegExp(`^${line}$`) }).waitFor();
    assert.deepEqual(grammars(requests), ["typescript"]);
  },

  async "the headings of a Markdown file and the keys of a JSON file are symbols"({ page, url }) {
    const app = await openApp(page, url);
    const markdown = "Title\n=====\n\n```\n# in code\n```\n\n## Part `one` ##\n\n### Deep\n\n# Second\n";
    const json = '{\n  "name": "x",\n  "outer": {\n    "inner \\"q\\"": [{ "deep": { "deeper": 1 } }]\n  }\n}\n';
    await app.openFolder({ "notes.md": markdown, "data.json": json, "broken.json": '{ "a": {\n "b": 1' });
    const symbols = async (path) => {
      await app.openFile(path);
      await page.keyboard.press("Control+Shift+O");
      const dialog = page.getByRole("dialog", { name: "Go to a symbol" });
      await dialog.getByRole("option").first().waitFor();
      const found = await dialog.getByRole("option").allTextContents();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      return found.map((text) => text.replaceAll("\u2003", "-"));
    };
    assert.deepEqual(await symbols("notes.md"), ["Title:1h1", "-Part `one`:8h2", "--Deep:10h3", "Second:12h1"]);
    assert.deepEqual(await symbols("data.json"), ["name:2key", "outer:3key", '-inner "q":4key', "--deep:4key"]);
    assert.deepEqual(await symbols("broken.json"), ["a:1key", "-b:2key"]);
  },

  async "an @ in front of the letters of a file goes to a symbol, and other files have a note"({ page, url }) {
    const app = await openApp(page, url);
    await app.openFile("src/loans.ts");
    await page.keyboard.press("Control+p");
    const dialog = page.getByRole("dialog", { name: "Open a file" });
    await page.keyboard.type("@");
    await dialog.locator(".found-text", { hasText: /^fn$/ }).first().waitFor();
    await page.keyboard.press("Backspace");
    await dialog.getByRole("option", { name: /loans\.ts/ }).waitFor();
    await page.keyboard.press("Escape");
    await app.openFolder({ "notes.txt": "# no heading\n" });
    await app.openFile("notes.txt");
    await page.keyboard.press("Control+Shift+O");
    await page.getByText("Symbols are not known for files of this kind.").waitFor();
  },
};
