// Models in JavaScript, and a second model for the failures of the first.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { downloaded, menu, openApp } from "../app.mjs";
import { startProvider } from "../provider.mjs";

/** The model of web/README.md, as a module. */
async function documented() {
  const text = await readFile(new URL("../../../web/README.md", import.meta.url), "utf8");
  return /```js\n(export default[^]*?)```/.exec(text)[1];
}

/** Serves a script beside the page. */
async function serveScript(page, name, source) {
  await page.route(`**/${name}`, (route) => route.fulfill({ contentType: "text/javascript", body: source }));
}

async function openDialog(page) {
  await page.getByRole("button", { name: /^Model:/ }).click();
  return page.getByRole("dialog", { name: "Model" });
}

async function useModule(page, address) {
  const dialog = await openDialog(page);
  await dialog.getByRole("radio", { name: "JavaScript module" }).check();
  await dialog.getByLabel("Address of the module").fill(address);
  await dialog.getByRole("button", { name: "Use this model" }).click();
  return dialog;
}

/** Chooses Anthropic at `first` with a second model at `second`. */
async function useTwo(page, first, second, fields = {}) {
  const dialog = await openDialog(page);
  await dialog.getByRole("radio", { name: /^Anthropic/ }).check();
  await dialog.getByLabel(/^API key/).fill("key-1");
  await dialog.getByLabel("Base URL").fill(first);
  await dialog.getByLabel(/^Second model/).selectOption("Anthropic");
  await dialog.getByLabel(/^Key of the second model/).fill("key-2");
  await dialog.getByLabel("Name of the second model").fill("claude-haiku-4-5");
  await dialog.getByLabel(/^Address of the second model/).fill(second);
  for (const [label, value] of Object.entries(fields)) await dialog.getByLabel(label).fill(value);
  await dialog.getByRole("button", { name: "Use this model" }).click();
  await dialog.waitFor({ state: "detached" });
}

export const tests = {
  async "the documented module is a model with its own name, and a reload and a recording repeat its answers"({
    page,
    url,
    browser,
  }) {
    await serveScript(page, "my-model.js", await documented());
    const app = await openApp(page, url);
    const dialog = await useModule(page, "./my-model.js");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Model: Echo. Change" }).waitFor();
    await app.askAndWait("good morning");
    await app.transcript.getByText("You said: good morning").waitFor();
    await app.transcript.getByText(/answered by Echo · 7 tokens: 3 in, 4 out/).waitFor();

    await page.route("**/my-model.js", (route) => route.abort());
    await page.reload();
    await app.transcript.getByText("You said: good morning").waitFor();
    await app.transcript.getByText(/answered by Echo/).waitFor();
    await page.getByRole("button", { name: "Model: Echo. Change" }).waitFor();

    const { name, bytes } = await downloaded(page, () => menu(page, "Download a recording"));
    const context = await browser.newContext({ serviceWorkers: "block" });
    try {
      const other = await context.newPage();
      await other.goto(url);
      await other
        .getByLabel("Files to open")
        .first()
        .setInputFiles([{ name, mimeType: "text/plain", buffer: bytes }]);
      await other.getByRole("log", { name: "Conversation" }).getByText("You said: good morning").waitFor();
    } finally {
      await context.close();
    }
  },

  async "a script of the site offers a model by name, which can edit files and be stopped"({ page, url }) {
    await page.addInitScript(() => {
      let calls = 0;
      const call = { type: "tool_call", name: "edit_file" };
      call.arguments = {
        path: "README.md",
        old_string: "# Seed library",
        new_string: "# Seeds",
        file_path: "README.md",
      };
      globalThis.emendModels = [
        {
          name: "House model",
          async *stream({ tools }, { signal }) {
            calls += 1;
            window.toolNames = tools.map((tool) => tool.name);
            if (calls === 1) yield { type: "tool_call", name: "read_file", arguments: { path: "README.md" } };
            else if (calls === 2) yield call;
            else if (calls === 3) yield { type: "text_delta", delta: "Renamed." };
            else {
              yield { type: "text_delta", delta: "Waiting…" };
              await new Promise((done) => signal.addEventListener("abort", done));
              window.wasStopped = true;
            }
            yield { type: "finish" };
          },
        },
        { name: "no stream" },
      ];
    });
    const app = await openApp(page, url);
    const dialog = await openDialog(page);
    assert.equal(await dialog.getByRole("radio", { name: "no stream" }).count(), 0);
    await dialog.getByRole("radio", { name: "House model" }).check();
    await dialog.getByRole("button", { name: "Use this model" }).click();
    await dialog.waitFor({ state: "detached" });
    await app.askAndWait("shorten the title");
    await app.hunks(1);
    await app.transcript.getByText("Renamed.").waitFor();
    await app.ask("once more");
    await app.transcript.getByText("Waiting…").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await app.finished();
    await page.waitForFunction(() => window.wasStopped === true);
  },

  async "a module that is missing, on another site or without a model is refused, and an exception names its cause"({
    page,
    url,
    expectErrors,
  }) {
    expectErrors(/Failed to load|MIME|module script/);
    await serveScript(page, "empty.js", "export const nothing = 1;");
    await serveScript(page, "broken.js", "throw new Error('no weights');");
    await serveScript(
      page,
      "failing.js",
      "export default { name: 'Failing', async *stream() { throw new Error('the graphics card is gone'); } };",
    );
    const app = await openApp(page, url);
    const dialog = await useModule(page, "https://other.example/model.js");
    const alert = dialog.getByRole("alert");
    await alert.getByText(/^The module must be on the site of this page/).waitFor();
    for (const [address, why] of [
      ["./missing.js", /The module has no model: .*(missing\.js|fetch)/],
      ["./empty.js", /The module has no model: the default export of \.\/empty\.js is not a model/],
      ["./broken.js", /The module has no model: no weights/],
    ]) {
      await dialog.getByLabel("Address of the module").fill(address);
      await dialog.getByRole("button", { name: "Use this model" }).click();
      await alert.getByText(why).waitFor();
    }
    await dialog.getByLabel("Address of the module").fill("./failing.js");
    await dialog.getByRole("button", { name: "Check" }).click();
    await dialog.getByText("It works: the model is Failing.").waitFor();
    await dialog.getByRole("button", { name: "Use this model" }).click();
    await dialog.waitFor({ state: "detached" });
    await app.askAndWait("hello");
    const notice = app.transcript.locator(".entry.notice.error");
    await notice.getByText("the graphics card is gone").first().waitFor();
    assert.ok((await notice.locator("p").first().textContent()).includes("the graphics card is gone"));
    await notice.getByRole("button", { name: "Model settings" }).click();
    await page.getByRole("dialog", { name: "Model" }).waitFor();
  },

  async "a second model answers when the first is overloaded, and its name and price are those of the answer"({
    page,
    url,
  }) {
    const first = await startProvider("key-1", [
      { status: 529 },
      "From the first one.",
      { status: 401, message: "invalid x-api-key" },
    ]);
    const second = await startProvider("key-2", [
      { name: "Read", input: { file_path: "README.md" } },
      "From the second one.",
    ]);
    try {
      const app = await openApp(page, url);
      await useTwo(page, first.url, second.url);
      await app.askAndWait("hello");
      await app.transcript.getByText("From the first one.").waitFor();
      await app.transcript
        .getByText(/claude-sonnet-5-5 does not answer: .*claude-haiku-4-5 is asked instead\./)
        .waitFor();
      const end = app.transcript.locator(".entry.end").last();
      await end.getByText(/answered by claude-haiku-4-5 and claude-sonnet-5-5/).waitFor();
      // 10 + 12 tokens of each model, each at its own price.
      const shown = Number(/\$([\d.]+)/.exec(await end.textContent())[1]);
      assert.ok(shown > 0, `${shown}`);
      assert.equal(second.requests.length, 1);
      assert.equal(JSON.parse(second.requests[0].body).model, "claude-haiku-4-5");
      assert.equal(second.requests[0].key, "key-2");

      // A refused key does not lead to another model.
      await app.askAndWait("again");
      await app.transcript.getByText("The provider refused the API key.").waitFor();
      assert.equal(second.requests.length, 1);

      await page.reload();
      await app.transcript.getByText("From the first one.").waitFor();
      await app.transcript.getByText(/claude-haiku-4-5 is asked instead/).waitFor();
      await app.transcript.getByText(/answered by claude-haiku-4-5 and claude-sonnet-5-5/).waitFor();
      const { bytes } = await downloaded(page, () => menu(page, "Download a recording"));
      assert.doesNotMatch(bytes.toString(), /key-[12]/);
      const stored = await page.evaluate(() => JSON.stringify(localStorage));
      assert.doesNotMatch(stored, /key-[12]/);
    } finally {
      await first.close();
      await second.close();
    }
  },

  async "the same model of another server has a name of its own"({ page, url }) {
    const first = await startProvider("key-1", [{ status: 529 }, "From the first one."]);
    const second = await startProvider("key-2", [{ name: "Read", input: { file_path: "README.md" } }]);
    try {
      const app = await openApp(page, url);
      await useTwo(page, first.url, second.url, { "Name of the second model": "claude-sonnet-5-5" });
      await app.askAndWait("hello");
      const text = /claude-sonnet-5-5 does not answer: .*claude-sonnet-5-5 \(second model\) is asked instead\./;
      await app.transcript.getByText(text).waitFor();
      const end = app.transcript.locator(".entry.end").last();
      await end.getByText("answered by claude-sonnet-5-5 (second model) and claude-sonnet-5-5").waitFor();
      assert.match(await end.textContent(), /\$0\.\d+/, "both have a price");
    } finally {
      await first.close();
      await second.close();
    }
  },

  async "axe finds nothing in the fields of a module and of a second model, light and dark"({ page, url }) {
    const source = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    await openApp(page, url);
    const dialog = await openDialog(page);
    await page.evaluate(source);
    for (const choice of ["JavaScript module", /^Anthropic/]) {
      await dialog.getByRole("radio", { name: choice }).check();
      await dialog.getByLabel(/^Second model/).selectOption("Another server");
      await dialog.getByLabel("Name of the second model").waitFor();
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        const { violations } = await page.evaluate(() => globalThis.axe.run("dialog"));
        assert.deepEqual(
          violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`),
          [],
        );
      }
    }
  },

  async "the key of a second model is not used for another address"({ page, url }) {
    const first = await startProvider("key-1");
    const second = await startProvider("key-2");
    try {
      await openApp(page, url);
      await useTwo(page, first.url, second.url);
      const dialog = await openDialog(page);
      await dialog.getByLabel(/^Address of the second model/).fill("https://other.example");
      assert.equal(await dialog.getByLabel(/^Key of the second model/).inputValue(), "");
      await dialog.getByRole("button", { name: "Use this model" }).click();
      await dialog.getByRole("alert").getByText("Second model: Enter your Anthropic API key.").waitFor();
      await dialog.getByLabel(/^Key of the second model/).fill("another");
      await dialog.getByText(/sends this conversation/).waitFor({ state: "detached" });
      await dialog.getByRole("button", { name: "Use this model" }).click();
      await dialog.waitFor({ state: "detached" });
    } finally {
      await first.close();
      await second.close();
    }
  },

  async "a second model answers when the first cannot be reached"({ page, url }) {
    const second = await startProvider("key-2", ["Here I am."]);
    try {
      const app = await openApp(page, url);
      await useTwo(page, "http://127.0.0.1:9", second.url);
      await app.askAndWait("hello");
      await app.transcript.getByText("Here I am.").waitFor();
      await app.transcript
        .locator(".entry.end")
        .getByText(/answered by claude-haiku-4-5 ·/)
        .waitFor();
    } finally {
      await second.close();
    }
  },

  async "a task that reaches its limit of time stops, can be continued, and is the same after a reload"({ page, url }) {
    const provider = await startProvider("key", [{ stalls: "I begin…" }, "Now it is done."]);
    try {
      const app = await openApp(page, url);
      await app.chooseModel({ apiKey: "key", baseUrl: provider.url });
      await menu(page, "Options");
      const dialog = page.getByRole("dialog", { name: "Options" });
      await dialog.getByLabel(/^Limit of a task in minutes/).fill("0.02");
      await dialog.getByRole("button", { name: "Use these options" }).click();
      await dialog.waitFor({ state: "detached" });
      await app.askAndWait("hello");
      await app.transcript.getByText("The task reached your limit of 1 second.").waitFor();
      await app.transcript.getByText(/^Stopped at the limit of the budget/).waitFor();
      await page.reload();
      await app.transcript.getByText("The task reached your limit of 1 second.").waitFor();
      await app.transcript.getByText(/^Stopped at the limit of the budget/).waitFor();
      await app.chooseModel({ apiKey: "key", baseUrl: provider.url });
      await app.transcript.getByRole("button", { name: "Continue" }).click();
      await app.transcript.getByText("Now it is done.").waitFor();
    } finally {
      await provider.close();
    }
  },
};
