// `emend/service-client`: one client for a service in this program and for a server.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import test from "node:test";
import { createService } from "emend/service";
import { BusyError, createClient, EmendError, isEmendError } from "emend/service-client";

const FILES = { "notes.md": "The colour of the sky.\nSecond line.\n" };

async function open(t) {
  const service = await createService({ files: FILES });
  t.after(() => service.close());
  return service;
}

/** Serves a service over HTTP. `cut` decides after how many pieces of a response the connection breaks. */
async function overHttp(t, service, cut = () => Number.POSITIVE_INFINITY) {
  const sockets = new Set();
  const server = createServer(async (request, response) => {
    const body = request.method === "GET" ? undefined : Readable.toWeb(request);
    const { method, headers } = request;
    assert.equal(headers.authorization, "Bearer secret");
    const reply = await service.fetch(request.url, { method, headers, body, duplex: "half" });
    response.writeHead(reply.status, Object.fromEntries(reply.headers));
    let left = cut(request.url);
    for await (const piece of reply.body ?? []) {
      response.write(piece);
      if (--left > 0) continue;
      // The pieces so far arrive before the connection breaks.
      setTimeout(() => response.destroy(), 20);
      return;
    }
    response.end();
  });
  server.on("connection", (socket) => sockets.add(socket));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return createClient({ baseUrl: `http://127.0.0.1:${server.address().port}/`, token: "secret" });
}

async function story(client, service) {
  const { session_id } = await client.call("CreateSession", { body: { title: "Colours" } });
  const instruction = "rename colour to color in notes.md";
  const { job_id } = await client.call("Run", { body: { session_id, instruction } });
  const events = [];
  for await (const event of client.events({ job: job_id })) {
    events.push(event);
    if (event.type === "diff.generated") break;
  }
  assert.equal(events[0].type, "attached");
  const cursors = events.flatMap(({ cursor }) => (cursor === undefined ? [] : [cursor]));
  assert.deepEqual(
    cursors,
    cursors.map((_, index) => cursors[0] + index),
  );
  const review = await client.call("GetReview", { job_id });
  const accepted_hunk_ids = review.files.flatMap((file) => file.hunks.map((hunk) => hunk.hunk_id));
  const applied = await client.call("Apply", { body: { session_id, job_id, accepted_hunk_ids } });
  assert.equal(applied.status, "completed");
  assert.equal(await service.files.readDisk("notes.md"), "The color of the sky.\nSecond line.\n");
  const kinds = [];
  for await (const { type } of client.events({ job: job_id, after: cursors.at(-1) })) kinds.push(type);
  assert.equal(kinds.at(-1), "job.completed");
  return { session_id, job_id };
}

test("the story over a service in this program", async (t) => {
  const service = await open(t);
  await story(createClient({ fetch: service.fetch }), service);
});

test("the same story over HTTP, with connections that break", async (t) => {
  const service = await open(t);
  await story(await overHttp(t, service, (url) => (url.includes("stream") ? 7 : 1e9)), service);
});

test("failed requests are errors of the class of their code", async (t) => {
  const service = await open(t);
  const client = createClient({ fetch: service.fetch });
  const { session_id } = await client.call("CreateSession");
  await client.call("Run", { body: { session_id, instruction: "rename colour to color in notes.md" } });
  const busy = client.call("Run", { body: { session_id, instruction: "x" } });
  await assert.rejects(busy, (error) => error instanceof BusyError && error.data.status !== undefined);
  await assert.rejects(client.call("GetJob", { job_id: "none" }), (error) => isEmendError(error, "not_found"));
  await assert.rejects(client.call("GetJob", { job_id: "../sessions" }), (error) => isEmendError(error, "not_found"));
  await assert.rejects(client.call("GetJob", {}), /`job_id` must be a string/);
  await assert.rejects(client.call("None"), /there is no operation "None"/);
  await assert.rejects(client.events({ job: "none" }).next(), (error) => isEmendError(error, "not_found"));
});

test("a server that is not one, or not there, is a network error", async () => {
  const page = createClient({ fetch: async () => new Response("<!doctype html>", { status: 502 }) });
  const refused = (error) => error instanceof EmendError && error.code === "network" && error.retryable;
  await assert.rejects(page.call("GetSettings"), refused);
  const absent = createClient({ fetch: async () => Promise.reject(new TypeError("fetch failed")) });
  await assert.rejects(absent.call("GetSettings"), refused);
});

test("options that cannot work are rejected when the client is created, without the token", () => {
  const secret = "s3cret\n";
  for (const [options, message] of [
    [{}, /`baseUrl` is not the address of a server/],
    [{ baseUrl: "localhost" }, /`baseUrl` is not the address/],
    [{ baseUrl: "http://127.0.0.1:1", token: secret }, /`token` has characters that a header cannot carry/],
    [{ baseUrl: "http://127.0.0.1:1", token: "" }, /`token` has characters/],
  ]) {
    assert.throws(
      () => createClient(options),
      (error) =>
        isEmendError(error, "invalid_argument") && message.test(error.message) && !/s3cret/.test(error.message),
    );
  }
});

const bodyOf = (...texts) => new Response(texts.join("")).body;
const answers = (body, type) => async () => new Response(body(), { headers: { "content-type": type } });

test("an answer that is not a service's is an error, also for events", async (t) => {
  const html = answers(() => "<html>", "text/html");
  const wrong = async (call, code, message) => {
    await assert.rejects(call, (error) => {
      assert.match(error.message, message);
      return isEmendError(error, code);
    });
  };
  const next = (fetch) => createClient({ fetch }).events().next();
  await wrong(
    createClient({ fetch: html }).request("GET", "/api/health"),
    "network",
    /status 200, .*a reply of a service/,
  );
  await wrong(next(html), "network", /text\/html, and not with a stream of events/);
  for (const given of [undefined, "text", {}]) {
    const fetch = async () => given;
    await wrong(createClient({ fetch }).request("GET", "/"), "invalid_argument", /`fetch` must return a Response/);
    await wrong(next(fetch), "invalid_argument", /`fetch` must return a Response/);
  }
  // These may be the end of a server: the client tries again, and not for ever.
  t.mock.timers.enable({ apis: ["setTimeout"] });
  for (const [body, message] of [
    [() => bodyOf(), /ended before its first event/],
    [() => bodyOf(": a comment\n\n"), /ended before its first event/],
    [() => bodyOf("data: garbage\n\n"), /an event that is not of a service: "garbage"/],
    [() => bodyOf("data: 7\n\n"), /an event that is not of a service: "7"/],
  ]) {
    let n = 0;
    const fetch = async (...given) => {
      n += 1;
      return answers(body, "text/event-stream")(...given);
    };
    let over = false;
    const outcome = wrong(next(fetch), "network", message).finally(() => {
      over = true;
    });
    while (!over) {
      t.mock.timers.tick(60_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await outcome;
    assert.equal(n, 6);
  }
});

test("a signal ends a request and a stream", async (t) => {
  const service = await open(t);
  const client = createClient({ fetch: service.fetch });
  const control = new AbortController();
  const { signal } = control;
  const events = client.events({ signal });
  assert.equal((await events.next()).value.type, "attached");
  const next = events.next();
  control.abort();
  await assert.rejects(next, (error) => isEmendError(error, "aborted"));
  await assert.rejects(client.call("GetSettings", {}, { signal }), (error) => isEmendError(error, "aborted"));
});
