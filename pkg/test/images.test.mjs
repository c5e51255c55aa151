// Images that a program gives a run: each provider gets them, and they stay in the history.

import assert from "node:assert/strict";
import test from "node:test";
import { Agent, EmendError, isEmendError, memoryStore } from "emend";
import { WorkerAgent } from "emend/worker";
import { collect, scripted, serve } from "./support.mjs";

const PNG = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 1, 2, 3);
const JPEG = Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 9);
const base64 = (bytes) => Buffer.from(bytes).toString("base64");

/** Returns the images of each user message of a request. */
const images = (request) =>
  request.messages
    .filter(({ role }) => role === "user")
    .map(({ content }) => content.filter(({ kind }) => kind === "image"));

async function create(t, options) {
  const agent = await Agent.create(options);
  t.after(() => agent.close());
  return agent;
}

/** Where the request of each provider has the images, as pairs of type and base64. */
const WIRES = {
  anthropic: ({ messages }) =>
    messages[0].content
      .filter(({ type }) => type === "image")
      .map(({ source }) => [source.type === "base64" && source.media_type, source.data]),
  openai: ({ input }) =>
    input
      .find(({ role }) => role === "user")
      .content.filter(({ type }) => type === "input_image")
      .map(({ image_url: url }) => /^data:(.*);base64,(.*)$/.exec(url).slice(1)),
  gemini: ({ contents }) =>
    contents[0].parts.filter((part) => part.inlineData).map(({ inlineData: { mimeType, data } }) => [mimeType, data]),
};

for (const [provider, imagesOf] of Object.entries(WIRES)) {
  test(`the images of a run are in the request of the provider ${provider}`, async (t) => {
    const server = await serve(t, (_, response) => response.writeHead(400).end("{}"));
    const agent = await create(t, { model: { provider, model: "m", apiKey: "k", baseUrl: server.url } });
    const given = [
      { mediaType: "image/png", data: PNG, name: "sketch" },
      // The contents decide on the type.
      { mediaType: "image/png", data: JPEG },
    ];
    await agent.run("what is that?", { images: given }).result;
    const { body } = server.requests[0];
    assert.deepEqual(imagesOf(JSON.parse(body)), [
      ["image/png", base64(PNG)],
      ["image/jpeg", base64(JPEG)],
    ]);
    assert.ok(body.includes("[sketch | image/png]") && body.includes("[image 2 | image/jpeg]"), body);
  });
}

test("the images of a message go with that message alone, and a resumed session has them", async (t) => {
  const store = memoryStore();
  const { model, requests } = scripted([
    async ({ request }) => {
      if (request.messages.length < 4) run.steer("see this", { images: [{ data: JPEG }] });
      return "One.";
    },
    "Two.",
    "Three.",
    "Four.",
  ]);
  const agent = await create(t, { model, store });
  agent.followUp("and that", { images: [{ data: JPEG, name: "late" }] });
  const run = agent.run("first", { images: [{ data: PNG }] });
  const events = await collect(run);
  assert.equal(events.find(({ kind }) => kind === "USER_INPUT").data.content, "first");
  assert.deepEqual(
    images(requests.at(-1)).map((all) => all.map(({ mediaType }) => mediaType)),
    [["image/png"], ["image/jpeg"], ["image/jpeg"]],
  );
  assert.deepEqual(
    images(requests[0]).map((all) => all.map(({ data }) => data)),
    [[base64(PNG)]],
  );
  const again = await Agent.resume(agent.sessionId, { model, store });
  t.after(() => again.close());
  await again.run("more").result;
  assert.deepEqual(
    images(requests.at(-1)).map((all) => all.length),
    [1, 1, 1, 0],
  );
});

test("an image that the model does not take is an error before the run", async (t) => {
  const { model, requests } = scripted(["One.", "Two."]);
  const agent = await create(t, { model });
  const png = { data: PNG };
  const large = new Uint8Array(5 * 1024 * 1024);
  large.set(PNG);
  for (const [images, expected] of [
    [[png, { data: Uint8Array.of(1, 2, 3), name: "notes" }], /notes is not a PNG, JPEG, GIF or WebP image/],
    [[png, { data: large }], /Make it smaller/],
    [Array(11).fill(png), /at most 10 images/],
  ]) {
    assert.throws(
      () => agent.run("look", { images }),
      (error) => error instanceof EmendError && error.code === "unsupported" && expected.test(error.message),
    );
    assert.throws(() => agent.followUp("look", { images }), expected);
  }
  for (const images of [
    png,
    [PNG],
    [{ data: [1] }],
    [{ data: PNG, name: 1 }],
    [{ data: PNG, mediaType: 1 }],
    [{ data: PNG, url: "" }],
  ]) {
    assert.throws(
      () => agent.run("look", { images }),
      (error) => isEmendError(error, "invalid_argument"),
      JSON.stringify(images),
    );
  }
  // The images of a refused message do not go with the next one.
  assert.equal((await agent.run("go on").result).text, "One.");
  assert.deepEqual(images(requests[0]), [[]]);

  const offline = await create(t, { model: { provider: "offline" } });
  assert.throws(() => offline.run("look", { images: [png] }), /does not take images/);
});

test("an agent in a worker takes images, too", async (t) => {
  const { model, requests } = scripted(["One.", "Two."]);
  const agent = await WorkerAgent.create({ model });
  t.after(() => agent.close());
  await agent.followUp("later", { images: [{ data: JPEG }] });
  const { text } = await agent.run("first", { images: [{ data: PNG, name: "sketch" }] }).result;
  assert.equal(text, "Two.");
  assert.deepEqual(
    images(requests.at(-1)).map((all) => all.map(({ data }) => data)),
    [[base64(PNG)], [base64(JPEG)]],
  );
  assert.throws(() => agent.run("look", { images: [{ data: "text" }] }), /must be a Uint8Array/);
  const refused = agent.run("look", { images: [{ data: Uint8Array.of(1) }] });
  await assert.rejects(refused.result, (error) => isEmendError(error, "unsupported"));
});
