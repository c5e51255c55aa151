// `emend/codemirror` in a page: the user types while the agent edits, and decides in the editor.
import assert from "node:assert/strict";
import { servePackage } from "../browser.mjs";

/** In a page: an editor over a file, and a model that edits one line after the other. */
async function openEditor() {
  const { Agent } = await import("emend");
  const { bindingOf, emendFile, hunkKeymap, placedHunks } = await import("emend/codemirror");
  const { defaultKeymap, history, historyKeymap } = await import("@codemirror/commands");
  const { EditorView, keymap } = await import("@codemirror/view");
  const lines = Array.from({ length: 12 }, (_, index) => `line ${index} of the file`);
  let round = 0;
  const provider = {
    name: "scripted",
    async *stream() {
      await new Promise((resolve) => setTimeout(resolve, 60));
      if (round === 10) yield { type: "text_delta", delta: "Done." };
      else {
        const args = { file_path: "a.txt", old_string: lines[round], new_string: `LINE ${round} of the file` };
        yield { type: "tool_call", name: "edit_file", arguments: args };
      }
      round += 1;
      yield { type: "finish" };
    },
  };
  const agent = await Agent.create({ files: { "a.txt": `${lines.join("\r\n")}\r\n` }, model: { provider } });
  const extensions = [
    history(),
    keymap.of([...hunkKeymap, ...historyKeymap, ...defaultKeymap]),
    emendFile(agent, "a.txt", { delay: 40, history: true }),
  ];
  const view = new EditorView({ parent: document.body, extensions });
  await bindingOf(view).flush();
  globalThis.editor = {
    run: () => {
      globalThis.editor.running = agent.run("edit").result;
    },
    ended: () => globalThis.editor.running,
    flush: () => bindingOf(view).flush(),
    to: (text) => view.dispatch({ selection: { anchor: view.state.doc.toString().indexOf(text) + text.length } }),
    state: async () => ({
      doc: view.state.doc.toString(),
      visible: (await agent.files.read("a.txt")).text,
      disk: await agent.files.readDisk("a.txt"),
      hunks: placedHunks(view.state).length,
    }),
  };
  view.focus();
}

async function withEditor(page, work) {
  const served = await servePackage();
  try {
    await page.goto(served.url);
    await page.evaluate(openEditor);
    const state = async () => {
      await page.evaluate(() => globalThis.editor.flush());
      return page.evaluate(() => globalThis.editor.state());
    };
    await work(state);
  } finally {
    await served.close();
  }
}

export const tests = {
  "bind: keys that are pressed while the agent edits all arrive, once": ({ page }) =>
    withEditor(page, async (state) => {
      await page.evaluate(() => {
        globalThis.editor.to("line 10 of the file");
        globalThis.editor.run();
      });
      await page.keyboard.type(" and so on, typed while the agent edits the lines above", { delay: 12 });
      await page.keyboard.press("Enter");
      await page.keyboard.type("another line of the user", { delay: 12 });
      await page.evaluate(() => globalThis.editor.ended());
      const { doc, visible, disk, hunks } = await state();
      const expected = [
        ...Array.from({ length: 10 }, (_, index) => `LINE ${index} of the file`),
        "line 10 of the file and so on, typed while the agent edits the lines above",
        "another line of the user",
        "line 11 of the file",
        "",
      ];
      assert.equal(doc, expected.join("\n"));
      assert.equal(visible, expected.join("\r\n"));
      assert.equal(disk, visible.replaceAll("LINE", "line"));
      assert.ok(hunks > 0);
    }),
  "bind: the buttons and keys of a hunk decide, and the editor's undo takes the decision back": ({ page }) =>
    withEditor(page, async (state) => {
      await page.evaluate(() => {
        globalThis.editor.run();
        return globalThis.editor.ended();
      });
      const { doc, hunks } = await state();
      await page.locator(".cm-emend-reject").first().click();
      assert.equal((await state()).hunks, hunks - 1);
      await page.keyboard.press("Control+z");
      const back = await state();
      assert.deepEqual([back.doc, back.hunks], [doc, hunks]);
      await page.evaluate(() => globalThis.editor.to("LINE 0"));
      await page.keyboard.press("Alt+y");
      const kept = await state();
      assert.equal(kept.hunks, hunks - 1);
      assert.ok(kept.disk.startsWith("LINE 0"));
    }),
};
