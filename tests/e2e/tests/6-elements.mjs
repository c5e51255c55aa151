// `<emend-review>` in a page of its own, without a framework.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { servePackage } from "../browser.mjs";

/** In a page: the element over an agent that has edited three places of two files. */
async function openReview() {
  const { Agent } = await import("emend");
  const { defineReview } = await import("emend/elements");
  const text = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", ""].join("\n");
  const edit = (path, from, to) => ({
    type: "tool_call",
    name: "edit_file",
    arguments: { file_path: path, old_string: from, new_string: to },
  });
  let isDone = false;
  const provider = {
    name: "scripted",
    async *stream() {
      if (isDone) yield { type: "text_delta", delta: "Done." };
      else {
        yield edit("a.txt", "two", "2\n<img src=x onerror=alert(1)>");
        yield edit("a.txt", "eight", "8 \u202e");
        yield edit("b.txt", "five", "5");
      }
      isDone = true;
      yield { type: "finish" };
    },
  };
  const agent = await Agent.create({ files: { "a.txt": text, "b.txt": text }, model: { provider } });
  document.documentElement.style.colorScheme = "light dark";
  const element = document.createElement("emend-review");
  // The property is set before the class exists, as a framework may do.
  element.agent = agent;
  document.body.append(element);
  defineReview();
  defineReview();
  const told = [];
  for (const name of ["emend-decided", "emend-error"]) document.addEventListener(name, (event) => told.push(event));
  globalThis.review = {
    agent,
    element,
    told: () => told.map(({ type, detail }) => [type, detail.decision ?? detail.code, detail.ids?.length ?? 0]),
    focus: () => element.shadowRoot.activeElement?.getAttribute("aria-label"),
  };
  await agent.run("edit").result;
}

async function withReview(page, work) {
  const served = await servePackage();
  try {
    await page.goto(served.url);
    await page.evaluate(openReview);
    const hunks = page.locator("emend-review .hunk");
    const count = (wanted) =>
      page.waitForFunction((n) => globalThis.review.element.shadowRoot.querySelectorAll(".hunk").length === n, wanted);
    await count(3);
    await work({ hunks, count, told: () => page.evaluate(() => globalThis.review.told()) });
  } finally {
    await served.close();
  }
}

export const tests = {
  "elements: the example page runs a task, and its text follows the decisions": async ({ page }) => {
    const served = await servePackage();
    try {
      await page.goto(new URL("examples/page.html", served.url).href);
      const area = page.locator("textarea");
      const text = "The colour of the sky.\nThe colour of the sea.\n";
      await page.waitForFunction((expected) => document.querySelector("textarea").value === expected, text);
      await area.press("Control+End");
      await area.pressSequentially("Mine, with colour.");
      await page.getByRole("button", { name: "Run" }).click();
      await page.getByRole("status").filter({ hasText: "Renamed colour to color" }).waitFor();
      await page.locator("emend-review .reject").first().click();
      await page.locator("emend-review .empty").waitFor();
      assert.equal(await area.inputValue(), `${text}Mine, with colour.`);
    } finally {
      await served.close();
    }
  },
  "elements: the review shows the hunks as text, and its buttons decide": ({ page }) =>
    withReview(page, async ({ hunks, count, told }) => {
      assert.deepEqual(await hunks.evaluateAll((all) => all.map((hunk) => hunk.getAttribute("aria-label"))), [
        "Change 1 of 2 in a.txt",
        "Change 2 of 2 in a.txt",
        "Change 1 of 1 in b.txt",
      ]);
      assert.match(await hunks.first().innerText(), /\+ 2\n.*\+ <img src=x onerror=alert\(1\)>/s);
      assert.match(await hunks.nth(1).innerText(), /\+ 8 ⟨U\+202E⟩/);
      await hunks.first().getByRole("button", { name: "Keep change 1 of 2 in a.txt" }).click();
      await count(2);
      await hunks.last().getByRole("button", { name: "Reject" }).click();
      await count(1);
      assert.deepEqual(await told(), [
        ["emend-decided", "keep", 1],
        ["emend-decided", "reject", 1],
      ]);
      const [a, b] = await page.evaluate(() =>
        Promise.all(["a.txt", "b.txt"].map((path) => globalThis.review.agent.files.readDisk(path))),
      );
      assert.ok(a.startsWith("one\n2\n<img"));
      assert.ok(b.includes("five"));
      await page.evaluate(() => globalThis.review.agent.close());
      await count(0);
      assert.equal(await page.locator("emend-review .empty").innerText(), "No changes to review.");
    }),
  "elements: the review works with keys alone, and the focus stays in it": ({ page }) =>
    withReview(page, async ({ count }) => {
      const focus = () => page.evaluate(() => globalThis.review.focus());
      await page.keyboard.press("Tab");
      assert.equal(await focus(), "Keep all 2 in a.txt");
      await page.evaluate(() => globalThis.review.agent.files.write("c.txt", "more\n"));
      await page.evaluate(async () => {
        const { agent } = globalThis.review;
        const [hunk] = agent.review().files[1].hunks;
        await agent.accept([hunk.id]);
        await agent.undo();
      });
      assert.equal(await focus(), "Keep all 2 in a.txt");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Tab");
      assert.equal(await focus(), "Change 1 of 2 in a.txt");
      await page.keyboard.press("ArrowDown");
      assert.equal(await focus(), "Change 2 of 2 in a.txt");
      await page.keyboard.press("y");
      await count(2);
      assert.equal(await focus(), "Change 1 of 1 in b.txt");
      await page.keyboard.press("ArrowUp");
      await page.keyboard.press("n");
      await count(1);
      assert.equal(await focus(), "Change 1 of 1 in b.txt");
      assert.equal(await page.locator("emend-review [role=status]").textContent(), "Rejected one change.");
    }),
  "elements: a change inside a hunk is not rejected without a word": ({ page }) =>
    withReview(page, async ({ hunks, count, told }) => {
      await page.evaluate(async () => {
        const { files } = globalThis.review.agent;
        const { text } = await files.read("b.txt");
        await files.write("b.txt", text.replace("5\n", "5 and mine\n"));
      });
      await hunks.last().getByRole("button", { name: "Reject", exact: false }).first().click();
      await page.locator("emend-review [role=alert]").waitFor();
      assert.deepEqual((await told()).at(-1).slice(0, 2), ["emend-error", "conflict"]);
      await page.getByRole("button", { name: "Reject it, and leave my lines" }).click();
      await count(2);
      const text = await page.evaluate(() => globalThis.review.agent.files.readDisk("b.txt"));
      assert.ok(text.includes("5 and mine\n"));
    }),
  "elements: the review has no violations of accessibility, in light and dark": ({ page }) =>
    withReview(page, async () => {
      const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
      await page.evaluate(await readFile(axe, "utf8"));
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        const found = await page.evaluate(async () => {
          const { violations } = await globalThis.axe.run(globalThis.review.element);
          return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
        });
        assert.deepEqual(found, []);
      }
    }),
};
