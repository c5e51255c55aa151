// Models: the check of a key, servers on this computer, each provider's own requests; and the canvas: preview and marks.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { openApp } from "../app.mjs";
import { closed, listen } from "../browser.mjs";

const CORS = {
  "access-control-allow-origin": "*",
  "access-control-allow-headers": "*",
  "access-control-allow-methods": "GET, POST, OPTIONS",
};

/** Starts a server that answers by path with JSON. Returns its URL and the requests. */
async function startServer(answers) {
  const requests = [];
  const server = createServer((request, response) => {
    if (request.method === "OPTIONS") return response.writeHead(204, CORS).end();
    const path = new URL(request.url, "http://x").pathname;
    requests.push({ path, headers: request.headers });
    const answer = answers(path, request.headers);
    response.writeHead(answer.status ?? 200, { ...CORS, "content-type": answer.type ?? "application/json" });
    response.end(answer.text ?? JSON.stringify(answer.body));
  });
  return { url: await listen(server), requests, close: () => closed(server) };
}

async function openDialog(page, provider, fields) {
  await page.getByRole("button", { name: /^Model:/ }).click();
  const dialog = page.getByRole("dialog", { name: "Model" });
  await dialog.getByRole("radio", { name: provider }).check();
  for (const [label, value] of Object.entries(fields)) await dialog.getByLabel(label).fill(value);
  return dialog;
}

export const tests = {
  async "Check tells a right key from a wrong one and a model that the server lacks, and sends nothing before a click"({
    page,
    url,
  }) {
    const server = await startServer((path, headers) => {
      const key = headers["x-api-key"] ?? headers["x-goog-api-key"] ?? headers.authorization;
      if (!/right/.test(key ?? "")) return { status: 401, body: { error: { message: "no such key" } } };
      if (path.endsWith("/models")) {
        return /gemini/.test(path)
          ? { body: { models: [{ name: "models/g-1" }] } }
          : { body: { data: [{ id: "m-1" }, { id: "m-2" }] } };
      }
      return { status: 404, body: {} };
    });
    try {
      await openApp(page, url);
      const dialog = await openDialog(page, /^Anthropic/, { "Base URL": server.url });
      await dialog.getByLabel(/^API key/).fill("wrong");
      assert.deepEqual(server.requests, []);
      await dialog.getByRole("button", { name: "Check" }).click();
      await dialog.getByText("The server refuses the key. It says: no such key").waitFor();
      await dialog.getByLabel(/^API key/).fill("right");
      await dialog.getByText("The server refuses").waitFor({ state: "detached" });
      await dialog.getByLabel("Model", { exact: true }).fill("m-9");
      await dialog.getByRole("button", { name: "Check" }).click();
      await dialog.getByText("does not list the model m-9").waitFor();
      await dialog.getByLabel("Model", { exact: true }).fill("m-2");
      await dialog.getByRole("button", { name: "Check" }).click();
      await dialog.getByText("It works: the server lists 2 models.").waitFor();
      assert.equal(server.requests.at(-1).path, "/v1/models");
      assert.ok(
        (await dialog.locator("datalist option").evaluateAll((all) => all.map((each) => each.value))).includes("m-1"),
      );
      for (const [provider, base, model, path] of [
        [/^OpenAI/, `${server.url}/v1`, "m-1", "/v1/models"],
        [/^Google/, `${server.url}/gemini`, "g-1", "/gemini/models"],
        [/^Another/, `${server.url}/v1`, "m-1", "/v1/models"],
      ]) {
        await dialog.getByRole("radio", { name: provider }).check();
        await dialog.getByLabel(/^API key/).fill("right");
        await dialog.getByLabel("Base URL").fill(base);
        await dialog.getByLabel("Model", { exact: true }).fill(model);
        await dialog.getByRole("button", { name: "Check" }).click();
        await dialog.getByText(/^It works/).waitFor();
        assert.equal(server.requests.at(-1).path, path);
      }
    } finally {
      await server.close();
    }
  },

  async "servers on this computer are looked for on a click only, with their window sizes, and one works"({
    page,
    url,
  }) {
    const chat = (text) =>
      [{ delta: { role: "assistant", content: text } }, { delta: {}, finish_reason: "stop" }]
        .map(
          (choice) =>
            `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, ...choice }] })}\n\n`,
        )
        .join("");
    const server = await startServer((path) => {
      if (path === "/v1/models") return { body: { data: [{ id: "tiny" }] } };
      if (path === "/api/show") return { body: { model_info: { "llama.context_length": 8192 } } };
      if (path === "/v1/chat/completions")
        return { type: "text/event-stream", text: `${chat("Hello from here.")}data: [DONE]\n\n` };
      return { status: 404, body: {} };
    });
    const asked = [];
    page.on("request", (request) => {
      if (/localhost:(11434|8080|1234|8000)/.test(request.url())) asked.push(request.url());
    });
    // Nothing listens at the usual ports here: one of them is led to the server of this test.
    await page.route(/^http:\/\/localhost:(11434|8080|1234|8000)\//, async (route) => {
      const wanted = new URL(route.request().url());
      if (wanted.port !== "11434") return route.abort();
      const post = route.request().method() === "POST";
      const init = post ? { method: "POST", body: route.request().postData() } : {};
      const response = await fetch(server.url + wanted.pathname, init);
      const headers = { ...CORS, "content-type": response.headers.get("content-type") };
      return route.fulfill({ status: response.status, headers, body: await response.text() });
    });
    try {
      const app = await openApp(page, url);
      const dialog = await openDialog(page, /^Another server/, {});
      assert.deepEqual(asked, []);
      await dialog.getByRole("button", { name: "Find servers on this computer" }).click();
      await dialog.getByRole("button", { name: /^Ollama: tiny 8,192 tokens/ }).click();
      assert.ok(asked.length >= 4);
      assert.equal(await dialog.getByLabel("Base URL").inputValue(), "http://localhost:11434/v1");
      await dialog.getByRole("button", { name: "Use this model" }).click();
      await dialog.waitFor({ state: "detached" });
      await app.askAndWait("hello");
      await app.transcript.getByText("Hello from here.").waitFor();
    } finally {
      await server.close();
    }
  },

  async "a Markdown file is previewed with the changes under review, and nothing of it becomes HTML"({ page, url }) {
    const app = await openApp(page, url);
    await page.getByRole("button", { name: "Preview" }).click();
    const preview = page.getByRole("group", { name: "Preview of README.md" });
    await preview.getByText("Rules of lending").waitFor();
    await preview.locator("table td", { hasText: "src/loans.ts" }).waitFor();
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename loanDays to <b>seasonDays</b>");
    await preview.getByText("<b>seasonDays</b>").waitFor();
    assert.equal(await preview.locator("b").count(), 0);
    await page.getByRole("button", { name: "Preview" }).click();
    await page.locator(".cm-line", { hasText: "seasonDays" }).waitFor();
    await app.openFile("src/loans.ts");
    assert.equal(await page.getByRole("button", { name: "Preview" }).count(), 0);
  },

  async "marks beside the scroll bar show where the changes are, and lead there"({ page, url }) {
    const app = await openApp(page, url);
    const text = Array.from({ length: 400 }, (_, at) => (at === 20 || at === 380 ? "foo" : `line ${at}`)).join("\n");
    await page
      .getByLabel("Files to open")
      .setInputFiles([{ name: "long.txt", mimeType: "text/plain", buffer: Buffer.from(text) }]);
    await app.row("long.txt").waitFor();
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("rename foo to bar");
    const marks = page.locator(".mark");
    await page.waitForFunction(() => document.querySelectorAll(".mark").length === 2);
    const [first, second] = await marks.evaluateAll((all) => all.map((node) => node.getBoundingClientRect().y));
    assert.ok(second - first > 300, `${first} ${second}`);
    await marks.nth(1).click();
    await page.locator(".cm-activeLine", { hasText: "bar" }).waitFor();
    await page.locator(".status-bar", { hasText: "Line 381" }).waitFor();
  },
};
