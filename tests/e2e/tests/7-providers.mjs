// The providers of the model dialog: each sends the key of the user to its API and shows the answer.
import assert from "node:assert/strict";
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

/** Starts a server that answers every request in one format. */
async function start(answer) {
  const requests = [];
  const server = createServer(async (request, response) => {
    if (request.method === "OPTIONS") return response.writeHead(204, CORS).end();
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    requests.push({ url: request.url, headers: request.headers, body: Buffer.concat(chunks).toString() });
    response.writeHead(200, { ...CORS, "content-type": "text/event-stream" }).end(answer);
  });
  return { url: await listen(server), requests, close: () => closed(server) };
}

async function answersFrom(title, { page, url }) {
  const { path, header, answer } = APIS[title];
  const server = await start(answer(`Hello from ${title}.`));
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

export const tests = {
  "OpenAI answers in the page": (context) => answersFrom("OpenAI", context),
  "Gemini answers in the page": (context) => answersFrom("Google Gemini", context),
  "another server answers in the page": (context) => answersFrom("Another server", context),
};
