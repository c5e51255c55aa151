// The canvas: earlier versions of the open file, the place of the assistant, and Markdown beside its text.
import assert from "node:assert/strict";
import { openApp } from "../app.mjs";
import { heldReply, startProvider } from "../provider.mjs";
import { joinServer, withServer } from "../service.mjs";

const VERSIONS = { name: "Earlier versions" };

/** Opens a folder in which two tasks have renamed a word, and the user saved between them. */
async function withVersions(page, url, test) {
  const app = await openApp(page, url);
  await app.openFolder({ "a.txt": "one foo\ntwo\nthree\n" });
  await app.chooseModel({ pace: "instant" });
  await app.askAndWait("rename foo to bar");
  await app.openFile("a.txt");
  await page.getByRole("button", { name: "Accept file" }).click();
  await app.says("Accepted 1 change");
  await page.keyboard.press("Control+s");
  await app.says("Saved a.txt.");
  await app.askAndWait("rename bar to baz");
  await app.hunks(1);
  await test(app);
}

function parts(page) {
  const view = page.getByRole("region", { name: "Versions of a.txt" });
  const list = view.getByRole("list", { name: "Versions, newest first" }).locator(".version-name");
  const name = view.locator(".versions-name");
  const lines = (kind) => view.locator(`.diff-line.${kind} code`).allTextContents();
  return { view, list, name, lines };
}

export const tests = {
  async "the open file has versions, and one is put back as one edit that Undo takes back"({ page, url }) {
    await withVersions(page, url, async (app) => {
      await page.getByRole("button", VERSIONS).click();
      const { view, list, name, lines } = parts(page);
      await name.filter({ hasText: "3 of 3" }).waitFor();
      const names = ["Now", "Before “rename bar to baz”", "Saved", "Before “rename foo to bar”"];
      assert.deepEqual(await list.allTextContents(), names);
      assert.match(await view.locator(".version").nth(1).textContent(), /then \+1 −1/);
      // The text is shown read-only, with its differences to now.
      assert.deepEqual(await lines("added"), ["one bar"]);
      assert.deepEqual(await lines("removed"), ["one baz"]);
      assert.deepEqual(await lines("context"), ["two", "three"]);
      await view.getByRole("button", { name: "Older version" }).click();
      await name.filter({ hasText: "2 of 3: Saved" }).waitFor();
      await page.keyboard.press("ArrowLeft");
      await name.filter({ hasText: "1 of 3: Before “rename foo to bar”" }).waitFor();
      assert.deepEqual(await lines("added"), ["one foo"]);
      await view.getByRole("button", { name: "Put this version back" }).click();
      await app.says("a.txt has the text of the version “Before “rename foo to bar””.");
      await page.waitForFunction(() => document.activeElement?.classList.contains("cm-content"));
      assert.equal(await app.text(), "one foo\ntwo\nthree\n");
      await page.keyboard.press("Control+z");
      await app.editor.getByText("one baz").waitFor();
      await app.hunks(1);
    });
  },

  async "versions are used with the keyboard, and Escape returns to the text"({ page, url }) {
    await withVersions(page, url, async (app) => {
      await page.getByRole("button", VERSIONS).focus();
      await page.keyboard.press("Enter");
      const { view, name } = parts(page);
      await name.filter({ hasText: "3 of 3" }).waitFor();
      await page.waitForFunction(() => document.activeElement?.closest(".versions") !== null);
      await page.keyboard.press("ArrowLeft");
      await name.filter({ hasText: "2 of 3" }).waitFor();
      for (let n = 0; n < 3; n += 1) await page.keyboard.press("ArrowRight");
      await name.filter({ hasText: "Now" }).waitFor();
      assert.equal(await view.getByRole("button", { name: "Put this version back" }).isDisabled(), true);
      await page.keyboard.press("Escape");
      await view.waitFor({ state: "detached" });
      await page.keyboard.type("x");
      assert.match(await app.text(), /x/);
    });
  },

  async "a reload keeps the versions with their times, and what the assistant does next is shown among them"({
    page,
    url,
  }) {
    await withVersions(page, url, async (app) => {
      await page.getByRole("button", VERSIONS).click();
      const { view, list, name } = parts(page);
      await name.filter({ hasText: "3 of 3" }).waitFor();
      const times = await view.locator(".version .faint").allTextContents();
      await page.waitForTimeout(1_200);
      page.once("dialog", (dialog) => dialog.accept());
      await page.reload();
      await app.editor.getByText("one baz").waitFor();
      await page.getByRole("button", VERSIONS).click();
      await name.filter({ hasText: "3 of 3" }).waitFor();
      assert.deepEqual(await view.locator(".version .faint").allTextContents(), times);
      await app.askAndWait("rename two to deux");
      await page.waitForFunction(() => document.querySelectorAll(".version").length === 5);
      assert.equal((await list.allTextContents())[1], "Before “rename two to deux”");
    });
  },

  async "versions and checkpoints after 50 tasks open at once, and replay nothing"({ page, url }) {
    const edit = (n) => ({
      name: "Edit",
      input: { file_path: "a.txt", old_string: `count ${n}\n`, new_string: `count ${n + 1}\n` },
    });
    const replies = [{ name: "Read", input: { file_path: "a.txt" } }];
    for (let n = 0; n < 50; n += 1) replies.push(edit(n), "Done.");
    const provider = await startProvider("right", replies);
    try {
      const app = await openApp(page, url);
      await app.openFolder({ "a.txt": `count 0\n${"line\n".repeat(500)}` });
      await app.openFile("a.txt");
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
      for (let n = 0; n < 50; n += 1) {
        await app.ask(`count to ${n + 1}`);
        await app.editor.getByText(`count ${n + 1}`, { exact: true }).waitFor();
        await app.finished();
      }
      const open = async (act, shown) => {
        const begun = Date.now();
        await act();
        await shown.waitFor();
        return Date.now() - begun;
      };
      const { name } = parts(page);
      const times = [];
      for (let n = 0; n < 2; n += 1) {
        times.push(await open(() => page.getByRole("button", VERSIONS).click(), name.filter({ hasText: "50 of 50" })));
        await page.keyboard.press("Escape");
      }
      const points = page.getByRole("dialog", { name: "Checkpoints" });
      for (let n = 0; n < 2; n += 1) {
        await page.getByRole("button", { name: "More" }).click();
        const item = page.getByRole("menuitem", { name: "Checkpoints…" });
        times.push(await open(() => item.click(), points.getByRole("group", { name: "Before the task → now: a.txt" })));
        await page.keyboard.press("Escape");
      }
      console.log(
        `# 50 tasks: versions ${times.slice(0, 2).join(", ")} ms, checkpoints ${times.slice(2).join(", ")} ms`,
      );
      assert.ok(Math.max(...times) < 1_500, times.join());
    } finally {
      await provider.close();
    }
  },

  async "a file on a server has versions, which its checkpoints have"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async (server) => {
      const app = await joinServer(page, url, server.url);
      await app.askAndWait("rename colour to color in notes.md");
      await app.askAndWait("rename wet to deep in notes.md");
      await app.row("notes.md").click();
      await app.hunks(2);
      await page.getByRole("button", VERSIONS).click();
      const view = page.getByRole("region", { name: "Versions of notes.md" });
      await view.locator(".versions-name", { hasText: "2 of 2: Before “rename wet" }).waitFor();
      assert.deepEqual(await view.locator(".diff-line.added code").allTextContents(), ["It is wet."]);
      // The texts from before are read once.
      const asked = [];
      page.on("request", (request) => asked.push(new URL(request.url()).pathname));
      await page.keyboard.press("Escape");
      await page.getByRole("button", VERSIONS).click();
      await view.locator(".versions-name", { hasText: "2 of 2" }).waitFor();
      assert.equal(asked.filter((path) => path.endsWith("/diff3")).length, 0);
      await view.getByRole("button", { name: "Older version" }).click();
      await view.getByRole("button", { name: "Put this version back" }).click();
      await app.says("notes.md has the text of the version");
      await app.editor.getByText("The colour of the sky.").waitFor();
    });
  },

  async "the editor marks the line at which the assistant edits, and follows it until the user scrolls"({ page, url }) {
    const edit = (old_string, new_string) => ({ name: "Edit", input: { file_path: "a.txt", old_string, new_string } });
    const held = [heldReply(edit("line 150", "LINE 150")), heldReply(edit("line 20 ", "LINE 20 ")), heldReply("Done.")];
    const replies = [{ name: "Read", input: { file_path: "a.txt" } }, edit("line 190", "LINE 190")];
    const provider = await startProvider("right", [...replies, ...held.map((each) => each.promise)]);
    try {
      const app = await openApp(page, url);
      await app.openFolder({ "a.txt": Array.from({ length: 200 }, (_, n) => `line ${n + 1} \n`).join("") });
      await app.openFile("a.txt");
      await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
      await app.ask("shout");
      // The open file is the canvas, so the place is in the note about the lease.
      const note = page.locator(".canvas");
      await note.getByRole("button", { name: "at line 190" }).waitFor();
      const isSeen = (text) =>
        page.waitForFunction((wanted) => {
          const line = [...document.querySelectorAll(".cm-line")].find((each) => each.textContent.includes(wanted));
          const box = document.querySelector(".cm-scroller").getBoundingClientRect();
          const at = line?.getBoundingClientRect().top ?? -1;
          return at > box.top && at < box.bottom;
        }, text);
      await note.getByRole("checkbox", { name: "Follow" }).check();
      await isSeen("LINE 190");
      await page.locator(".cm-line.assistant-line", { hasText: "LINE 190" }).waitFor();
      held[0].release();
      await note.getByRole("button", { name: "at line 150" }).waitFor();
      await isSeen("LINE 150");
      await page.locator(".cm-line.assistant-line", { hasText: "LINE 150" }).waitFor();
      await page.locator(".cm-scroller").hover();
      await page.mouse.wheel(0, 100);
      await page.waitForFunction(() => document.querySelector(".follow input").checked === false);
      held[1].release();
      await note.getByRole("button", { name: "at line 20" }).waitFor();
      await page.waitForTimeout(200);
      assert.equal(await page.locator(".cm-line", { hasText: "LINE 20" }).count(), 0, "the editor stays");
      held[2].release();
      await app.finished();
      await note.getByRole("checkbox", { name: "Follow" }).waitFor({ state: "detached" });
      assert.equal(await page.locator(".assistant-line").count(), 0);
    } finally {
      await provider.close();
    }
  },

  async "Markdown is shown beside its text on a wide page, and in its place on a narrow one"({ page, url }) {
    await page.setViewportSize({ width: 1600, height: 900 });
    const app = await openApp(page, url);
    await page.getByRole("button", { name: "Preview" }).click();
    const preview = page.getByRole("group", { name: "Preview of README.md" });
    await preview.getByText("Rules of lending").waitFor();
    assert.equal(await app.editor.isVisible(), true);
    const [text, read] = [await app.editor.boundingBox(), await preview.boundingBox()];
    assert.ok(text.x + text.width <= read.x + 1, "the preview is beside the text");
    await app.editor.locator(".cm-line", { hasText: "# Seed library" }).click();
    await page.keyboard.press("End");
    await page.keyboard.type(" of mine");
    await preview.getByText("Seed library of mine").waitFor();
    await page.setViewportSize({ width: 900, height: 900 });
    await preview.getByText("Rules of lending").waitFor();
    assert.equal(await app.editor.isVisible(), false);
  },
};
