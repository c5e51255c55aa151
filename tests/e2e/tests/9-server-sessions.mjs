// The conversations of a server on the page: each is a session of `emend serve`.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { menu } from "../app.mjs";
import { heldReply, startProvider } from "../provider.mjs";
import { call, jobIs, joinServer, withServer } from "../service.mjs";

/** Starts a session of another client, with a task. */
async function worked(server, title, instruction) {
  const { session_id } = await call(server, "POST", "/api/agent/sessions", { title });
  const { job_id } = await call(server, "POST", "/api/agent/run", { session_id, instruction });
  await jobIs(server, job_id, "awaiting_review");
  return session_id;
}

const row = (dialog, title) => dialog.getByRole("listitem").filter({ hasText: title });

export const tests = {
  async "a long title and a request for approval stay inside their borders"({ page, url }) {
    const command = `ls ${"/a-long-folder".repeat(8)} | sort | uniq`;
    const provider = await startProvider("sk-test", [{ name: "Bash", input: { command } }]);
    await withServer({ origin: new URL(url).origin, provider }, async (server) => {
      const title = "A long title of a conversation, which takes two lines if nothing cuts it";
      await call(server.url, "POST", "/api/agent/sessions", { title });
      const app = await joinServer(page, url, server.url);
      await app.ask("list");
      await page.getByRole("button", { name: "Refuse" }).waitFor();
      for (const width of [1280, 800]) {
        await page.setViewportSize({ width, height: 800 });
        const outside = await page.evaluate(() => {
          const parts = ".card > *, .card .button";
          const isOutside = (part, box) => part.right > box.right + 1 || part.left < box.left - 1;
          const found = [...document.querySelectorAll(parts)].filter((part) => {
            const box = part.closest(".card");
            return isOutside(part.getBoundingClientRect(), box.getBoundingClientRect());
          });
          const select = document.querySelector("button.chat-select");
          const lines = select.scrollHeight > select.clientHeight + 4 ? [select] : [];
          return [...found, ...lines].map((part) => part.textContent);
        });
        assert.deepEqual(outside, [], `at ${width}`);
      }
      await page.getByRole("button", { name: "Stop" }).click();
    });
    await provider.close();
  },

  async "a limit below zero is refused at its field"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async (server) => {
      await joinServer(page, url, server.url);
      await menu(page, "Options…");
      const dialog = page.getByRole("dialog", { name: "Options" });
      const field = dialog.getByLabel("Tokens").first();
      await field.fill("-5");
      await dialog.getByRole("button", { name: "Use these options" }).click();
      assert.equal(await field.inputValue(), "-5");
      assert.equal(
        await field.evaluate((input) => input.validity.rangeUnderflow && input === document.activeElement),
        true,
      );
      await field.fill("500");
      await dialog.getByRole("button", { name: "Use these options" }).click();
      await dialog.waitFor({ state: "detached" });
    });
  },

  async "the conversations of a server are found by their text, opened, and kept over a reload"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async (server) => {
      await worked(server.url, "Colours", "rename colour to color in notes.md");
      await worked(server.url, "Water", "rename wet to deep in notes.md");
      const app = await joinServer(page, url, server.url);
      await app.transcript.locator(".entry.user", { hasText: "rename wet" }).waitFor();
      await app.openFile("notes.md");
      await app.input.fill("a draft");

      await page.getByRole("button", { name: "Water" }).click();
      const dialog = page.getByRole("dialog", { name: "Conversations" });
      await dialog.getByText("2 conversations").waitFor();
      assert.match(await row(dialog, "Water").textContent(), /Open here · 1 task · /);
      await dialog.getByLabel("Text in conversations").fill("colour to color");
      await dialog.getByText("1 conversation").waitFor();
      await row(dialog, "Colours")
        .getByRole("button", { name: /^Colours/ })
        .click();
      await app.transcript.locator(".entry.user", { hasText: "rename colour" }).waitFor();
      assert.equal(await app.transcript.locator(".entry.user").count(), 1);
      // The files, the review and the message belong to all of them.
      await app.hunks(2);
      assert.equal(await app.input.inputValue(), "a draft");
      await app.input.fill("");
      await app.askAndWait("rename sky to sun in notes.md");
      await app.transcript.locator(".entry.user", { hasText: "rename sky" }).waitFor();
      // The other one was used last, but the page was in this one.
      const { sessions } = await call(server.url, "GET", "/api/agent/sessions");
      const other = sessions.find(({ title }) => title === "Water").session_id;
      // A title that another client gives is shown at once.
      const own = sessions.find(({ title }) => title === "Colours").session_id;
      await call(server.url, "PATCH", `/api/agent/sessions/${own}`, { title: "Hues" });
      await page.getByRole("button", { name: "Hues", exact: true }).waitFor();
      await call(server.url, "PATCH", `/api/agent/sessions/${other}`, { title: "Water 2" });
      await joinServer(page, url, server.url);
      await app.transcript.locator(".entry.user", { hasText: "rename sky" }).waitFor();
      await page.getByRole("button", { name: "Hues", exact: true }).waitFor();
    });
  },

  async "a conversation of a server is started, renamed, archived and deleted"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async (server) => {
      const app = await joinServer(page, url, server.url);
      await app.askAndWait("rename colour to color in notes.md");
      await page.getByRole("button", { name: "rename colour to color in notes.md", exact: true }).waitFor();
      await page.getByRole("button", { name: "New conversation" }).first().click();
      await page.getByText("What should I change?").waitFor();
      await app.askAndWait("rename wet to deep in notes.md");

      await menu(page, "Conversations…");
      const dialog = page.getByRole("dialog", { name: "Conversations" });
      await dialog.getByRole("button", { name: /^Rename: rename wet/ }).click();
      assert.equal(await dialog.getByLabel("Title").evaluate((field) => field === document.activeElement), true);
      await page.keyboard.type("Deep water");
      await page.keyboard.press("Enter");
      await row(dialog, "Deep water").waitFor();
      await dialog.getByRole("button", { name: /^Archive: rename colour/ }).click();
      await dialog.getByText("1 conversation").waitFor();
      await dialog.getByLabel("Archived ones, too").check();
      await row(dialog, "Archived · 1 task").waitFor();
      await dialog.getByRole("button", { name: /^Make active again: rename colour/ }).click();
      await row(dialog, "Archived").waitFor({ state: "detached" });

      await dialog.getByRole("button", { name: "Delete: Deep water" }).click();
      const asks = page.getByRole("dialog", { name: "Delete “Deep water”?" });
      await asks.getByRole("button", { name: "Cancel" }).click();
      await row(dialog, "Deep water").waitFor();
      await dialog.getByRole("button", { name: "Delete: Deep water" }).click();
      await asks.getByRole("button", { name: "Delete" }).click();
      await dialog.getByText("1 conversation").waitFor();
      await dialog.getByRole("button", { name: "Close" }).click();
      // The page shows the one that is left, and the review has the changes of both.
      await app.transcript.locator(".entry.user", { hasText: "rename colour" }).waitFor();
      assert.match(await app.changes(), /2 changes in 1 file/);
      const { sessions } = await call(server.url, "GET", "/api/agent/sessions");
      assert.equal(sessions.length, 1);
    });
  },

  async "a menu that is opened while a new conversation is on its way stays open"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async (server) => {
      const app = await joinServer(page, url, server.url);
      await app.askAndWait("rename colour to color in notes.md");
      let goOn;
      const held = new Promise((done) => {
        goOn = done;
      });
      await page.route("**/api/agent/sessions", async (route) => {
        if (route.request().method() !== "POST") return route.continue();
        await held;
        await route.continue();
      });
      const asked = page.waitForRequest(
        (request) => request.method() === "POST" && request.url().endsWith("/sessions"),
      );
      await page.getByRole("button", { name: "New conversation", exact: true }).first().click();
      await asked;
      await page.getByRole("button", { name: "More" }).click();
      const item = page.getByRole("menuitem", { name: "Options…" });
      await item.waitFor();
      goOn();
      await page.getByText("What should I change?").waitFor();
      await page.waitForTimeout(200);
      assert.equal(await item.isVisible(), true, "the menu was closed");
      // Without another action of the user the message box gets the focus.
      await page.keyboard.press("Escape");
      await page.unroute("**/api/agent/sessions");
      await app.askAndWait("rename wet to deep in notes.md");
      await page.getByRole("button", { name: "New conversation", exact: true }).first().click();
      await page.waitForFunction(() => document.activeElement?.matches(".composer textarea"));
    });
  },

  async "a new conversation shows what other clients change in files under review"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async (server) => {
      const app = await joinServer(page, url, server.url);
      await page.getByText("What should I change?").waitFor();
      await app.askAndWait("rename colour to color in notes.md");
      await app.openFile("notes.md");
      await page.getByRole("button", { name: "New conversation", exact: true }).first().click();
      while ((await call(server.url, "GET", "/api/agent/sessions")).total < 2) await page.waitForTimeout(20);
      await page.getByText("What should I change?").waitFor();
      const { content } = await call(server.url, "GET", "/api/agent/buffer?file_path=notes.md");
      const edited = `${content}A line of another client.\n`;
      await call(server.url, "POST", "/api/agent/user_edit", { file_path: "notes.md", content: edited, base: content });
      await page.locator(".cm-line", { hasText: "A line of another client." }).waitFor();
    });
  },

  async "a conversation that is archived or deleted elsewhere says so, and offers the way on"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async (server) => {
      const app = await joinServer(page, url, server.url);
      await app.askAndWait("rename colour to color in notes.md");
      const path = `/api/agent/sessions/${(await call(server.url, "GET", "/api/agent/sessions")).sessions[0].session_id}`;
      await call(server.url, "PATCH", path, { status: "archived" });
      const archived = page.getByRole("region", { name: "Archived conversation" });
      await archived.getByRole("button", { name: "Make it active" }).click();
      await archived.waitFor({ state: "detached" });
      assert.equal((await call(server.url, "GET", path)).status, "active");

      await call(server.url, "DELETE", path);
      await app.input.fill("rename wet to deep in notes.md");
      await app.input.press("Enter");
      const note = page.getByRole("alert", { name: "Connection" });
      await note.getByText("This conversation was deleted elsewhere.").waitFor();
      await note.getByRole("button", { name: "New conversation" }).click();
      await note.waitFor({ state: "detached" });
      assert.equal(await app.input.inputValue(), "rename wet to deep in notes.md");
      await app.input.press("Enter");
      await app.finished(30_000);
      assert.match(await app.changes(), /2 changes in 1 file/);
    });
  },

  async "a server with as many conversations as it allows offers to archive one"({ page, url }) {
    await withServer({ origin: new URL(url).origin, env: { EMEND_MAX_SESSIONS: "2" } }, async (server) => {
      await worked(server.url, "Colours", "rename colour to color in notes.md");
      const app = await joinServer(page, url, server.url);
      await app.transcript.locator(".entry.user").waitFor();
      await page.getByRole("button", { name: "New conversation" }).first().click();
      await page.getByText("What should I change?").waitFor();
      await app.askAndWait("rename wet to deep in notes.md");
      await page.getByRole("button", { name: "New conversation" }).first().click();
      const dialog = page.getByRole("dialog", { name: "Conversations" });
      await dialog.getByRole("alert").filter({ hasText: "2 sessions are active, which is the limit" }).waitFor();
      await dialog.getByRole("button", { name: "Archive: Colours" }).click();
      await dialog.getByRole("alert").waitFor({ state: "detached" });
      await dialog.getByRole("button", { name: "New conversation" }).click();
      await page.getByText("What should I change?").waitFor();
      assert.equal((await call(server.url, "GET", "/api/agent/sessions?status=active")).total, 2);
    });
  },

  async "the way of edits and the budgets of a conversation of a server are changed, with what is used of them"({
    page,
    url,
    expectErrors,
  }) {
    expectErrors(/^Failed to load resource/);
    await withServer({ origin: new URL(url).origin }, async ({ url: server, folder }) => {
      const app = await joinServer(page, url, server);
      await app.askAndWait("rename colour to color in notes.md");
      assert.match(await readFile(join(folder, "notes.md"), "utf8"), /The colour/);
      await menu(page, "Options…");
      const dialog = page.getByRole("dialog", { name: "Options" });
      const budget = dialog.getByRole("group", { name: "Limits of the whole conversation" });
      const used = /Used so far: ([\d,]+) tokens?, /.exec(await budget.textContent());
      assert.ok(used, await budget.textContent());
      assert.equal(await dialog.getByRole("radio", { name: /^Review at the end/ }).isChecked(), true);
      await dialog.getByRole("radio", { name: /^Save at once/ }).check();
      await budget.getByLabel(/^Minutes/).fill("1.5");
      await dialog
        .getByRole("group", { name: "Limits of a task" })
        .getByLabel(/^US dollars/)
        .fill("0.25");
      await dialog.getByRole("button", { name: "Use these options" }).click();
      await dialog.waitFor({ state: "detached" });
      const [session] = (await call(server, "GET", "/api/agent/sessions")).sessions;
      assert.equal(session.mode, "direct");
      assert.equal(session.budget.duration_ms, 90_000);
      assert.equal(session.job_budget.cost_usd, 0.25);

      await app.askAndWait("rename wet to deep in notes.md");
      assert.match(await readFile(join(folder, "notes.md"), "utf8"), /It is deep/);

      // A budget that is used up: the server refuses the next task, and the notice leads to the limits.
      await call(server, "PATCH", `/api/agent/sessions/${session.session_id}`, { budget: { duration_ms: 1 } });
      await app.input.fill("rename sky to sun in notes.md");
      await app.input.press("Enter");
      await page.getByRole("button", { name: "Change the limits" }).click();
      await budget.getByText(/ of 0 s/).waitFor();
      await dialog.getByRole("button", { name: "Cancel" }).click();
      assert.equal(await app.input.inputValue(), "rename sky to sun in notes.md");
    });
  },

  async "messages that wait for the end of a task are those of the server, for all its clients"({ page, url }) {
    const held = heldReply("First is done.");
    const provider = await startProvider("sk-test", [held.promise, "Second is done.", "Third is done."]);
    try {
      await withServer({ origin: new URL(url).origin, provider }, async (server) => {
        const app = await joinServer(page, url, server.url);
        await app.ask("first");
        const add = async (text) => {
          await app.input.fill(text);
          await page.getByRole("button", { name: "Queue", exact: true }).click();
          await queue.getByText(text).waitFor();
        };
        const queue = page.getByRole("region", { name: "Queued messages" });
        await add("second");
        await add("never");
        const [{ session_id }] = (await call(server.url, "GET", "/api/agent/sessions")).sessions;
        const path = `/api/agent/sessions/${session_id}/follow_ups`;
        const texts = async () => (await call(server.url, "GET", path)).follow_ups.map((each) => each.text);
        assert.deepEqual(await texts(), ["second", "never"]);
        await call(server.url, "POST", path, { text: "third" });
        await queue.getByText("third").waitFor();
        await queue.getByRole("button", { name: "Withdraw: never" }).click();
        await queue.getByText("never").waitFor({ state: "detached" });
        await queue.getByRole("button", { name: "Edit: third" }).click();
        await queue.getByText("third").waitFor({ state: "detached" });
        await page.waitForFunction((box) => box.value === "third", await app.input.elementHandle());
        await page.getByRole("button", { name: "Queue", exact: true }).click();
        await queue.getByText("third").waitFor();
        assert.deepEqual(await texts(), ["second", "third"]);
        held.release();
        await app.transcript.getByText("Third is done.").waitFor();
        assert.deepEqual(await app.transcript.locator(".entry.user").allTextContents(), [
          "You: first",
          "You: second",
          "You: third",
        ]);
        await queue.waitFor({ state: "detached" });
      });
    } finally {
      await provider.close();
    }
  },

  async "the model of a conversation of a server is changed, and a refused one is named in the dialog"({ page, url }) {
    const provider = await startProvider("sk-test", ["Hello."]);
    try {
      await withServer({ origin: new URL(url).origin, provider }, async (server) => {
        const app = await joinServer(page, url, server.url);
        const button = page.getByRole("button", { name: /^Model: anthropic:claude-sonnet-5-5/ });
        await button.click();
        const dialog = page.getByRole("dialog", { name: "Options" });
        await dialog.getByLabel(/^Model/).fill("nobody:no-model");
        await dialog.getByRole("button", { name: "Use these options" }).click();
        await dialog.getByRole("alert").waitFor();
        await dialog.getByLabel(/^Model/).fill("anthropic:claude-haiku-4-5");
        await dialog.getByRole("button", { name: "Use these options" }).click();
        await page.getByRole("button", { name: /^Model: anthropic:claude-haiku-4-5/ }).waitFor();
        await app.askAndWait("hello");
        assert.equal(JSON.parse(provider.requests.at(-1).body).model, "claude-haiku-4-5");
      });
    } finally {
      await provider.close();
    }
  },
};
