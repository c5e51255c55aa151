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
    await app.openFile("docs/handbook.md");
    await page.keyboard.press("Control+Shift+O");
    await page.getByText("Symbols are not known for files of this kind.").waitFor();
  },
};
