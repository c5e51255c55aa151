// A server (`emend serve`) on a new project, and pages and other clients in its session.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App } from "./app.mjs";

export const TOKEN = "token-of-the-page-test";

const NOTES = "# Notes\n\nThe colour of the sky.\n\n## Sea\n\nIt is wet.\n\n## End\n";

/**
 * Runs a server that allows pages of `origin`: with the offline model, with that of `provider`, or with `model`. `args` and
 * `env` are further options and variables, and `files` further files by their names. `work` can stop the server and start it
 * again, also with another token.
 */
export async function withServer({ origin, provider, model, args = [], env = {}, files = {} }, work) {
  const cli = process.env.EMEND_CLI;
  assert.ok(cli, "EMEND_CLI must name the emend binary");
  const folder = await mkdtemp(join(tmpdir(), "emend-serve-"));
  for (const [name, text] of Object.entries({ "notes.md": NOTES, ...files })) await writeFile(join(folder, name), text);
  const state = join(folder, ".state");
  const named = model ?? (provider ? "anthropic:claude-sonnet-5-5" : "offline");
  const options = ["serve", "--root", folder, "--model", named, "--log", "none", ...args];
  if (origin !== undefined) options.push("--allow-origin", origin);
  const own = { HOME: folder, XDG_STATE_HOME: state, XDG_CONFIG_HOME: state };
  const ofProvider = provider && { ANTHROPIC_API_KEY: "sk-test", ANTHROPIC_BASE_URL: provider.url };
  let server;
  const start = (port, token) => {
    server = spawn(cli, [...options, "--port", port], {
      env: { ...process.env, ...own, EMEND_TOKEN: token, ...ofProvider, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    return addressOf(server);
  };
  const stop = async () => {
    const ended = server.exitCode === null && new Promise((done) => server.once("exit", done));
    server.kill();
    await ended;
  };
  try {
    const url = await start("0", TOKEN);
    await work({ url, folder, stop, start: (token = TOKEN) => start(new URL(url).port, token) });
  } finally {
    await stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Resolves to the address that a server prints. */
function addressOf(server) {
  return new Promise((found, failed) => {
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
}

/** Joins a server from the start view. */
export async function joinServer(page, url, address, token = TOKEN) {
  await page.goto(url);
  await page.getByRole("button", { name: "Join a server" }).click();
  const dialog = page.getByRole("dialog", { name: "Join a server" });
  await dialog.getByLabel("Address").fill(address);
  await dialog.getByLabel("Token").fill(token);
  await dialog.getByRole("button", { name: "Join" }).click();
  return new App(page);
}

/** Sends a request of another client. */
export async function call(server, method, path, body) {
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  const response = await fetch(server + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  assert.ok(response.ok, `${path}: ${response.status}`);
  return response.json();
}

/** Waits until a job has a status. */
export async function jobIs(server, job, wanted) {
  for (;;) {
    const { status } = await call(server, "GET", `/api/agent/jobs/${job}`);
    if (status === wanted) return;
    await new Promise((done) => setTimeout(done, 50));
  }
}
