// The page offers one button that helps after a failure.
import assert from "node:assert/strict";
import { menu, withProvider } from "../app.mjs";
import { joinServer, withServer } from "../service.mjs";

/** Returns the texts of the user's messages in a request. */
function saidBy(request) {
  const messages = JSON.parse(request.body).messages.filter(({ role }) => role === "user");
  return messages.flatMap(({ content }) =>
    typeof content === "string" ? [content] : content.flatMap((part) => (part.type === "text" ? [part.text] : [])),
  );
}

const count = (texts, text) => texts.filter((each) => each === text).length;

const OVERLOADED = { status: 529, type: "overloaded_error", message: "busy" };

export const tests = {
  async "Try again goes on without sending the message again, and leaves the message box as it is"({ page, url }) {
    await withProvider(page, url, [OVERLOADED, OVERLOADED, OVERLOADED, "Here it is."], async (app, provider) => {
      await app.ask("change the title");
      await app.finished(40_000);
      await app.input.fill("half a thought");
      const button = app.transcript.getByRole("button", { name: "Try again" });
      await button.click();
      await app.transcript.getByText("Here it is.").waitFor();
      await app.finished();
      assert.equal(await app.input.inputValue(), "half a thought");
      assert.equal(await app.transcript.locator(".entry.user", { hasText: "change the title" }).count(), 1);
      assert.equal(count(saidBy(provider.requests.at(-1)), "change the title"), 1);
      await button.waitFor({ state: "detached", timeout: 3_000 });
    });
  },

  async "a run that broke off in the middle goes on where it stopped"({ page, url }) {
    const read = { name: "Read", input: { file_path: "README.md" } };
    await withProvider(
      page,
      url,
      [read, OVERLOADED, OVERLOADED, OVERLOADED, "I have read it."],
      async (app, provider) => {
        await app.ask("read the title");
        await app.finished(40_000);
        await app.transcript.getByRole("button", { name: "Try again" }).click();
        await app.transcript.getByText("I have read it.").waitFor();
        const last = JSON.parse(provider.requests.at(-1).body).messages;
        assert.ok(JSON.stringify(last).includes("tool_result"), "the call before is lost");
        assert.equal(count(saidBy(provider.requests.at(-1)), "read the title"), 1);
      },
    );
  },

  async "a wait that the provider asks for is counted down before the button can be used"({ page, url }) {
    const slow = { status: 429, type: "rate_limit_error", message: "slow down", headers: { "retry-after": "70" } };
    await withProvider(page, url, [slow, "Now."], async (app, provider) => {
      await app.askAndWait("hello");
      const button = app.transcript.getByRole("button", { name: "Try again" });
      await button.getByText(/in \d\d s/).waitFor();
      assert.equal(await button.isDisabled(), true);
      const left = async () => Number(/in (\d+) s/.exec(await button.textContent())[1]);
      const before = await left();
      await page.waitForTimeout(2_200);
      assert.ok((await left()) < before, "the time stands still");
      assert.equal(provider.requests.length, 1);
    });
  },

  async "a repeated attempt counts down, and its notice goes with the answer"({ page, url }) {
    const soon = { status: 429, type: "rate_limit_error", message: "slow down", headers: { "retry-after": "3" } };
    await withProvider(page, url, [soon, "Now."], async (app) => {
      await app.ask("hello");
      await app.transcript.getByText(/Trying again in [23] s/).waitFor();
      await app.transcript.getByText(/Trying again in 1 s/).waitFor();
      await app.transcript.getByText("Now.", { exact: true }).waitFor();
      await app.finished();
      assert.equal(await app.transcript.locator(".entry.notice").count(), 0);
    });
  },

  async "a task that reaches its limit of tokens offers to continue, and a long conversation another one"({
    page,
    url,
  }) {
    const read = { name: "Read", input: { file_path: "README.md" } };
    const long = { status: 400, type: "invalid_request_error", message: "prompt is too long: 9 tokens > 8 maximum" };
    await withProvider(page, url, [read, "Done now.", long, "Short again."], async (app) => {
      await menu(page, "Options");
      const dialog = page.getByRole("dialog", { name: "Options" });
      await dialog.getByLabel(/^Limit of a task in tokens/).fill("20");
      await dialog.getByRole("button", { name: "Use these options" }).click();
      await dialog.waitFor({ state: "detached" });
      await app.askAndWait("read it");
      const notice = app.transcript.locator(".entry.notice").last();
      await notice.getByText("The task reached your limit of 20 tokens.").waitFor();
      assert.deepEqual(await notice.getByRole("button").allTextContents(), ["Continue"]);
      await notice.getByRole("button", { name: "Continue" }).click();
      await app.transcript.getByText("Done now.").waitFor();
      await app.finished();
      await app.askAndWait("and more");
      await app.transcript.getByText("The conversation is too long for this model.").waitFor();
      const last = app.transcript.locator(".entry.notice").last();
      assert.deepEqual(await last.getByRole("button").allTextContents(), ["New conversation"]);
      await last.getByRole("button", { name: "New conversation" }).click();
      await app.askAndWait("hello");
      await app.transcript.getByText("Short again.").waitFor();
    });
  },

  async "a message that a lost server did not get stays in the box, and Try again sends it"({ page, url }) {
    await withServer({ origin: new URL(url).origin }, async (server) => {
      const app = await joinServer(page, url, server.url);
      await app.openFile("notes.md");
      await app.askAndWait("rename sky to heaven in notes.md");
      await server.stop();
      const note = page.getByRole("alert", { name: "Connection" });
      await note.waitFor();
      await app.input.fill("rename colour to color in notes.md");
      await app.input.press("Enter");
      const notice = app.transcript.locator(".entry.notice").last();
      await notice.getByText("The server cannot be reached.").waitFor();
      await server.start();
      await note.waitFor({ state: "detached", timeout: 8_000 });
      await app.transcript.locator(".entry.user").first().waitFor();
      if ((await notice.count()) > 0) await notice.getByRole("button", { name: "Try again" }).click();
      else await app.input.press("Enter");
      await app.transcript.locator(".entry.user", { hasText: "colour" }).waitFor();
      await app.finished(30_000);
      assert.equal(await app.transcript.locator(".entry.user", { hasText: "heaven" }).count(), 1);
    });
  },
};
