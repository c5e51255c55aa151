// Web pages in Node: names are resolved, private addresses are rejected, and the checked address is the one connected to.

import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { Agent, init } from "emend";
import { serve } from "./support.mjs";

const { publicFetch } = await import(new URL("platform/node.js", import.meta.resolve("emend")));
const { isPublicAddress } = await import(new URL("core.js", import.meta.resolve("emend")));
await init();

/** A resolver that returns `addresses` for every name, and records the names. */
function resolver(...addresses) {
  const asked = [];
  const find = (name, _options, done) => {
    asked.push(name);
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  };
  return { asked, find };
}

test("the core tells public addresses from others", () => {
  const open = [
    "8.8.8.8",
    "100.63.0.1",
    "172.32.0.1",
    "192.0.1.1",
    "198.20.0.1",
    "2606:4700::1111",
    "64:ff9b::808:808",
    "::ffff:8.8.8.8",
    "2002:808:808::",
  ];
  const closed = [
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "192.168.1.1",
    "192.0.2.1",
    "198.19.0.1",
    "224.0.0.1",
    "255.255.255.255",
  ].concat([
    "::",
    "::1",
    "fe80::1",
    "fe80::1%eth0",
    "fc00::1",
    "2001:db8::1",
    "2001::1",
    "::ffff:127.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "nonsense",
  ]);
  assert.deepEqual(
    open.filter((address) => !isPublicAddress(address)),
    [],
  );
  assert.deepEqual(
    closed.filter((address) => isPublicAddress(address)),
    [],
  );
});

test("a name that resolves to a private address is rejected without a connection", async (t) => {
  const { url, requests } = await serve(t, (_, response) => response.end("inside"));
  const { port } = new URL(url);
  for (const address of ["127.0.0.1", "::1", "10.0.0.1", "::ffff:127.0.0.1"]) {
    const { asked, find } = resolver(address);
    await assert.rejects(
      publicFetch(`http://docs.example:${port}/`, {}, isPublicAddress, find),
      /docs\.example is not on the public internet/,
      address,
    );
    assert.deepEqual(asked, ["docs.example"]);
  }
  // Names of this machine's resolver, and numeric hosts, which are not resolved.
  for (const host of ["localhost", "127.0.0.1", "[::1]", "[::ffff:7f00:1]", "2130706433"]) {
    await assert.rejects(
      publicFetch(`http://${host}:${port}/`, {}, isPublicAddress),
      /not on the public internet/,
      host,
    );
  }
  assert.deepEqual(requests, []);
  // Control: without the check the server is reached.
  const { asked, find } = resolver("127.0.0.1");
  const response = await publicFetch(`http://docs.example:${port}/`, {}, () => true, find);
  assert.equal(await response.text(), "inside");
  assert.deepEqual(asked, ["docs.example"], "what was checked is what is used");
  assert.equal(requests[0].headers.host, `docs.example:${port}`);
});

test("of several addresses only the public ones are used", async (t) => {
  const { url, requests } = await serve(t, (_, response) => response.end("inside"));
  const { find } = resolver("10.0.0.1", "127.0.0.1");
  const response = await publicFetch(
    `http://docs.example:${new URL(url).port}/`,
    {},
    (address) => address === "127.0.0.1",
    find,
  );
  assert.equal(await response.text(), "inside");
  assert.equal(requests.length, 1);
});

test("redirects are returned, bodies decompressed, errors and cancellation passed on", async (t) => {
  const { url } = await serve(t, (request, response) => {
    if (request.url === "/moved") return response.writeHead(302, { location: "http://10.0.0.1/" }).end();
    if (request.url === "/none") return response.writeHead(204).end();
    if (request.url === "/packed")
      return response
        .writeHead(200, { "content-encoding": "gzip", "content-type": "text/plain" })
        .end(gzipSync("unpacked"));
    if (request.url === "/cut")
      return response.writeHead(200, { "content-length": "9" }).end("cut", () => response.destroy());
    return undefined;
  });
  const get = (path, options = {}) => publicFetch(url + path, options, () => true);
  const moved = await get("/moved");
  assert.deepEqual([moved.status, moved.headers.get("location")], [302, "http://10.0.0.1/"]);
  assert.equal((await get("/none")).status, 204);
  const packed = await get("/packed");
  assert.deepEqual([packed.headers.get("content-type"), await packed.text()], ["text/plain", "unpacked"]);
  await assert.rejects(async () => (await get("/cut")).text());
  const controller = new AbortController();
  const waiting = get("/silent", { signal: controller.signal });
  controller.abort();
  await assert.rejects(waiting, { name: "AbortError" });
});

test("an agent fetches pages with the given fetch, and otherwise only from public addresses", async (t) => {
  const global = globalThis.fetch;
  t.after(() => (globalThis.fetch = global));
  const inside = async () => new Response("inside", { headers: { "content-type": "text/plain" } });
  globalThis.fetch = inside;
  let results;
  const stream = async function* (request) {
    const last = request.messages.at(-1);
    if (last.role === "tool") results = last.content.map((part) => part.content);
    // `.invalid` never resolves.
    else yield { type: "tool_call", name: "web_fetch", arguments: JSON.stringify({ url: "http://docs.invalid/" }) };
    yield { type: "text_delta", delta: "Done." };
    yield { type: "finish" };
  };
  const found = async (options) => {
    const agent = await Agent.create({ model: { provider: { name: "mine", stream } }, webFetch: true, ...options });
    t.after(() => agent.close());
    await agent.run("look").result;
    return results.join();
  };
  assert.match(await found({}), /cannot reach docs\.invalid/);
  assert.match(await found({ fetch: inside }), /inside/);
});
