// Shared test support: small projects, HTTP servers, and the generated glue.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";

export { answerEvents, SHOP, sse } from "./fixtures.mjs";

/** The generated glue, which the package does not export. */
export const glue = await import(new URL("core.js", import.meta.resolve("emend")));

/** Returns the names of the npm options in docs/settings.md. */
export function npmOptions() {
  const page = readFileSync(new URL("../../docs/settings.md", import.meta.url), "utf8");
  const names = page
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .slice(1)
    .map((line) => /^`(.*)`$/.exec(line.split(" | ")[7].trim())?.[1]);
  return [...new Set(names.filter((name) => name !== undefined))].sort();
}

/** Returns one event of each kind with every field, as the core writes them. A test of the core writes the file. */
export function eventSamples() {
  const lines = readFileSync(new URL("agent-events.jsonl", import.meta.url), "utf8")
    .trim()
    .split("\n");
  return lines.map((line) => JSON.parse(line));
}

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
  request.messages.at(-1).content.map(({ content, isError: failed }) => (failed ? `error: ${content}` : content));

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
