// Measures pi-ai and eventsource-parser with the transcripts that `emend-bench llm` has written to a folder, and prints
// one JSON object per line: the transcript, the peer and its milliseconds. The result of a peer must equal the transcript.
// The script is copied to the folder where the peers are installed, and run there.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { stream } from "@mariozechner/pi-ai";
import { createParser } from "eventsource-parser";

const folder = process.argv[2];
const CHUNK_BYTES = 16 * 1024;

const version = (name) => JSON.parse(readFileSync(join("node_modules", name, "package.json"), "utf8")).version;

const expected = (name) => JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8"));
const chunks = (name) => {
  const bytes = readFileSync(join(folder, `${name}.sse`));
  return Array.from({ length: Math.ceil(bytes.length / CHUNK_BYTES) }, (_, index) =>
    bytes.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES),
  );
};

/** Returns the shortest of a few runs, in milliseconds. Slow runs are not repeated. */
async function time(run, check) {
  let best = Infinity;
  for (let round = 0; round === 0 || (round < 5 && best < 3000); round++) {
    const begun = performance.now();
    const result = await run();
    best = Math.min(best, performance.now() - begun);
    if (!check(result)) throw new Error("the peer reads something else than the transcript says");
  }
  return best;
}

const print = (row) => console.log(JSON.stringify(row));

/** Returns the text and arguments of a transcript, parsed with eventsource-parser and JSON.parse. */
async function parser() {
  const pieces = chunks("transcript");
  const run = () => {
    const decoder = new TextDecoder();
    let text = "";
    let json = "";
    const reader = createParser({
      onEvent({ data }) {
        const { delta } = JSON.parse(data);
        text += delta?.text ?? "";
        json += delta?.partial_json ?? "";
      },
    });
    for (const piece of pieces) reader.feed(decoder.decode(piece, { stream: true }));
    return { text, arguments: JSON.parse(json) };
  };
  const wanted = expected("transcript");
  const peer = await time(run, (result) => isDeepStrictEqual(result, wanted));
  print({
    transcript: "transcript",
    peer_name: `eventsource-parser ${version("eventsource-parser")} + JSON.parse`,
    peer,
  });
}

/** Returns the same with `emend/llm`, if the path of its module is given: the collected events of the client. */
async function ours() {
  if (process.argv[3] === undefined) return;
  const { load } = await import(pathToFileURL(process.argv[3]).href);
  const formats = await load();
  const pieces = chunks("transcript");
  const run = () => {
    const decoder = formats.decoder("anthropic-messages");
    let text = "";
    let json = "";
    const gather = ({ events, error }) => {
      if (error) throw error;
      for (const event of events) {
        if (event.type === "text_delta") text += event.delta;
        else if (event.type === "tool_call_delta") json += event.delta;
      }
    };
    for (const piece of pieces) gather(decoder.push(piece));
    gather(decoder.finish());
    return { text, arguments: JSON.parse(json) };
  };
  const wanted = expected("transcript");
  const taken = await time(run, (result) => isDeepStrictEqual(result, wanted));
  print({ transcript: "transcript", ours: taken });
}

/** Returns the arguments of a call with pi-ai: its Anthropic provider over a fetch without network. */
async function piAi(name) {
  const pieces = chunks(name);
  const headers = { "content-type": "text/event-stream" };
  globalThis.fetch = async () => new Response(ReadableStream.from(pieces), { headers });
  const model = {
    id: "claude-opus-4-6",
    name: "bench",
    api: "anthropic-messages",
    provider: "anthropic",
    baseUrl: "http://127.0.0.1:9",
    reasoning: false,
    input: ["text"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 200000,
    maxTokens: 1000,
  };
  const context = { messages: [{ role: "user", content: "go", timestamp: 0 }] };
  const run = async () => {
    const events = stream(model, context, { apiKey: "k" });
    for await (const event of events) if (event.type === "error") throw new Error(JSON.stringify(event.error));
    return (await events.result()).content[0].arguments;
  };
  const wanted = expected(name);
  const peer = await time(run, (result) => isDeepStrictEqual(result, wanted));
  print({ transcript: name, peer_name: `@mariozechner/pi-ai ${version("@mariozechner/pi-ai")} in Node`, peer });
}

await parser();
await ours();
// pi-ai takes four times as long for twice the length. A third size would take minutes.
for (const name of ["arguments-50", "arguments-100"]) await piAi(name);
