// `<emend-agent>` in a page of its own, without a framework.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { servePackage } from "../browser.mjs";

/** In a page: the element over an agent whose model gives `answers`, one for each request. */
async function openAgent(answers) {
  const { Agent, memoryStore } = await import("emend");
  const { defineAgent } = await import("emend/elements");
  const left = [...answers];
  const provider = {
    name: "scripted",
    async *stream(_request, { signal }) {
      for (const part of left.shift() ?? []) {
        if (part.type === "wait") {
          await new Promise((done) => signal.addEventListener("abort", done));
          throw signal.reason;
        }
        if (part.type === "pause") await globalThis.paused;
        else yield part;
      }
      yield { type: "finish" };
    },
  };
  globalThis.paused = new Promise((done) => {
    globalThis.goOn = done;
  });
  document.documentElement.style.colorScheme = "light dark";
  defineAgent();
  const element = document.createElement("emend-agent");
  const files = { "a.txt": "one\ntwo\n" };
  const options = { files, model: { provider }, questions: true, store: memoryStore() };
  const agent = await Agent.create({ ...options, approve: element.approve });
  element.agent = agent;
  document.body.append(element);
  globalThis.panel = { agent, element };
}

const text = (delta) => ({ type: "text_delta", delta });
const call = (name, given) => ({ type: "tool_call", name, arguments: given });
const EDIT = call("edit_file", {
  file_path: "a.txt",
  old_string: "two",
  new_string: "2\n<img src=x onerror=alert(1)>",
});

async function withAgent(page, answers, work) {
  const served = await servePackage();
  try {
    await page.goto(served.url);
    await page.evaluate(openAgent, answers);
    const rows = page.locator("emend-agent .row");
    const box = page.getByRole("textbox", { name: "Message" });
    const row = (words) => rows.filter({ hasText: words }).first().waitFor();
    await work({ rows, row, box, cards: page.locator("emend-agent .card") });
  } finally {
    await served.close();
  }
}

/** Returns the texts of rows, and of a tool call its summary. */
function textsOf(rows) {
  return rows.evaluateAll((all) => all.map((row) => (row.querySelector("summary") ?? row).textContent));
}

export const tests = {
  "agent element: a task is sent, its call is allowed, and the conversation shows both as text": ({ page }) =>
    withAgent(page, [[text("I edit it. <b>"), EDIT], [text("Done.")]], async ({ rows, row, box, cards }) => {
      await box.fill("edit the file");
      await box.press("Enter");
      assert.equal(await box.inputValue(), "");
      await cards.first().waitFor();
      assert.equal(await cards.first().getAttribute("aria-label"), "The agent wants to call edit_file.");
      assert.match(await cards.first().innerText(), /<img src=x onerror=alert\(1\)>/);
      assert.equal(await page.evaluate(() => globalThis.panel.agent.review().files.length), 0);
      await page.getByRole("button", { name: "Allow: edit_file", exact: true }).click();
      await row("Done.");
      assert.equal(await cards.count(), 0);
      assert.deepEqual(await textsOf(rows), [
        "You: edit the file",
        "Agent: I edit it. <b>",
        "edit_file a.txt",
        "Agent: Done.",
      ]);
      assert.equal(await page.evaluate(() => globalThis.panel.agent.review().files.length), 1);
      const tool = page.locator("emend-agent details");
      await tool.locator("summary").click();
      assert.match(await tool.locator("pre").innerText(), /a\.txt/);
    }),
  "agent element: a denied call is shown as failed, and the focus goes to the message box": ({ page }) =>
    withAgent(page, [[EDIT], [text("Then not.")]], async ({ row, box, cards }) => {
      await box.fill("edit the file");
      await page.getByRole("button", { name: "Send" }).click();
      await cards.first().waitFor();
      await page.getByRole("button", { name: "Deny: edit_file" }).focus();
      await page.keyboard.press("Enter");
      await row("Then not.");
      await row("edit_file a.txt – failed");
      assert.equal(await page.evaluate(() => globalThis.panel.element.shadowRoot.activeElement.localName), "textarea");
      assert.equal(await page.evaluate(() => globalThis.panel.agent.review().files.length), 0);
    }),
  "agent element: Stop ends the run, its question and no draft": ({ page }) =>
    withAgent(page, [[EDIT], [text("I think"), { type: "wait" }], [text("Again.")]], async ({ row, box, cards }) => {
      const stop = page.getByRole("button", { name: "Stop" });
      assert.equal(await stop.isVisible(), false);
      for (const wait of [() => cards.first().waitFor(), () => row("I think")]) {
        await box.fill("edit the file");
        await box.press("Enter");
        await wait();
        await box.fill("a draft");
        await stop.click();
        await stop.waitFor({ state: "hidden" });
        assert.equal(await box.inputValue(), "a draft");
        assert.equal(await cards.count(), 0);
      }
      await box.press("Enter");
      await row("Again.");
      await row("You: a draft");
    }),
  "agent element: a message during a run waits in sight, and one that came too late returns to the box": ({ page }) =>
    withAgent(
      page,
      [[text("First"), { type: "pause" }, EDIT], [text("Second.")], [text("I think"), { type: "wait" }]],
      async ({ rows, row, box, cards }) => {
        await box.fill("begin");
        await box.press("Enter");
        await row("First");
        await box.fill("and this");
        await box.press("Enter");
        await row("Waiting for the agent: and this");
        await page.evaluate(() => globalThis.goOn());
        await cards.first().waitFor();
        await page.getByRole("button", { name: "Always allow" }).click();
        await row("Second.");
        await row("You: and this");
        assert.equal(await rows.filter({ hasText: "Waiting for" }).count(), 0);
        await box.fill("next");
        await box.press("Enter");
        await row("I think");
        await box.fill("too late");
        await box.press("Enter");
        await page.getByRole("button", { name: "Stop" }).click();
        await page.waitForFunction(
          () => globalThis.panel.element.shadowRoot.querySelector("textarea").value === "too late",
        );
        assert.equal(await rows.filter({ hasText: "Waiting for" }).count(), 0);
      },
    ),
  "agent element: a message goes on after the element was moved": ({ page }) =>
    withAgent(page, [[text("Half of"), { type: "pause" }, text(" it.")]], async ({ rows, row, box }) => {
      await box.fill("begin");
      await box.press("Enter");
      await row("Half of");
      await page.evaluate(() => document.body.append(globalThis.panel.element));
      await page.evaluate(() => globalThis.goOn());
      await row("Half of it.");
      assert.deepEqual(await rows.allTextContents(), ["You: begin", "Agent: Half of it."]);
    }),
  "agent element: the buttons of a long call are in sight": ({ page }) =>
    withAgent(
      page,
      [[call("write_file", { file_path: "b.txt", content: "line\n".repeat(60) })], [text("Done.")]],
      async ({ row, box, cards }) => {
        await page.evaluate(() => {
          globalThis.panel.element.style.height = "420px";
        });
        await box.fill("write");
        await box.press("Enter");
        await cards.first().waitFor();
        const area = await page.locator("emend-agent .cards").boundingBox();
        for (const name of ["Allow", "Deny"]) {
          const button = await page.getByRole("button", { name: `${name}: write_file`, exact: true }).boundingBox();
          assert.ok(button.y >= area.y && button.y + button.height <= area.y + area.height, name);
        }
        await page.getByRole("button", { name: "Allow: write_file", exact: true }).click();
        await row("Done.");
      },
    ),
  "agent element: a question of the model is answered with a button": ({ page }) =>
    withAgent(
      page,
      [[call("clarify_user", { question: "Which one?", options: ["This", "That"] })], [text("That it is.")]],
      async ({ row, box, cards }) => {
        await box.fill("edit something");
        await box.press("Enter");
        await page.getByRole("group", { name: "Which one?" }).getByRole("button", { name: "That" }).click();
        await row("That it is.");
        await row("You: That");
        assert.equal(await cards.count(), 0);
      },
    ),
  "agent element: the history, another session and a closed agent are shown": ({ page }) =>
    withAgent(page, [[text("First answer.")], [text("Other answer.")]], async ({ rows, row, box }) => {
      await page.evaluate(async () => {
        const { agent, element } = globalThis.panel;
        element.remove();
        await agent.run("first task").result;
        document.body.append(element);
      });
      await row("First answer.");
      assert.deepEqual(await textsOf(rows), ["You: first task", "Agent: First answer."]);
      await page.evaluate(() => globalThis.panel.agent.newSession());
      await page.waitForFunction(() => globalThis.panel.element.shadowRoot.querySelectorAll(".row").length === 0);
      await page.evaluate(() => void globalThis.panel.agent.run("other task").result);
      await row("Other answer.");
      await page.evaluate(() => globalThis.panel.agent.close());
      await box.fill("more");
      await box.press("Enter");
      await page.waitForFunction(() => /closed/.test(globalThis.panel.element.shadowRoot.textContent));
      assert.equal(await box.inputValue(), "more");
    }),
  "agent element: no violations of accessibility, in light and dark": ({ page }) =>
    withAgent(page, [[text("I edit it."), EDIT], [text("Done.")]], async ({ box, cards }) => {
      const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
      await page.evaluate(await readFile(axe, "utf8"));
      await box.fill("edit the file");
      await box.press("Enter");
      await cards.first().waitFor();
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        const found = await page.evaluate(async () => {
          const { violations } = await globalThis.axe.run(globalThis.panel.element);
          return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
        });
        assert.deepEqual(found, []);
      }
    }),
};
