// Shared test support: small projects, HTTP servers, and the generated glue.

import { createServer } from "node:http";

/** The generated glue, which the package does not export. */
export const glue = await import(new URL("core.js", import.meta.resolve("emend")));

/** Two files with `Price` as a whole name, and two places where it is part of another name. */
export const SHOP = {
  "src/cart.js": 'import { Price } from "./price.js";\n\nexport const total = (items) => items.map(Price).length;\n',
  "src/price.js": "export function Price(item) {\n  return item.cents;\n}\n\nexport const PriceList = [];\n",
  "notes.md": "# Shop\n\nPrices are in cents.\n",
};

/** Reads a run to its end. */
export async function collect(run) {
  const events = [];
  for await (const event of run) events.push(event);
  return events;
}

/** Returns the ids of all hunks of a review. */
export function hunkIds(review) {
  return review.files.flatMap((file) => file.hunks.map((hunk) => hunk.id));
}

/** A model that answers each request with the next step: text, or tool calls. `requests` records the requests. */
export function scripted(steps, name = "scripted") {
  const requests = [];
  const provider = {
    name,
    async *stream(request, { signal }) {
      const step = steps[requests.length] ?? "Done.";
      requests.push(request);
      const made = typeof step === "function" ? await step({ request, signal }) : step;
      if (typeof made === "string") yield { type: "text_delta", delta: made };
      else for (const [tool, args] of made) yield { type: "tool_call", name: tool, arguments: args };
      yield { type: "finish" };
    },
  };
  return { model: { provider, model: "m" }, requests };
}

/** Returns the texts of a request's messages by `role`. */
export const texts = (request, role) =>
  request.messages
    .filter((message) => message.role === role)
    .map((message) => message.content.map((part) => part.text).join(""));
/** Returns the results of the last tool calls, as the model gets them. */
export const results = (request) =>
  request.messages.at(-1).content.map(({ content, is_error: failed }) => (failed ? `error: ${content}` : content));

/** Starts a local server that answers with `answer(request, response)`. It stops when the test ends. */
export async function serve(test, answer) {
  const requests = [];
  const server = createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      requests.push({
        method: request.method,
        url: request.url,
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      });
      answer(request, response);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  test.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${server.address().port}`, requests };
}

/** Writes server-sent events as Anthropic does. */
export function sse(events) {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

/** Returns the events of a response with the text `text`. */
export function answerEvents(text) {
  const usage = { input_tokens: 10, output_tokens: 1 };
  return [
    {
      type: "message_start",
      message: { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], usage },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: "message_stop" },
  ];
}
