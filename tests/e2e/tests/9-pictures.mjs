// Pictures in messages: pasted, dropped, chosen, refused, kept over a reload, and sent to the provider.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { deflateSync } from "node:zlib";
import { openApp } from "../app.mjs";
import { heldReply, startProvider } from "../provider.mjs";
import { joinServer, withServer } from "../service.mjs";

const KEY = "sk-test-not-a-key";

/** Returns a PNG of one colour, or of noise that no compression makes smaller. */
function png(width, height, { isNoise = false } = {}) {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const out = Buffer.alloc(8 + body.length);
    out.writeUInt32BE(data.length);
    body.copy(out, 4);
    out.writeUInt32BE(crc(body), 4 + body.length);
    return out;
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2], 8);
  const rows = Buffer.alloc(height * (1 + 3 * width), 120);
  let seed = 1;
  for (let at = 0; at < rows.length; at++) {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    if (at % (1 + 3 * width) === 0) rows[at] = 0;
    else if (isNoise) rows[at] = seed >>> 16;
  }
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function crc(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return (sum ^ 0xffffffff) >>> 0;
}

const SMALL = png(60, 40);
const file = (name, buffer, mimeType = "image/png") => ({ name, mimeType, buffer });

/** Sends an event of the clipboard or of a drag with files to the message box, as a browser does. */
async function give(app, kind, files, text) {
  const given = files.map(({ name, mimeType, buffer }) => ({ name, mimeType, data: buffer.toString("base64") }));
  await app.input.evaluate(
    (box, { kind, given, text }) => {
      const transfer = new DataTransfer();
      for (const { name, mimeType, data } of given) {
        const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
        transfer.items.add(new File([bytes], name, { type: mimeType }));
      }
      if (text !== undefined) transfer.setData("text/plain", text);
      const options = { bubbles: true, cancelable: true, clipboardData: transfer, dataTransfer: transfer };
      const Kind = kind === "paste" ? ClipboardEvent : DragEvent;
      box.dispatchEvent(new Kind(kind, options));
    },
    { kind, given, text },
  );
}

const chips = (page) => page.locator(".additions .with-picture");

async function withProvider(replies, { page, url }, test) {
  const provider = await startProvider(KEY, replies);
  try {
    const app = await openApp(page, url);
    await app.chooseModel({ apiKey: KEY, baseUrl: provider.url });
    await test(app, provider);
  } finally {
    await provider.close();
  }
}

/** Returns the pictures in the last request, as base64. */
function sentPictures({ requests }) {
  const { messages } = JSON.parse(requests.at(-1).body);
  return messages
    .flatMap(({ content }) => (Array.isArray(content) ? content : []))
    .flatMap(({ type, source }) => (type === "image" ? [source] : []));
}

/** Chooses files in the dialog of the browser. */
async function pick(page, files) {
  const [chooser] = await Promise.all([
    page.waitForEvent("filechooser"),
    page.getByRole("button", { name: "Add pictures" }).click(),
  ]);
  await chooser.setFiles(files);
}

export const tests = {
  async "a pasted, a dropped and a chosen picture go with the message"(context) {
    const { page } = context;
    await withProvider(["I see three."], context, async (app, provider) => {
      await give(app, "paste", [file("pasted.png", SMALL)]);
      await chips(page).nth(0).waitFor();
      await give(app, "dragover", [file("dropped.png", png(30, 90))]);
      await page.locator(".composer.drop-here").waitFor();
      await give(app, "drop", [file("dropped.png", png(30, 90))]);
      await chips(page).nth(1).waitFor();
      assert.equal(await page.locator(".drop-target").count(), 0);
      await pick(page, [file("chosen.png", png(10, 10))]);
      await chips(page).nth(2).waitFor();
      assert.deepEqual(await chips(page).locator(".addition-name").allTextContents(), [
        "pasted.png",
        "dropped.png",
        "chosen.png",
      ]);
      assert.match(await chips(page).first().textContent(), /60 × 40, 1 KB/);
      assert.equal(await page.getByRole("img", { name: "pasted.png" }).count(), 1);
      // The project is still the sample: the drop opened nothing.
      await app.row("README.md").waitFor();
      await app.askAndWait("what is this?");
      assert.equal(await chips(page).count(), 0);
      const sent = sentPictures(provider);
      assert.deepEqual(
        sent.map(({ media_type: type }) => type),
        ["image/png", "image/png", "image/png"],
      );
      assert.equal(sent[0].data, SMALL.toString("base64"));
      const shown = app.transcript.locator(".entry.user .pictures img");
      assert.equal(await shown.count(), 3);
      await shown.first().evaluate((image) => image.decode());
    });
  },

  async "text that is pasted with a picture of it stays text"(context) {
    await withProvider([], context, async (app) => {
      await app.input.focus();
      await give(app, "paste", [file("cells.png", SMALL)], "1 2");
      await context.page.waitForTimeout(300);
      assert.equal(await chips(context.page).count(), 0);
    });
  },

  async "a chip is removed by the keyboard, and the focus returns to the message box"(context) {
    const { page } = context;
    await withProvider([], context, async (app) => {
      await give(app, "paste", [file("one.png", SMALL), file("two.png", SMALL)]);
      await chips(page).nth(1).waitFor();
      await app.input.focus();
      await page.keyboard.press("Shift+Tab");
      assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), "Remove two.png");
      await page.keyboard.press("Enter");
      await chips(page).nth(1).waitFor({ state: "detached" });
      assert.equal(await page.evaluate(() => document.activeElement.tagName), "TEXTAREA");
    });
  },

  async "files other than pictures are refused with a reason, whatever their name is"(context) {
    const { page } = context;
    await withProvider([], context, async (app) => {
      await give(app, "drop", [file("notes.png", Buffer.from("only text")), file("real.png", SMALL)]);
      await app.says("notes.png is not a PNG, JPEG, GIF or WebP picture.");
      await chips(page).first().waitFor();
      assert.deepEqual(await chips(page).locator(".addition-name").allTextContents(), ["real.png"]);
      await give(app, "paste", [file("cut.png", SMALL.subarray(0, 40))]);
      await app.says("cut.png cannot be read as a picture.");
      const many = Array.from({ length: 11 }, (_, index) => file(`${index}.png`, SMALL));
      await give(app, "drop", many);
      await app.says("At most 10 pictures go with a message.");
      assert.equal(await chips(page).count(), 10);
    });
  },

  async "a picture that is too large is made smaller, and the page says so"(context) {
    const { page } = context;
    const large = png(1_400, 1_000, { isNoise: true });
    assert.ok(large.length > 3_932_160);
    await withProvider(["Noise."], context, async (app, provider) => {
      await pick(page, [file("large.png", large)]);
      await app.says("Made 1 picture smaller");
      assert.match(await chips(page).textContent(), /made smaller/);
      await app.askAndWait("what is this?");
      const [sent] = sentPictures(provider);
      const bytes = Buffer.from(sent.data, "base64");
      assert.ok(bytes.length <= 3_932_160, `${bytes.length} bytes`);
      assert.equal(bytes.subarray(1, 4).toString(), "PNG");
    });
  },

  async "the offline model refuses pictures with a reason"({ page, url }) {
    const app = await openApp(page, url);
    await give(app, "paste", [file("a.png", SMALL)]);
    await app.says("The offline model takes no pictures. Choose another model to send one.");
    await page.getByRole("button", { name: "Add pictures" }).click();
    await app.says("The offline model takes no pictures.");
    assert.equal(await chips(page).count(), 0);
    const provider = await startProvider(KEY);
    try {
      // A picture that was added for another model stays with the message.
      await app.chooseModel({ apiKey: KEY, baseUrl: provider.url, model: "test-model" });
      await give(app, "paste", [file("a.png", SMALL)]);
      await chips(page).first().waitFor();
      await app.chooseModel({ pace: "instant" });
      await app.input.fill("what is this?");
      await app.input.press("Enter");
      await app.says("The offline model takes no pictures.");
      assert.equal(await app.input.inputValue(), "what is this?");
      assert.equal(await chips(page).count(), 1);
      assert.equal(provider.requests.length, 0);
    } finally {
      await provider.close();
    }
  },

  async "a reload keeps the pictures of the draft, of the queue and of the conversation"(context) {
    const { page } = context;
    const held = heldReply("Too late.");
    await withProvider(["I see it.", held.promise], context, async (app, provider) => {
      await give(app, "paste", [file("sent.png", SMALL)]);
      await chips(page).first().waitFor();
      await app.askAndWait("what is this?");
      await app.ask("go on");
      await give(app, "paste", [file("queued.png", png(20, 20))]);
      await chips(page).first().waitFor();
      await app.input.fill("and this?");
      await app.input.press("Alt+Enter");
      await page.locator(".queue .tag", { hasText: "1 picture" }).waitFor();
      assert.equal(await chips(page).count(), 0);
      await give(app, "paste", [file("draft.png", png(30, 30))]);
      await chips(page).first().waitFor();
      await app.input.fill("unsent");
      await page.waitForTimeout(400);
      await app.reload();
      held.release();
      await page.getByRole("img", { name: "draft.png" }).waitFor();
      assert.equal(await app.input.inputValue(), "unsent");
      await page.locator(".queue .tag", { hasText: "1 picture" }).waitFor();
      const shown = app.transcript.locator(".entry.user .pictures img");
      await shown.first().waitFor();
      assert.deepEqual(await shown.evaluateAll((all) => all.map((each) => each.alt)), ["sent.png"]);
      await app.chooseModel({ apiKey: KEY, baseUrl: provider.url });
      await page.getByRole("button", { name: "Send now: and this?" }).click();
      await app.transcript.locator(".entry.assistant", { hasText: "Done." }).waitFor();
      await app.finished();
      const sent = sentPictures(provider).map(({ data }) => data);
      assert.deepEqual(sent, [SMALL.toString("base64"), png(20, 20).toString("base64")]);
      await app.input.press("Enter");
      await app.transcript.getByRole("img", { name: "draft.png" }).waitFor();
      await app.transcript.locator(".entry.assistant", { hasText: "Done." }).nth(1).waitFor();
      assert.equal(sentPictures(provider).length, 3);
    });
  },

  async "a picture joins a task that runs, and a reload repeats that"(context) {
    const { page } = context;
    const held = heldReply({ name: "Read", input: { file_path: "README.md" } });
    await withProvider([held.promise, "I see it."], context, async (app, provider) => {
      await app.ask("look");
      await give(app, "paste", [file("later.png", SMALL)]);
      await chips(page).first().waitFor();
      await app.input.press("Enter");
      await app.says("Write what the assistant should do with the picture.");
      await app.input.fill("at this");
      await app.input.press("Enter");
      await app.transcript.locator(".entry.user.waiting").waitFor();
      held.release();
      await app.transcript.getByText("I see it.").waitFor();
      await app.finished();
      assert.deepEqual(
        sentPictures(provider).map(({ data }) => data),
        [SMALL.toString("base64")],
      );
      await app.transcript.getByRole("img", { name: "later.png" }).waitFor();
      await page.waitForTimeout(300);
      await app.reload();
      await app.transcript.getByRole("img", { name: "later.png" }).waitFor();
      assert.equal(await app.transcript.locator(".notice.error").count(), 0);
    });
  },

  async "a picture of a task that is stopped before its next step returns to the message box"(context) {
    const { page } = context;
    const held = heldReply("Too late.");
    await withProvider([held.promise], context, async (app) => {
      await app.ask("look");
      await give(app, "paste", [file("later.png", SMALL)]);
      await chips(page).first().waitFor();
      await app.input.fill("at this");
      await app.input.press("Enter");
      await app.transcript.locator(".entry.user.waiting").waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      await app.finished();
      await chips(page).first().waitFor();
      assert.equal(await app.input.inputValue(), "at this");
      held.release();
    });
  },

  async "editing a message returns its picture to the message box"(context) {
    const { page } = context;
    await withProvider(["First.", "Second."], context, async (app, provider) => {
      await give(app, "paste", [file("again.png", SMALL)]);
      await chips(page).first().waitFor();
      await app.askAndWait("what is this?");
      await page.getByRole("button", { name: /^Edit and send again/ }).click();
      await page.getByRole("button", { name: "Go back" }).click();
      await chips(page).first().waitFor();
      await app.input.fill("what is that?");
      await app.input.press("Enter");
      await app.transcript.getByText("Second.").waitFor();
      await app.finished();
      assert.equal(sentPictures(provider).length, 1);
      await page.waitForTimeout(300);
      await app.reload();
      await app.transcript.getByRole("img", { name: "again.png" }).waitFor();
    });
  },

  async "a server's page has the button disabled, with the reason"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async (server) => {
      const app = await joinServer(page, url, server.url);
      const button = page.getByRole("button", { name: "A server takes no pictures with a message" });
      assert.equal(await button.getAttribute("aria-disabled"), "true");
      await give(app, "paste", [file("a.png", SMALL)]);
      await app.says("A server takes no pictures with a message.");
    });
  },

  async "pictures fit a phone, and axe finds nothing"(context) {
    const { page } = context;
    const source = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    await page.context().addInitScript({ content: source });
    await withProvider(["I see it."], context, async (app) => {
      await page.setViewportSize({ width: 390, height: 844 });
      await page.getByRole("button", { name: "Chat" }).click();
      const name = "a-screenshot-with-quite-a-long-name-2026-11-29.png";
      await give(app, "paste", [file(name, SMALL), file("b.png", png(400, 900))]);
      await chips(page).nth(1).waitFor();
      const box = await page.getByRole("button", { name: "Remove b.png" }).boundingBox();
      assert.ok(box.width >= 44 && box.height >= 44, JSON.stringify(box));
      const check = async (state) => {
        for (const theme of ["light", "dark"]) {
          await page.evaluate((chosen) => {
            document.documentElement.dataset.theme = chosen;
          }, theme);
          const { violations } = await page.evaluate(() => globalThis.axe.run(".chat-pane"));
          assert.deepEqual(
            violations.map(({ id, nodes }) => `${state}, ${theme}: ${id} ${nodes[0].html.slice(0, 120)}`),
            [],
          );
          await picture(page, `${state}-390-${theme}`);
        }
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), state);
      };
      await check("chips");
      await app.askAndWait("what is this?");
      await check("sent");
    });
  },
};

/** Keeps a screenshot if `SHOTS` names a folder. */
async function picture(page, name) {
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${name}.png` });
}
