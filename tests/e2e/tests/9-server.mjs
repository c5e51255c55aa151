// The page on a server: it joins the session of `emend serve`, which a terminal or another page has, too.
import assert from "node:assert/strict";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { App, menu } from "../app.mjs";
import { launch } from "../browser.mjs";
import { startProvider } from "../provider.mjs";
import { call, jobIs, joinServer, TOKEN, withServer } from "../service.mjs";

const onDisk = ({ folder }) => readFile(join(folder, "notes.md"), "utf8");

/** Waits until the notes on the server's disk are as expected. */
async function diskHas(server, expected) {
  for (let attempt = 0; attempt < 50 && !expected.test(await onDisk(server)); attempt++) {
    await new Promise((done) => setTimeout(done, 100));
  }
  assert.match(await onDisk(server), expected);
}

export const tests = {
  async "the page works in the session of a server, and a job of another client appears as it runs"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async (server) => {
      let app = await joinServer(page, url, server.url, "wrong");
      await app.toast.waitFor();
      app = await joinServer(page, url, server.url);
      await page.getByText("What should I change?").waitFor();
      await app.ask("rename colour to color in notes.md");
      await app.finished(30_000);
      await app.row("notes.md").click();
      await app.hunks(1);
      assert.match(await app.changes(), /1 change in 1 file/);
      assert.match(await onDisk(server), /The colour of/);

      // Another client of the same session.
      const { sessions } = await call(server.url, "GET", "/api/agent/sessions");
      const instruction = 'add a heading "More" with "None." to notes.md after "Sea"';
      await call(server.url, "POST", "/api/agent/run", { session_id: sessions[0].session_id, instruction });
      await app.transcript.locator(".entry.user", { hasText: "add a heading" }).waitFor();
      await app.finished(30_000);
      await app.hunks(2);

      await page.getByRole("button", { name: "Accept file" }).click();
      await app.says("Accepted 2 changes");
      assert.match(await onDisk(server), /The color of the sky/);
      await page.getByRole("button", { name: "Undo accept in notes.md" }).click();
      await app.hunks(2);

      await page.locator(".cm-line", { hasText: "The color" }).click();
      await page.keyboard.press("Control+End");
      await page.keyboard.type("Mine.");
      await page.waitForTimeout(800);
      assert.match(await onDisk(server), /Mine\.$/);

      // A second page joins and sees the conversation from its beginning.
      const second = await page.context().newPage();
      const other = await joinServer(second, url, server.url);
      await other.transcript.locator(".entry.user", { hasText: "rename colour" }).waitFor();
      assert.equal(await other.transcript.locator(".entry.user").count(), 2);
      assert.match(await other.changes(), /2 changes in 1 file/);
      await second.close();
    });
  },

  async "going back on a server keeps the user's own edits, as the dialog says, and is undone"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async (server) => {
      const app = await joinServer(page, url, server.url);
      await app.askAndWait("rename colour to color in notes.md");
      await app.row("notes.md").click();
      await app.hunks(1);
      await page.getByRole("button", { name: "Accept file" }).click();
      await app.says("Accepted 1 change");
      await page.locator(".cm-line", { hasText: "The color" }).click();
      await page.keyboard.press("Control+End");
      await page.keyboard.type("Mine.");
      await diskHas(server, /The color of[^]*Mine\.$/);

      // The comparison with the state before a task asks for the tasks once.
      const asked = [];
      page.on("request", (request) => asked.push(new URL(request.url()).pathname));
      await menu(page, "Checkpoints…");
      const points = page.getByRole("dialog", { name: "Checkpoints" });
      await points.getByText("notes.md").first().waitFor();
      assert.equal(asked.filter((path) => /sessions\/[^/]+\/jobs$/.test(path)).length, 1);
      await page.keyboard.press("Escape");

      await page.getByRole("button", { name: /^Edit and send again: rename colour/ }).click();
      const dialog = page.getByRole("dialog", { name: "Edit and send again" });
      await dialog.getByText("This file changes: notes.md.").waitFor();
      await dialog.getByText("Your own edits stay. Accepted changes leave the server’s disk at once.").waitFor();
      await dialog.getByRole("button", { name: "Go back" }).click();
      await app.says("The conversation and the files are as before the task, with your own edits.");
      await diskHas(server, /The colour of[^]*Mine\.$/);
      assert.equal(await app.input.inputValue(), "rename colour to color in notes.md");
      assert.equal(await app.transcript.locator(".entry.user").count(), 0);

      await app.toast.getByRole("button", { name: "Undo" }).click();
      await app.transcript.locator(".entry.user", { hasText: "rename colour" }).waitFor();
      await diskHas(server, /The color of[^]*Mine\.$/);
    });
  },

  async "going back only in the conversation of a server changes no file"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async (server) => {
      const app = await joinServer(page, url, server.url);
      await app.openFile("notes.md");
      await page.locator(".cm-line", { hasText: "## End" }).click();
      await page.keyboard.press("Control+End");
      await page.keyboard.type("Mine.");
      await diskHas(server, /Mine\.$/);
      await app.askAndWait("rename colour to color in notes.md");
      await app.askAndWait("rename wet to deep in notes.md");
      await page.getByRole("button", { name: /^Edit and send again: rename wet/ }).click();
      const dialog = page.getByRole("dialog", { name: "Edit and send again" });
      await dialog.getByRole("radio", { name: /Only the conversation/ }).check();
      await dialog.getByText("No file changes.").waitFor();
      await dialog.getByText("Undo brings the messages back").waitFor();
      await dialog.getByRole("button", { name: "Go back" }).click();
      await app.says("The conversation is as before the task.");
      await app.transcript.locator(".entry.user", { hasText: "rename wet" }).waitFor({ state: "detached" });
      assert.equal(await app.transcript.locator(".entry.user").count(), 1);
      assert.match(await app.changes(), /2 changes in 1 file/);
      // A task of another client comes after it.
      const { sessions } = await call(server.url, "GET", "/api/agent/sessions");
      const instruction = "rename sky to sun in notes.md";
      await call(server.url, "POST", "/api/agent/run", { session_id: sessions[0].session_id, instruction });
      await app.transcript.locator(".entry.user", { hasText: "rename sky" }).waitFor();
      await app.finished(30_000);
      await page.getByRole("button", { name: "Undo going back to before a task" }).click();
      await app.says("Going back cannot be undone any more: an edit, a decision or a task came after it.");
      // The step before is the next one.
      await page.getByRole("button", { name: "Undo typing in notes.md" }).click();
      await app.says("Undid typing in notes.md.");
      await diskHas(server, /End\n$/);
    });
  },

  async "a page that joins shows the conversation, also if its events are gone"({ page, url }) {
    const env = { EMEND_MAX_EVENTS_PER_JOB: "3" };
    await withServer({ origin: new URL(url).origin, env }, async (server) => {
      const { session_id } = await call(server.url, "POST", "/api/agent/sessions", {});
      for (const instruction of ["rename colour to color in notes.md", "rename wet to deep in notes.md"]) {
        const { job_id } = await call(server.url, "POST", "/api/agent/run", { session_id, instruction });
        await jobIs(server.url, job_id, "awaiting_review");
      }
      const app = await joinServer(page, url, server.url);
      await app.transcript.locator(".entry.user", { hasText: "rename wet" }).waitFor();
      assert.equal(await app.transcript.locator(".entry.user").count(), 2);
      assert.ok((await app.transcript.locator(".entry.assistant").count()) > 0);
      assert.ok((await app.toolCalls()).length > 0);
      await app.finished();
      // Later events continue it, and the tasks are points to go back to.
      await app.askAndWait("rename sky to sun in notes.md");
      assert.equal(await app.transcript.locator(".entry.user").count(), 3);
      await page.getByRole("button", { name: /^Edit and send again: rename colour/ }).waitFor();
    });
  },

  async "a page that joins a server has its open question and its open request for approval"({ page, url }) {
    const input = { question: "Which **tone**?", options: ["formal", "friendly"] };
    const command = { name: "Bash", input: { command: "echo hello" } };
    const replies = [{ name: "AskUserQuestion", input }, command, "Friendly it is."];
    const provider = await startProvider("sk-test", [...replies, ...replies]);
    try {
      // The events that ask are gone in the second round.
      for (const env of [{}, { EMEND_MAX_EVENTS_PER_JOB: "1" }]) {
        await withServer({ origin: new URL(url).origin, provider, env }, async (server) => {
          const { session_id } = await call(server.url, "POST", "/api/agent/sessions", {});
          const body = { session_id, instruction: "write a greeting" };
          const { job_id } = await call(server.url, "POST", "/api/agent/run", body);
          await jobIs(server.url, job_id, "waiting_for_user");
          const app = await joinServer(page, url, server.url);
          const card = page.getByRole("group", { name: "Question" });
          await card.getByText("Which tone?").waitFor();
          await card.getByRole("button", { name: "friendly" }).click();
          const asks = page.getByRole("group", { name: /^The assistant wants to use/ });
          await asks.getByText("echo hello").waitFor();
          // A page that joins now has the request only.
          const second = await page.context().newPage();
          const other = await joinServer(second, url, server.url);
          const asksThere = second.getByRole("group", { name: /^The assistant wants to use/ });
          await asksThere.getByText("echo hello").waitFor();
          assert.equal(await asksThere.count(), 1);
          await asksThere.getByRole("button", { name: /^Allow/ }).click();
          await other.transcript.getByText("Friendly it is.").waitFor();
          await app.transcript.getByText("Friendly it is.").waitFor();
          await second.close();
        });
      }
    } finally {
      await provider.close();
    }
  },

  async "a page that missed events of a server reads the conversation again"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async (server) => {
      const { session_id } = await call(server.url, "POST", "/api/agent/sessions", {});
      let streams = 0;
      // The first stream says that events after the page's number are gone. Meanwhile, another client starts a job.
      await page.route("**/api/agent/stream*", async (route) => {
        streams += 1;
        if (streams > 1) return route.continue();
        const instruction = "rename colour to color in notes.md";
        const { job_id } = await call(server.url, "POST", "/api/agent/run", { session_id, instruction });
        await jobIs(server.url, job_id, "awaiting_review");
        const { next: last } = await call(server.url, "GET", "/api/agent/events");
        const item = {
          type: "resync_required",
          ts: new Date().toISOString(),
          last,
          error: { code: "resync_required" },
        };
        const body = `id: ${last}\ndata: ${JSON.stringify(item)}\n\n`;
        const headers = { "access-control-allow-origin": new URL(url).origin, "content-type": "text/event-stream" };
        return route.fulfill({ headers, body });
      });
      const app = await joinServer(page, url, server.url);
      await app.transcript.locator(".entry.user", { hasText: "rename colour" }).waitFor();
      await app.askAndWait("rename wet to deep in notes.md");
      assert.equal(await app.transcript.locator(".entry.user").count(), 2);
      assert.ok(streams > 1);
    });
  },

  async "a change that conflicts with another program does not keep the others from being accepted"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async (server) => {
      const more = join(server.folder, "more.md");
      await writeFile(more, "one old line\n\n\n\nanother old line\n");
      const app = await joinServer(page, url, server.url);
      await app.askAndWait("rename colour to color in notes.md");
      await app.askAndWait("rename old to new in more.md");
      await page.locator(".review-button", { hasText: "3 changes in 2 files" }).waitFor();
      // At once: a request that is under way must not read half of it.
      await writeFile(`${more}.new`, "one older line\n\n\n\nanother old line\n");
      await rename(`${more}.new`, more);
      // The server reads the file when the page shows it.
      await app.openFile("more.md");
      const warning = page.locator(".editor-view .hunk-kept", { hasText: "Accept replaces your lines" });
      await warning.waitFor();
      assert.match(await warning.getAttribute("title"), /one older line/);
      await app.showReview();
      await app.cards.getByText("conflicts with your edit").waitFor();
      await page.getByRole("button", { name: "Last task" }).click();
      await page.getByRole("button", { name: "Accept these" }).click();
      await app.says("Accepted 1 change. 2 left to review.");
      assert.equal(await readFile(more, "utf8"), "one older line\n\n\n\nanother new line\n");
    });
  },

  async "typing inside a change under review waits for a save, which asks about the assistant's words"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async (server) => {
      const app = await joinServer(page, url, server.url);
      await page.getByText("What should I change?").waitFor();
      const before = await onDisk(server);
      await app.askAndWait("rename colour to color in notes.md");
      await app.openFile("notes.md");
      await page.locator(".cm-line", { hasText: "The color" }).first().click();
      await page.keyboard.press("End");
      await page.keyboard.type(" MINE");
      const status = page.locator(".save-state");
      await status.filter({ hasText: "Not saved" }).waitFor();
      assert.equal(await onDisk(server), before);
      await page.keyboard.press("Control+s");
      const question = page.getByRole("dialog");
      await question.getByText("words of the assistant").first().waitFor();
      await page.keyboard.press("Escape");
      assert.equal(await onDisk(server), before);
      // With the decision nothing keeps the file from being saved.
      await app.hunks(1);
      await page
        .getByRole("button", { name: /^Accept/ })
        .first()
        .click();
      await app.hunks(0);
      await status.filter({ hasText: "No unsaved changes" }).waitFor();
      assert.match(await onDisk(server), /The color.* MINE/);
    });
  },

  async "rejecting a change keeps the line that the user typed into it, and puts back the assistant's lines"({
    page,
    url,
    expectErrors,
  }) {
    // The browser styles what it inserts in the place of a marked text, and the page's policy prevents that.
    expectErrors(/^(Failed to load resource|Applying inline style)/);
    const files = { "poem2.txt": "alpha one\nalpha two\nalpha three\nend\n" };
    await withServer({ origin: new URL(url).origin, files }, async (server) => {
      const app = await joinServer(page, url, server.url);
      await app.askAndWait("rename alpha to beta in poem2.txt");
      await app.openFile("poem2.txt");
      await app.hunks(1);
      await page.locator(".cm-line", { hasText: "beta three" }).click();
      await page.keyboard.press("Home");
      await page.keyboard.press("Shift+End");
      await page.keyboard.insertText("alpha three MY WORDS");
      await page.getByRole("button", { name: "Reject change 1 of 1" }).click();
      const dialog = page.getByRole("dialog", { name: "You edited inside this change" });
      await dialog.getByRole("button", { name: "Reject" }).click();
      await app.says("Rejected 1 change.");
      await app.hunks(0);
      const text = "alpha one\nalpha two\nalpha three MY WORDS\nend\n";
      assert.equal(await readFile(join(server.folder, "poem2.txt"), "utf8"), text);
    });
  },

  async "a page from a server joins it by the printed address, also after a reload and without HTTPS"() {
    // Another computer's page by HTTP: the browser does not count its address as safe.
    const browser = await launch(["--host-resolver-rules=MAP emend.test 127.0.0.1"]);
    try {
      const args = [
        "--web-app",
        fileURLToPath(new URL("../../../web/dist", import.meta.url)),
        "--allow-host",
        "emend.test",
      ];
      await withServer({ args }, async (server) => {
        const address = `http://emend.test:${new URL(server.url).port}/`;
        const page = await (await browser.newContext()).newPage();
        page.setDefaultTimeout(15_000);
        await page.goto(`${address}?token=${TOKEN}`);
        const app = new App(page);
        await page.getByText("What should I change?").waitFor();
        assert.equal(page.url(), address);
        assert.equal(await page.evaluate(() => isSecureContext), false);
        await app.askAndWait("rename colour to color in notes.md");
        await app.openFile("notes.md");
        await page.locator(".cm-line", { hasText: "The color" }).click();
        await page.keyboard.press("Control+End");
        await page.keyboard.type("Mine.");
        await diskHas(server, /Mine\.$/);
        await page.reload();
        await app.transcript.locator(".entry.user", { hasText: "rename colour" }).waitFor();

        // The dialog takes the address as it is printed, with its token.
        await menu(page, "Back to the start");
        await page.getByRole("button", { name: "Join a server" }).waitFor();
        await page.reload();
        await page.getByRole("button", { name: "Join a server" }).click();
        const dialog = page.getByRole("dialog", { name: "Join a server" });
        assert.equal(await dialog.getByLabel("Address").inputValue(), address.replace(/\/$/, ""));
        await dialog.getByLabel("Address").fill("http://192.0.2.1:4120/");
        await dialog.getByRole("button", { name: "Join" }).click();
        await dialog.getByText("for a server on this computer or that of this page.").waitFor();
        await dialog.getByLabel("Address").fill(`${address}?token=${TOKEN}`);
        await dialog.getByRole("button", { name: "Join" }).click();
        await app.transcript.locator(".entry.user", { hasText: "rename colour" }).waitFor();
      });
    } finally {
      await browser.close();
    }
  },
};
