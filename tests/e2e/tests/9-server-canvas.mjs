// The canvas of a page on a server: the assistant edits the open file under a lease, with a model of each wire format, and the
// user wins in the middle of the edit.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { menu } from "../app.mjs";
import { call, joinServer, TOKEN, withServer } from "../service.mjs";
import { startTape } from "../tape.mjs";

/** The models, and the beginning of their variables. Each has a cassette. */
const MODELS = {
  "anthropic:claude-sonnet-5-5": "ANTHROPIC",
  "openai:gpt-5.6-sol": "OPENAI",
  "openai_compatible:qwen3-coder": "OPENAI_COMPATIBLE",
  "gemini:gemini-3.8-flash": "GEMINI",
};

const TEXT = "# Plan\n\none\ntwo\n";
/** The response with the edit. */
const EDIT = 4;

const onDisk = ({ folder }) => readFile(join(folder, "plan.md"), "utf8");

/** Waits until the plan on the server's disk is as expected. */
async function diskHas(server, expected) {
  for (let attempt = 0; attempt < 50 && (await onDisk(server)) !== expected; attempt++) {
    await new Promise((done) => setTimeout(done, 50));
  }
  assert.equal(await onDisk(server), expected);
}

/** Joins a server with a model of its own; the assistant is in the middle of its edit of the open file. */
async function inTheEdit({ page, url }, model, work) {
  const tape = await startTape(`canvas-${model.split(":")[0]}`, EDIT);
  const env = { [`${MODELS[model]}_BASE_URL`]: tape.url, [`${MODELS[model]}_API_KEY`]: "sk-test" };
  try {
    await withServer({ origin: new URL(url).origin, model, env, files: { "plan.md": TEXT } }, async (server) => {
      const app = await joinServer(page, url, server.url);
      await app.openFile("plan.md");
      await app.ask("make two loud");
      await tape.halfway;
      await app.lease.waitFor();
      const { sessions } = await call(server.url, "GET", "/api/agent/sessions");
      const path = `/api/agent/sessions/${sessions[0].session_id}/canvas`;
      const state = () => call(server.url, "GET", path);
      await work({ app, server, tape, state, path });
    });
  } finally {
    tape.goOn();
    await tape.close();
  }
}

/** The row of the edit in the conversation. */
const editRow = (app) => app.transcript.locator(".entry.call", { hasText: "canvas_edit_lines" });

export const tests = {
  async "a keystroke in the middle of an edit is kept, and the edit of each wire format fails"(given) {
    for (const model of Object.keys(MODELS)) {
      await inTheEdit(given, model, async ({ app, server, tape, state }) => {
        assert.equal((await state()).held, true, model);
        await given.page.locator(".cm-line", { hasText: "one" }).click();
        await given.page.keyboard.press("End");
        await given.page.keyboard.press("x");
        await app.lease.waitFor({ state: "detached" });
        await diskHas(server, "# Plan\n\nonex\ntwo\n");
        const { held, revision_id } = await state();
        assert.equal(held, false, model);

        tape.goOn();
        await app.finished();
        await editRow(app).click();
        assert.match(await editRow(app).textContent(), /STALE_EPOCH/, model);
        assert.match(tape.requests[EDIT], /STALE_EPOCH/, model);
        assert.equal((await state()).revision_id, revision_id, model);
        assert.equal(await onDisk(server), "# Plan\n\nonex\ntwo\n", model);
        assert.equal(await app.text(), "# Plan\n\nonex\ntwo\n", model);
        await app.hunks(0);
      });
    }
  },

  async "a stop in the middle of an edit of each wire format takes the file back"(given) {
    for (const model of Object.keys(MODELS)) {
      await inTheEdit(given, model, async ({ app, server, tape, state, path }) => {
        const before = await state();
        const lease = /lease_\d+_\d+/.exec(tape.requests[1])[0];
        await given.page.getByRole("button", { name: "Stop" }).click();
        await app.lease.waitFor({ state: "detached" });
        await app.finished();
        const edits = [{ operation: "delete", start_line: 1 }];
        const late = { lease_id: lease, base_revision_id: before.revision_id, edits };
        const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
        const body = JSON.stringify(late);
        const response = await fetch(`${server.url}${path}/edit_lines`, { method: "POST", headers, body });
        assert.deepEqual([response.status, (await response.json()).error.code], [409, "STALE_EPOCH"], model);
        tape.goOn();
        const after = await state();
        assert.deepEqual([after.held, after.revision_id], [false, before.revision_id], model);
        assert.ok(after.epoch > before.epoch, model);
        assert.equal(await onDisk(server), TEXT, model);
        await app.hunks(0);
      });
    }
  },

  async "the edit of an undisturbed assistant waits for review, and control can be taken"(given) {
    const [model] = Object.keys(MODELS);
    await inTheEdit(given, model, async ({ app, server, tape, state }) => {
      tape.goOn();
      await app.finished();
      await app.hunks(1);
      const tools = ["check_out", "grep", "read_lines", "edit_lines", "check_in"].map((name) => `canvas_${name}`);
      assert.deepEqual(await app.toolCalls(), tools);
      assert.equal((await state()).held, false);
      await app.lease.waitFor({ state: "detached" });
      await given.page.getByRole("button", { name: "Accept file" }).click();
      await diskHas(server, "# Plan\n\none\nTWO\n");
    });
    await inTheEdit(given, model, async ({ app, tape, state }) => {
      await given.page.getByRole("button", { name: "Take control" }).click();
      await app.lease.waitFor({ state: "detached" });
      while ((await state()).held) await new Promise((done) => setTimeout(done, 20));
      tape.goOn();
      await app.finished();
      await app.hunks(0);
      // The closed file is not the canvas any more.
      await given.page.keyboard.press("Escape");
      await given.page.getByRole("tab", { name: "plan.md" }).focus();
      await given.page.keyboard.press("Delete");
      while ((await state()).file_path !== null) await new Promise((done) => setTimeout(done, 20));
    });
  },

  async "an option takes the canvas tools away, and a server without a canvas has none"({ page, url }) {
    const flags = async (server) => {
      const { sessions } = await call(server.url, "GET", "/api/agent/sessions");
      return sessions[0].canvas;
    };
    const choose = async (isOn) => {
      await menu(page, "Options…");
      const dialog = page.getByRole("dialog", { name: "Options" });
      await dialog.getByRole("checkbox", { name: /^Canvas tools/ }).setChecked(isOn);
      await dialog.getByRole("button", { name: "Use these options" }).click();
      return dialog;
    };
    const origin = new URL(url).origin;
    await withServer({ origin }, async (server) => {
      const app = await joinServer(page, url, server.url);
      await page.getByText("What should I change?").waitFor();
      assert.deepEqual(await flags(server), { tools: true, enforce_lease: true });
      await (await choose(false)).waitFor({ state: "detached" });
      assert.deepEqual(await flags(server), { tools: false, enforce_lease: false });
      await app.askAndWait("rename colour to color in notes.md");
      await page.getByRole("button", { name: "New conversation", exact: true }).first().click();
      while ((await call(server.url, "GET", "/api/agent/sessions")).total < 2) await page.waitForTimeout(20);
      await page.getByText("What should I change?").waitFor();
      assert.deepEqual(await flags(server), { tools: false, enforce_lease: false });
      await (await choose(true)).waitFor({ state: "detached" });
      assert.deepEqual(await flags(server), { tools: true, enforce_lease: true });
    });
    await withServer({ origin, args: ["--canvas", "git"] }, async (server) => {
      const app = await joinServer(page, url, server.url);
      await app.openFile("notes.md");
      assert.deepEqual(await flags(server), { tools: false, enforce_lease: false });
      await (await choose(true)).getByText(/Git mode/).waitFor();
      await page.keyboard.press("Escape");
      await app.askAndWait("rename colour to color in notes.md");
      await app.hunks(1);
    });
  },

  async "the user can read what the assistant was told about changes of the open file"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async (server) => {
      const app = await joinServer(page, url, server.url);
      await app.openFile("notes.md");
      await app.askAndWait("what is in notes.md?");
      const told = async () => {
        await menu(page, "Options…");
        await page.getByText("What the assistant was told about changes of the open file").click();
        return page.getByRole("dialog", { name: "Options" });
      };
      await (await told()).getByText("Nothing yet.").waitFor();
      await page.keyboard.press("Escape");
      await app.editor.click();
      await page.keyboard.press("Control+Home");
      await page.keyboard.type("My line.\n");
      await app.askAndWait("what is in notes.md?");
      await (await told()).locator("pre", { hasText: "+My line." }).waitFor();
    });
  },
};
