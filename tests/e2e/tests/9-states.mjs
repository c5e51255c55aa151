// The further states of the page: no state has faults of accessibility, no style is inline, and the whole story on 2,500
// files.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { openApp } from "../app.mjs";
import { startProvider } from "../provider.mjs";
import { call, joinServer, withServer } from "../service.mjs";

async function menu(page, item) {
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: item }).click();
}

/** Returns a function that checks a state in both themes, and the list of what it finds. */
async function withAxe(page) {
  const source = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  await page.context().addInitScript({ content: source });
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
  return { check, found };
}

export const tests = {
  async "axe finds nothing in the start view and in the cards of a conversation, light and dark"({ page, url }) {
    const { check, found } = await withAxe(page);
    await page.context().addInitScript(() => localStorage.setItem("emend.options", JSON.stringify({ shell: true })));
    await page.goto(url);
    await page.getByRole("button", { name: /^Try the sample/ }).waitFor();
    await check("start view");
    await page.getByRole("button", { name: "Join a server" }).click();
    await check("join");
    await page.keyboard.press("Escape");
    const provider = await startProvider("right", [
      { name: "Bash", input: { command: "ls" } },
      { name: "AskUserQuestion", input: { question: "Which?", options: ["this", "that"] } },
    ]);
    try {
      const app = await openApp(page, url);
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
      await app.ask("go");
      await page.getByRole("group", { name: /^The assistant wants to use/ }).waitFor();
      await app.input.fill("later");
      await app.input.press("Alt+Enter");
      await check("approval and queue");
      await page.getByRole("button", { name: /^Allow/ }).click();
      await page.getByRole("group", { name: "Question" }).waitFor();
      await app.finished();
      await check("question");
      assert.deepEqual(found, []);
    } finally {
      await provider.close();
    }
  },

  async "axe finds nothing in the dialogs, the preview and the comments, light and dark"({ page, url }) {
    const { check, found } = await withAxe(page);
    const app = await openApp(page, url);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename loanDays to seasonDays");
    for (const item of ["Checkpoints…", "Events…", "Options…"]) {
      await menu(page, item);
      await page.waitForTimeout(300);
      await check(item);
      if (item === "Checkpoints…") {
        await page.getByLabel("Compare").selectOption("Before · by the assistant · now");
        await check("three texts");
      }
      await page.keyboard.press("Escape");
    }
    await page.getByRole("button", { name: "More" }).click();
    await check("menu");
    await page.keyboard.press("Escape");
    await page.locator(".entry.user").last().hover();
    await page.getByRole("button", { name: /^Edit and send again: rename/ }).click();
    await page.getByText(/These files change/).waitFor();
    await check("go back");
    await page.getByRole("radio", { name: /They go, too/ }).check();
    await check("go back without own edits");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Earlier versions" }).click();
    await page.locator(".version").first().waitFor();
    await check("versions");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Preview" }).click();
    await check("preview");
    await app.showReview();
    await page.getByRole("button", { name: "Side by side" }).click();
    await app.cards.first().focus();
    await page.keyboard.press("c");
    await check("comment, side by side");
    await page.keyboard.type("why?");
    await page.keyboard.press("Control+Enter");
    await check("comment added");
    assert.deepEqual(found, []);
  },

  async "the page's policy has no inline style, and the editor, the lists and the dialogs look right under it"({
    page,
    url,
  }) {
    await page.addInitScript(() => {
      window.violations = [];
      document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
    });
    const app = await openApp(page, url);
    const policy = await page.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute("content");
    assert.doesNotMatch(policy, /unsafe-inline|'unsafe-eval'/);
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename loanDays to seasonDays");
    await app.openFile("src/loans.ts");
    await app.hunks(2);
    // The editor's own styles apply: a wrong policy would leave the lines in the page's font, without colours.
    const line = page.locator(".cm-line", { hasText: "seasonDays" }).first();
    assert.match(await line.evaluate((node) => getComputedStyle(node).fontFamily), /mono/i);
    assert.notEqual(await page.locator(".cm-gutters").evaluate((node) => getComputedStyle(node).display), "block");
    assert.equal(await page.evaluate(() => document.querySelectorAll("style").length), 0);
    await app.showReview();
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    await page.keyboard.press("Escape");
    assert.deepEqual(await page.evaluate(() => window.violations), []);
  },

  async "axe finds nothing in a page on a server and its dialogs, light and dark"({ page, url }) {
    const { check, found } = await withAxe(page);
    await withServer({ origin: new URL(url).origin, env: { EMEND_MAX_SESSIONS: "2" } }, async (server) => {
      for (const title of ["One", ""]) await call(server.url, "POST", "/api/agent/sessions", { title });
      const app = await joinServer(page, url, server.url);
      await app.askAndWait("rename colour to color in notes.md");
      await app.openFile("notes.md");
      await check("a page on a server");
      await page.getByRole("button", { name: "New conversation" }).first().click();
      await page.getByRole("alert").waitFor();
      await check("the conversations of a server at their limit");
      await page.getByRole("button", { name: "Rename: One" }).click();
      await check("a conversation that is renamed");
      await page.getByRole("button", { name: "Close" }).click();
      await menu(page, "Options…");
      await page.getByText("Used so far").waitFor();
      await check("the options of a server");
    });
    assert.deepEqual(found, []);
  },

  async "the whole story on 2,500 files: open, change, reload, decide, go back and save"({ page, url }) {
    const folder = await mkdtemp(join(tmpdir(), "emend-large-"));
    try {
      for (let at = 0; at < 2_500; at++) {
        const path = join(folder, `part${at % 50}`, `file${at}.ts`);
        if (at < 50) await mkdir(dirname(path));
        const uses = at % 100 === 0 ? `export const n${at} = oldName(${at});\n` : "";
        await writeFile(path, `// File ${at}.\n${uses}export const value${at} = ${at};\n`);
      }
      const app = await openApp(page, url);
      await page.evaluate(() => {
        window.seen = new Set();
        new MutationObserver(() => {
          const text = document.querySelector(".canvas .empty")?.textContent ?? "";
          if (/Reading files: [\d,]+ so far/.test(text)) window.seen.add(text);
        }).observe(document.body, { subtree: true, childList: true, characterData: true });
      });
      await page.getByLabel("Folder to open").setInputFiles(folder);
      await page.waitForFunction(
        () => document.querySelector(".files-pane .pane-head .faint")?.textContent === "2500",
        null,
        {
          timeout: 40_000,
        },
      );
      assert.ok((await page.evaluate(() => window.seen.size)) >= 2, "no progress was shown");
      // The tree has 2,550 rows, of which few are drawn; keys reach all of them.
      assert.ok((await page.locator(".tree-row").count()) <= 200);
      await page.locator('.tree [tabindex="0"]').focus();
      const focusIs = (path) => page.waitForFunction((wanted) => document.activeElement.dataset.path === wanted, path);
      await page.keyboard.press("End");
      await focusIs("part49/file2499.ts");
      await page.keyboard.press("ArrowUp");
      await focusIs("part49/file2449.ts");
      await page.keyboard.press("Home");
      await focusIs("part0");
      for (let at = 0; at < 130; at++) await page.keyboard.press("ArrowDown");
      await focusIs("part2/file1352.ts");
      await app.chooseModel({ pace: "instant" });
      await app.ask("rename oldName to newName");
      await app.finished(40_000);
      assert.match(await app.changes(), /25 changes in 25 files/);
      await page.waitForTimeout(300);
      page.once("dialog", (dialog) => dialog.accept());
      await page.reload();
      await page.waitForFunction(
        () => /25 changes in 25 files/.test(document.querySelector(".review-button")?.textContent),
        null,
        {
          timeout: 30_000,
        },
      );
      await app.showReview();
      await app.cards.first().focus();
      for (const key of ["y", "y", "n"]) {
        const left = await app.changes();
        await page.keyboard.press(key);
        await page.waitForFunction((before) => document.querySelector(".review-button").textContent !== before, left);
      }
      assert.match(await app.changes(), /22 changes in 22 files/);
      await page.getByRole("button", { name: "Accept all", exact: true }).click();
      await page.getByRole("button", { name: /^Download 24 changed files/ }).waitFor();
      await menu(page, "Checkpoints…");
      await page.getByRole("button", { name: /^Go back to before this task/ }).click();
      await page.getByRole("button", { name: "Go back", exact: true }).click();
      await page.getByRole("button", { name: /everything is saved/ }).waitFor({ timeout: 30_000 });
      await page.getByRole("button", { name: "Undo going back to before a task" }).first().click();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: /^Download 24 changed files/ }).click(),
      ]);
      assert.match(download.suggestedFilename(), /-changed\.zip$/);
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};
