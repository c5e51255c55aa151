// The words of the page: what it says about silent servers, wrong addresses, and files that were only read.
import assert from "node:assert/strict";
import { openApp, withProvider } from "../app.mjs";
import { heldReply } from "../provider.mjs";

export const tests = {
  async "a server that is silent after its first words is said to be, with all of the time in view"({ page, url }) {
    await withProvider(page, url, [{ stalls: "Hello " }], async (app, provider) => {
      await page.clock.install();
      await app.ask("begin");
      await app.transcript.getByText("Hello").waitFor();
      await page.clock.runFor(125_000);
      const bar = page.locator(".pending-bar");
      await bar.getByText(`Nothing more from ${new URL(provider.url).host}`).waitFor();
      // The clock of the page also runs between the first words and the jump.
      const time = bar.getByText(/^2 min \d+ s$/);
      const seconds = /(\d+) s/.exec(await time.textContent())[1];
      assert.ok(seconds >= 5 && seconds < 30, seconds);
      const [inner, outer] = [await time.boundingBox(), await bar.boundingBox()];
      assert.ok(inner.x + inner.width < outer.x + outer.width - 60, "the time is cut off");
      assert.equal(await time.evaluate((node) => node.scrollWidth > node.clientWidth + 1), false);
      await page.clock.resume();
      await page.getByRole("button", { name: "Stop" }).click();
      await app.finished();
    });
  },

  async "an address of a web site is named as such, and codes stand in the details"({ page, url }) {
    await withProvider(page, url, [{ html: "<!doctype html><h1>Welcome</h1>" }], async (app) => {
      await app.askAndWait("hello");
      const notice = app.transcript.locator(".notice");
      await notice.getByText("The address answers with a web page, not as a model.").waitFor();
      await notice.getByText("Check the base URL.").waitFor();
      assert.equal(
        await notice.locator("p").first().textContent(),
        " The address answers with a web page, not as a model.",
      );
      await notice.getByText("Details").click();
      await notice.getByText("Code: configuration").waitFor();
      await notice.getByRole("button", { name: "Model settings" }).waitFor();
    });
  },

  async "a file that was only read was not worked on, and one that was taken back is explained"({ page, url }) {
    const held = heldReply({
      name: "Edit",
      input: { file_path: "README.md", old_string: "# Seed library", new_string: "# Seeds" },
    });
    const read = { name: "Read", input: { file_path: "README.md" } };
    await withProvider(page, url, [read, "It has a title.", read, held.promise], async (app) => {
      await app.askAndWait("what is in it?");
      await app.transcript.getByText("The assistant read README.md.").waitFor();
      assert.equal(await app.transcript.getByText("worked on").count(), 0);
      await app.ask("shorten the title");
      await app.lease.waitFor();
      await page.getByRole("button", { name: "Take control" }).click();
      held.release();
      await app.finished();
      await app.transcript
        .getByText(/You took README.md back. The assistant changes it again from the next task on/)
        .waitFor();
      await app.transcript.getByText("In the next task it can.").waitFor({ state: "attached" });
    });
  },

  async "the dialog that finds text shows folders and has a button to close it"({ page, url }) {
    const app = await openApp(page, url);
    await page.getByRole("button", { name: /^Find in files/ }).click();
    const dialog = page.getByRole("dialog", { name: "Find in files" });
    await page.keyboard.type("function");
    await dialog
      .getByRole("option", { name: /^src\/catalog\.ts:\d+/ })
      .first()
      .waitFor();
    await page.setViewportSize({ width: 390, height: 700 });
    const close = dialog.getByRole("button", { name: "Close" });
    const box = await close.boundingBox();
    assert.ok(box.x + box.width <= 390 && box.y + box.height <= 700, "Close is out of view");
    await close.click();
    await dialog.waitFor({ state: "detached" });
    await app.editor.waitFor();
  },

  async "a lost connection offers to try again, and a conversation that is too long another one"({ page, url }) {
    await withProvider(page, url, ["Here I am.", "New and short."], async (app) => {
      const notice = app.transcript.locator(".notice").last();
      await page.context().route("http://127.0.0.1:*/v1/messages", (route) => route.abort());
      await app.ask("hello");
      await app.finished(40_000);
      await notice.getByText("The provider could not be reached.").waitFor();
      await page.context().unrouteAll();
      await notice.getByRole("button", { name: "Try again" }).click();
      await app.transcript.getByText("Here I am.").waitFor();
      await app.finished();
      // The button belongs to the task before.
      await app.transcript.getByRole("button", { name: "Try again" }).waitFor({ state: "detached" });

      const message = "prompt is too long: 250000 tokens > 200000 maximum";
      await page.context().route("http://127.0.0.1:*/v1/messages", (route) =>
        route.fulfill({
          status: 400,
          headers: { "access-control-allow-origin": "*" },
          contentType: "application/json",
          body: JSON.stringify({ type: "error", error: { type: "invalid_request_error", message } }),
        }),
      );
      await app.askAndWait("once more");
      await notice.getByText("The conversation is too long for this model.").waitFor();
      await page.context().unrouteAll();
      await notice.getByRole("button", { name: "New conversation" }).click();
      await page.getByText("What should I change?").waitFor();
      await app.askAndWait("hello");
      await app.transcript.getByText("New and short.").waitFor();
    });
  },
};
