// A model provider for tests. It speaks the part of Anthropic's Messages API that the page needs, and records requests.
import { createServer } from "node:http";
import { closed, listen } from "./browser.mjs";

const CORS = {
  "access-control-allow-origin": "*",
  "access-control-allow-headers": "*",
  "access-control-allow-methods": "POST, OPTIONS",
  "access-control-expose-headers": "*",
};

/**
 * Starts a provider that accepts only `key`. `replies` are its answers in turn: a text, a tool call `{ name, input }`, a text
 * after which it is silent `{ stalls }`, HTML with the status 200 `{ html }`, a failure `{ status, type, message, headers }`, or a promise of one of them. After the last one it
 * answers "Done.".
 */
export async function startProvider(key, replies = []) {
  const requests = [];
  const queue = [...replies];
  const server = createServer(async (request, response) => {
    if (request.method === "OPTIONS") return response.writeHead(204, CORS).end();
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    requests.push({ key: request.headers["x-api-key"], url: request.url, body: Buffer.concat(chunks).toString() });
    if (request.headers["x-api-key"] !== key) {
      const error = { type: "authentication_error", message: "invalid x-api-key" };
      response.writeHead(401, { ...CORS, "content-type": "application/json" });
      return response.end(JSON.stringify({ type: "error", error }));
    }
    const reply = await (queue.shift() ?? "Done.");
    if (reply.status !== undefined) {
      const error = { type: reply.type ?? "api_error", message: reply.message ?? "it failed" };
      response.writeHead(reply.status, { ...CORS, "content-type": "application/json", ...reply.headers });
      return response.end(JSON.stringify({ type: "error", error }));
    }
    if (reply.html !== undefined) {
      response.writeHead(200, { ...CORS, "content-type": "text/html" });
      return response.end(reply.html);
    }
    response.writeHead(200, { ...CORS, "content-type": "text/event-stream" });
    const events = messageEvents(reply.stalls ?? reply);
    for (const event of reply.stalls === undefined ? events : events.slice(0, -3)) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    }
    if (reply.stalls === undefined) response.end();
  });
  return { url: await listen(server), requests, close: () => closed(server) };
}

/** Returns a reply that the provider sends only after `release()`, so that a test can act during the model call. */
export function heldReply(reply) {
  let release;
  const promise = new Promise((resolve) => {
    release = () => resolve(reply);
  });
  return { promise, release };
}

/** Returns the events of one streamed message. */
function messageEvents(reply) {
  const isText = typeof reply === "string";
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "test-model",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 1 },
  };
  const block = isText ? { type: "text", text: "" } : { type: "tool_use", id: "toolu_1", name: reply.name, input: {} };
  const deltas = isText
    ? reply.split(/(?<= )/).map((text) => ({ type: "text_delta", text }))
    : [{ type: "input_json_delta", partial_json: JSON.stringify(reply.input) }];
  const stop = { stop_reason: isText ? "end_turn" : "tool_use", stop_sequence: null };
  return [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block: block },
    ...deltas.map((delta) => ({ type: "content_block_delta", index: 0, delta })),
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: stop, usage: { output_tokens: 12 } },
    { type: "message_stop" },
  ];
}
