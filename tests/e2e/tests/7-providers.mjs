// The providers of the model dialog: each sends the key of the user to its API and shows the answer, made up or recorded.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { openApp } from "../app.mjs";
import { closed, listen } from "../browser.mjs";

const KEY = "sk-test-not-a-key";

const CORS = {
  "access-control-allow-origin": "*",
  "access-control-allow-headers": "*",
  "access-control-allow-methods": "POST, OPTIONS",
};

const lines = (events) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

/** The path of each API, the header with the key, and a streamed answer. */
const APIS = {
  Anthropic: {
    path: "/v1/messages",
    header: "x-api-key",
    answer: (text) => {
      const message = { id: "m", type: "message", role: "assistant", model: "m", content: [] };
      return lines([
        { type: "message_start", message: { ...message, usage: { input_tokens: 3, output_tokens: 1 } } },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
        { type: "message_stop" },
      ]);
    },
  },
  OpenAI: {
    path: "/v1/responses",
    header: "authorization",
    answer: (text) => {
      const output = [{ type: "message", id: "m", role: "assistant", content: [{ type: "output_text", text }] }];
      const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };
      return lines([
        { type: "response.created", response: { id: "r", model: "m", output: [] } },
        { type: "response.output_item.added", output_index: 0, item: { ...output[0], content: [] } },
        { type: "response.output_text.delta", output_index: 0, content_index: 0, item_id: "m", delta: text },
        { type: "response.output_item.done", output_index: 0, item: output[0] },
        { type: "response.completed", response: { id: "r", model: "m", status: "completed", output, usage } },
      ]);
    },
  },
  "Google Gemini": {
    path: "/v1beta/models/test-model:streamGenerateContent?alt=sse",
    header: "x-goog-api-key",
    answer: (text) => {
      const content = { role: "model", parts: [{ text }] };
      const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 };
      return lines([{ candidates: [{ content, finishReason: "STOP", index: 0 }], usageMetadata }]);
    },
  },
  "Another server": {
    path: "/v1/chat/completions",
    header: "authorization",
    answer: (text) => {
      const head = { id: "c", object: "chat.completion.chunk", model: "m" };
      const choice = (delta, reason) => ({ ...head, choices: [{ index: 0, delta, finish_reason: reason }] });
      return `${lines([choice({ content: text }, null), choice({}, "stop")])}data: [DONE]\n\n`;
    },
  },
};

/** Starts a server that answers requests with streams, which it sends event by event. */
async function start(answer) {
  const requests = [];
  const server = createServer(async (request, response) => {
    if (request.method === "OPTIONS") return response.writeHead(204, CORS).end();
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    requests.push({ url: request.url, headers: request.headers, body: Buffer.concat(chunks).toString() });
    response.writeHead(200, { ...CORS, "content-type": "text/event-stream" });
    for (const event of answer().split(/(?<=\r?\n\r?\n)/)) response.write(event);
    response.end();
  });
  return { url: await listen(server), requests, close: () => closed(server) };
}

async function answersFrom(title, { page, url }) {
  const { path, header, answer } = APIS[title];
  const server = await start(() => answer(`Hello from ${title}.`));
  try {
    const app = await openApp(page, url);
    await app.chooseModel({ provider: new RegExp(`^${title}`), apiKey: KEY, model: "test-model", baseUrl: server.url });
    await app.ask("hello");
    await app.transcript.getByText(`Hello from ${title}.`).waitFor();
    assert.equal(server.requests.length, 1);
    const [request] = server.requests;
    assert.equal(request.url, path);
    assert.equal(request.headers[header].replace("Bearer ", ""), KEY);
    assert.ok(request.body.includes("hello"));
  } finally {
    await server.close();
  }
}

/** The streamed recordings of each API whose answer has a text or calls of tools. */
function recordingsOf(directory, api) {
  const expected = JSON.parse(readFileSync(`${directory}/expected.json`, "utf8"));
  const read = (name) => JSON.parse(readFileSync(`${directory}/recordings/${name}`, "utf8"));
  return readdirSync(`${directory}/recordings`)
    .sort()
    .map(read)
    .filter((one) => one.api === api && one.streaming && one.response.status === 200)
    .map(({ id, response }) => ({ id, sse: response.sse, ...expected[id] }))
    .filter(({ text, tool_calls: calls }) => text || calls?.length > 0);
}

/** The letters of a text. The page does not show the marks of Markdown and the numbers of a list as text. */
const lettersOf = (text) => text.replaceAll(/^ *```\w+/gm, "").replaceAll(/\P{L}/gu, "");

/** Replays recordings to the page. Each answers one message of the user, and calls of its tools are answered with "Done.". */
async function showsRecorded(title, api, { page, url, skip }) {
  const directory = process.env.EMEND_WIRE;
  if (directory === undefined) return skip("EMEND_WIRE does not name the recordings");
  const { path, header, answer } = APIS[title];
  let next;
  const server = await start(() => {
    const sse = next ?? answer("Done.");
    next = undefined;
    return sse;
  });
  const seen = { texts: 0, calls: 0 };
  try {
    const app = await openApp(page, url);
    await app.chooseModel({ provider: new RegExp(`^${title}`), apiKey: KEY, model: "test-model", baseUrl: server.url });
    for (const [number, { id, sse, text, tool_calls: calls = [] }] of recordingsOf(directory, api).entries()) {
      next = sse;
      await app.ask(`message ${number}`);
      await app.transcript.locator(".entry.user").nth(number).locator("~ .entry.end").waitFor();
      const shown = await page.evaluate(readAnswer);
      const last = calls.length > 0 ? "Done." : "";
      assert.equal(lettersOf(shown.text), lettersOf(`${text ?? ""}${last}`), id);
      assert.deepEqual(
        shown.calls,
        calls.map((call) => call.name),
        id,
      );
      if (text) seen.texts += 1;
      if (calls.length > 0) seen.calls += 1;
    }
    console.log(`recorded answers of ${api} in the page: ${JSON.stringify(seen)}`);
    assert.ok(seen.texts >= 5 && seen.calls >= 5, JSON.stringify(seen));
    for (const request of server.requests) {
      assert.equal(request.url, path);
      assert.equal(request.headers[header].replace("Bearer ", ""), KEY);
    }
  } finally {
    await server.close();
  }
}

/** Reads the entries after the last message of the user, in the page: their texts, and the names of the called tools. */
function readAnswer() {
  const entries = [...document.querySelectorAll(".entry")];
  const after = entries.slice(entries.findLastIndex((entry) => entry.matches(".user")) + 1);
  const texts = after
    .flatMap((entry) => [...entry.querySelectorAll(":scope.assistant > .markdown")])
    .map((shown) => {
      const copy = shown.cloneNode(true);
      for (const head of copy.querySelectorAll(".md-code-head")) head.remove();
      return copy.textContent;
    });
  const calls = after.filter((entry) => entry.matches(".call"));
  return { text: texts.join("\n"), calls: calls.map((entry) => entry.querySelector(".tool-name").textContent) };
}

export const tests = {
  "Anthropic answers in the page": (context) => answersFrom("Anthropic", context),
  "OpenAI answers in the page": (context) => answersFrom("OpenAI", context),
  "Gemini answers in the page": (context) => answersFrom("Google Gemini", context),
  "another server answers in the page": (context) => answersFrom("Another server", context),
  "recorded answers of Anthropic are shown": (context) => showsRecorded("Anthropic", "anthropic-messages", context),
  "recorded answers of OpenAI are shown": (context) => showsRecorded("OpenAI", "openai-responses", context),
  "recorded answers of Gemini are shown": (context) => showsRecorded("Google Gemini", "gemini", context),
  "recorded answers of Chat Completions are shown": (context) =>
    showsRecorded("Another server", "openai-chat", context),
};
