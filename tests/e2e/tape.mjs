// A provider that answers with the responses of a cassette, in order. It can keep back the end of one.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { closed, listen } from "./browser.mjs";

/** Starts the provider with the cassette `name`. The rest of the response `held`, from 1, comes after `goOn()`. */
export async function startTape(name, held) {
  const { exchanges } = JSON.parse(await readFile(new URL(`../cassettes/${name}.json`, import.meta.url), "utf8"));
  const requests = [];
  const [half, rest] = [signal(), signal()];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const number = requests.push(Buffer.concat(chunks).toString());
    const events = exchanges[number - 1].answer.response.chunks;
    const middle = Math.floor(events.length / 2);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(events.slice(0, middle).join(""));
    if (number === held) {
      half.give();
      await rest.given;
    }
    response.end(events.slice(middle).join(""));
  });
  return { url: await listen(server), requests, halfway: half.given, goOn: rest.give, close: () => closed(server) };
}

/** Returns a promise with the function that fulfils it. */
function signal() {
  let give;
  const given = new Promise((done) => {
    give = done;
  });
  return { given, give };
}
