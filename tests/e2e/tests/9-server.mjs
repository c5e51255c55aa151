// The page on a server: it joins the session of `emend serve`, which a terminal or another page has, too.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App } from "../app.mjs";

const TOKEN = "token-of-the-page-test";

/** Runs a server with the offline model on a new project. */
async function withServer(origin, work) {
  const cli = process.env.EMEND_CLI;
  assert.ok(cli, "EMEND_CLI must name the emend binary");
  const folder = await mkdtemp(join(tmpdir(), "emend-serve-"));
  await writeFile(join(folder, "notes.md"), "# Notes\n\nThe colour of the sky.\n\n## Sea\n\nIt is wet.\n\n## End\n");
  const state = join(folder, ".state");
  const options = [
    "serve",
    "--root",
    folder,
    "--port",
    "0",
    "--model",
    "offline",
    "--log",
    "none",
    "--allow-origin",
    origin,
  ];
  const server = spawn(cli, options, {
    env: { ...process.env, EMEND_TOKEN: TOKEN, HOME: folder, XDG_STATE_HOME: state, XDG_CONFIG_HOME: state },
    stdio: ["ignore", "pipe", "pipe"],
  });
  try {
    const url = await new Promise((found, failed) => {
      let text = "";
      const read = (chunk) => {
        text += chunk;
        const address = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0];
        if (address) found(address);
      };
      server.stdout.on("data", read);
      server.stderr.on("data", read);
      server.on("exit", () => failed(new Error(`the server ended: ${text}`)));
    });
    await work({ url, folder });
  } finally {
    server.kill();
    await rm(folder, { recursive: true, force: true });
  }
}

async function joinServer(page, url, address, token) {
  await page.goto(url);
  await page.getByRole("button", { name: "Join a server" }).click();
  const dialog = page.getByRole("dialog", { name: "Join a server" });
  await dialog.getByLabel("Address").fill(address);
  await dialog.getByLabel("Token").fill(token);
  await dialog.getByRole("button", { name: "Join" }).click();
  return new App(page);
}

async function call(server, method, path, body) {
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  const response = await fetch(server + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  assert.ok(response.ok, `${path}: ${response.status}`);
  return response.json();
}

export const tests = {
  async "the page works in the session of a server, and a job of another client appears as it runs"({ page, url }) {
    await withServer(new URL(url).origin, async (server) => {
      let app = await joinServer(page, url, server.url, "wrong");
      await app.toast.waitFor();
      app = await joinServer(page, url, server.url, TOKEN);
      await page.getByText("What should I change?").waitFor();
      await app.ask("rename colour to color in notes.md");
      await app.finished(30_000);
      await app.row("notes.md").click();
      await app.hunks(1);
      assert.match(await app.changes(), /1 change in 1 file/);
      assert.match(await readFile(join(server.folder, "notes.md"), "utf8"), /The colour of/);

      // Another client of the same session.
      const { sessions } = await call(server.url, "GET", "/api/agent/sessions");
      const instruction = 'add a heading "More" with "None." to notes.md after "Sea"';
      await call(server.url, "POST", "/api/agent/run", { session_id: sessions[0].session_id, instruction });
      await app.transcript.locator(".entry.user", { hasText: "add a heading" }).waitFor();
      await app.finished(30_000);
      await app.hunks(2);

      await page.getByRole("button", { name: "Accept file" }).click();
      await app.says("Accepted 2 changes");
      assert.match(await readFile(join(server.folder, "notes.md"), "utf8"), /The color of the sky/);
      await page.getByRole("button", { name: "Undo accept in notes.md" }).click();
      await app.hunks(2);

      await page.locator(".cm-line", { hasText: "The color" }).click();
      await page.keyboard.press("Control+End");
      await page.keyboard.type("Mine.");
      await page.waitForTimeout(800);
      assert.match(await readFile(join(server.folder, "notes.md"), "utf8"), /Mine\.$/);

      // A second page joins and sees the conversation from its beginning.
      const second = await page.context().newPage();
      const other = await joinServer(second, url, server.url, TOKEN);
      await other.transcript.locator(".entry.user", { hasText: "rename colour" }).waitFor();
      assert.equal(await other.transcript.locator(".entry.user").count(), 2);
      assert.match(await other.changes(), /2 changes in 1 file/);
      await second.close();
    });
  },
};
