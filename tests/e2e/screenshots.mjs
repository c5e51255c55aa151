// Takes the pictures in docs/screenshots: each state of the page, light and dark, wide and on a phone.
//
// `node screenshots.mjs [WORD]` takes those whose name contains WORD. The page must have been built. Those on a server need
// `EMEND_CLI`, the program `emend`. With `PNG=DIRECTORY` the pictures are also kept as PNG. Look at each picture after a
// change: a test cannot tell whether a page is good.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { App, openApp } from "./app.mjs";
import { launch, serve } from "./browser.mjs";
import { heldReply, startProvider } from "./provider.mjs";
import { call, jobIs, joinServer, withServer } from "./service.mjs";

const OUT = fileURLToPath(new URL("../../docs/screenshots", import.meta.url));
const RENAME = "rename loanDays to seasonDays";

const SIZES = {
  wide: { width: 1280, height: 800 },
  tablet: { width: 768, height: 1024 },
  phone: { width: 390, height: 844 },
};

/** The states, as functions that lead a new page there. `pane` is the pane that a phone shows. */
const STATES = {
  async start({ page, url }) {
    await page.goto(url);
    await page.getByRole("button", { name: /^Try the sample/ }).waitFor();
  },
  async project({ page, url }) {
    await openApp(page, url);
  },
  async working({ page, url, show }) {
    const app = await openApp(page, url);
    await show("Chat");
    await app.chooseModel({ pace: "slow" });
    await app.ask(RENAME);
    await app.transcript.locator(".entry.call").nth(1).waitFor();
    await app.input.fill("add a table of contents to README.md");
    await page.getByRole("button", { name: "Queue", exact: true }).click();
    await show("Text");
  },
  async changes({ page, url, show }) {
    const app = await reviewed(page, url, show);
    await show("Text");
    await app.hunks(1);
  },
  async review({ page, url, show }) {
    const app = await reviewed(page, url, show);
    if (!(await show("Review"))) await app.showReview();
    await app.cards.first().focus();
  },
  async "side-by-side"({ page, url, show, size }) {
    if (size !== "wide") return false;
    await page.setViewportSize({ width: 1600, height: 900 });
    const app = await reviewed(page, url, show);
    await app.showReview();
    await page.getByRole("button", { name: "Side by side" }).click();
    await page.locator(".side-row").first().waitFor();
  },
  async comment({ page, url, show }) {
    const app = await reviewed(page, url, show);
    if (!(await show("Review"))) await app.showReview();
    await app.cards.first().focus();
    await page.keyboard.press("c");
    await page.keyboard.type("Say it in weeks, please.");
    await page.keyboard.press("Control+Enter");
    await app.cards.nth(1).focus();
    await page.keyboard.press("c");
    await page.keyboard.type("And here");
  },
  async split({ page, url, show }) {
    const app = await openApp(page, url);
    await show("Chat");
    await app.chooseModel({ pace: "instant" });
    await app.askAndWait("add a table of contents to README.md");
    if (!(await show("Review"))) await app.showReview();
    await app.cards.first().focus();
    await page.keyboard.press("s");
    await page.locator(".splitting").waitFor();
    await page.keyboard.press("ArrowDown");
  },
  async pictures({ page, url, show }) {
    const provider = await startProvider("sk-demo", ["The **table of files** is cut off at the bottom of the pane."]);
    const app = await openApp(page, url);
    const buffer = await page.screenshot();
    await show("Chat");
    await app.chooseModel({ apiKey: "sk-demo", baseUrl: provider.url });
    const add = async (name) => {
      const [chooser] = await Promise.all([
        page.waitForEvent("filechooser"),
        page.getByRole("button", { name: "Add pictures" }).click(),
      ]);
      await chooser.setFiles([{ name, mimeType: "image/png", buffer }]);
      await page.locator(".with-picture").first().waitFor();
    };
    await add("before.png");
    await app.askAndWait("What is wrong with this page?");
    await add("Screenshot of the page after the change.png");
    await app.input.fill("Is it better now?");
    await provider.close();
  },
  async edited({ page, url, show }) {
    const app = await reviewed(page, url, show);
    await show("Text");
    await page.locator(".cm-line", { hasText: "seasonDays" }).click();
    await page.keyboard.press("End");
    await page.keyboard.type(" Ask for more.");
    if (!(await show("Review"))) await app.showReview();
    await page.locator(".hunk-card", { hasText: "you edited this" }).waitFor();
    await page.getByRole("button", { name: "Reject file README.md" }).click();
    await page.getByRole("dialog", { name: "You edited inside this change" }).waitFor();
  },
  async accepted({ page, url, show }) {
    const app = await reviewed(page, url, show);
    if (!(await show("Review"))) await app.showReview();
    await page.getByRole("button", { name: "Accept all", exact: true }).click();
    await page.getByText("Nothing to review.").waitFor();
  },
  async checkpoints({ page, url, show }) {
    const app = await reviewed(page, url, show);
    await app.askAndWait('replace "packets" with "bags"');
    await menu(page, "Checkpoints…");
    await page.locator(".diff-view").waitFor();
  },
  async "three-way"({ page, url, show }) {
    const app = await reviewed(page, url, show);
    await show("Text");
    await app.editor.locator(".cm-line", { hasText: "seasonDays" }).first().click();
    await page.keyboard.press("End");
    await page.keyboard.insertText(" Ask at the desk.");
    await page.waitForTimeout(700);
    await menu(page, "Checkpoints…");
    await page.locator(".diff-view").waitFor();
    await page.getByLabel("Compare").selectOption("Before · by the assistant · now");
    await page.locator(".three-way").waitFor();
  },
  async versions({ page, url, show }) {
    const app = await reviewed(page, url, show);
    await app.askAndWait('replace "packets" with "bags"');
    await show("Text");
    await page.getByRole("button", { name: "Earlier versions" }).click();
    await page.locator(".version").first().waitFor();
  },
  async "go-back"({ page, url, show }) {
    const app = await reviewed(page, url, show);
    await app.transcript.locator(".entry.user").hover();
    await page.getByRole("button", { name: /^Edit and send again/ }).click();
    await page.getByText(/These files change/).waitFor();
  },
  async approval({ page, url, show }) {
    await page.addInitScript(() => localStorage.setItem("emend.options", JSON.stringify({ shell: true })));
    const replies = [{ name: "Bash", input: { command: "grep -rn 'packets' docs | sort | head -20" } }];
    return withProvider(page, url, show, replies, async (app) => {
      await app.ask("Which documents name packets?");
      await page.getByRole("group", { name: /^The assistant wants to use/ }).waitFor();
    });
  },
  async question({ page, url, show }) {
    const input = { question: "For **whom** is the handbook?", options: ["Volunteers", "Members", "Both"] };
    return withProvider(page, url, show, [{ name: "AskUserQuestion", input }], async (app) => {
      await app.askAndWait("Rewrite the handbook");
    });
  },
  async answer({ page, url, show }) {
    const text =
      "The loan begins when a member takes **packets** from the shelf:\n\n1. `borrow()` checks the number of open loans.\n2. It lowers the count.\n\n| file | part |\n| --- | --- |\n| `src/loans.ts` | lending |\n| `src/catalog.ts` | the shelf |\n\n```ts\nexport const loanDays = 180;\n```\n\n> Three loans at most.";
    return withProvider(
      page,
      url,
      show,
      [{ name: "Read", input: { file_path: "src/loans.ts" } }, text],
      async (app) => {
        await app.askAndWait("Explain how a loan is made");
      },
    );
  },
  async problem({ page, url, show }) {
    const app = await openApp(page, url);
    await show("Chat");
    const provider = await startProvider("right", []);
    await app.chooseModel({ apiKey: "wrong", baseUrl: provider.url });
    await app.askAndWait("Hello");
    await provider.close();
  },
  async model({ page, url, show }) {
    await openApp(page, url);
    await show("Chat");
    await page.getByRole("button", { name: /^Model:/ }).click();
    await page.getByRole("radio", { name: /^Another server/ }).check();
  },
  async options({ page, url, show }) {
    await openApp(page, url);
    await show("Chat");
    await menu(page, "Options…");
  },
  async events({ page, url, show }) {
    await reviewed(page, url, show);
    await menu(page, "Events…");
  },
  async menu({ page, url, show }) {
    await reviewed(page, url, show);
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem").first().waitFor();
  },
  async preview({ page, url, show }) {
    await reviewed(page, url, show);
    await show("Text");
    await page.getByRole("button", { name: "Preview" }).click();
  },
  async keys({ page, url, show }) {
    await openApp(page, url);
    await show("Chat");
    await menu(page, "Keyboard shortcuts");
  },
};

/** The states of a page on a server, which need the program `emend` (`EMEND_CLI`). */
if (process.env.EMEND_CLI !== undefined) {
  Object.assign(STATES, {
    async "server-chat"(state) {
      return onServer(state, async (app) => {
        await state.show("Chat");
        await app.transcript.locator(".entry.user").first().waitFor();
      });
    },
    async "server-conversations"(state) {
      return onServer(state, async (_, server) => {
        for (const title of ["Prepare the release", "Answer the questions of the translators about chapter 3"]) {
          await call(server.url, "POST", "/api/agent/sessions", { title });
        }
        await state.show("Chat");
        await state.page.getByRole("button", { name: "New conversation" }).first().click();
        await state.page.getByRole("alert").waitFor();
      });
    },
    async "server-options"(state) {
      return onServer(state, async () => {
        await state.show("Chat");
        await menu(state.page, "Options…");
        await state.page.getByText("Used so far").waitFor();
      });
    },
  });
}

/** Joins a server, whose first session has done a task, and leads the page on. Returns the function that ends the server. */
async function onServer({ page, url }, lead) {
  let end;
  const ended = new Promise((done) => {
    end = done;
  });
  await new Promise((resolve, reject) => {
    withServer({ origin: new URL(url).origin, env: { EMEND_MAX_SESSIONS: "3" } }, async (server) => {
      const body = {
        title: "Spelling",
        budget: { tokens: 200_000, cost_usd: 5 },
        job_budget: { duration_ms: 600_000 },
      };
      const { session_id } = await call(server.url, "POST", "/api/agent/sessions", body);
      const instruction = "rename colour to color in notes.md";
      const { job_id } = await call(server.url, "POST", "/api/agent/run", { session_id, instruction });
      await jobIs(server.url, job_id, "awaiting_review");
      const app = await joinServer(page, url, server.url);
      await page.locator(".entry.user").first().waitFor({ state: "attached" });
      await lead(app, server);
      resolve();
      await ended;
    }).catch(reject);
  });
  return end;
}

async function menu(page, item) {
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: item }).click();
}

/** Opens the sample and lets the offline model rename something. */
async function reviewed(page, url, show) {
  const app = await openApp(page, url);
  await show("Chat");
  await app.chooseModel({ pace: "instant" });
  await app.askAndWait(RENAME);
  return app;
}

async function withProvider(page, url, show, replies, work) {
  // The provider answers no more after the picture's state.
  const provider = await startProvider("sk-test", [...replies, heldReply("").promise]);
  const app = await openApp(page, url);
  await show("Chat");
  await app.chooseModel({ apiKey: "sk-test", model: "claude-sonnet-5-5", baseUrl: provider.url });
  await work(app);
  return () => provider.close();
}

/** Converts a PNG into WebP, which is a quarter of its size. */
async function webp(context, picture) {
  const page = await context.newPage();
  const url = await page.evaluate(async (base64) => {
    const blob = await (await fetch(`data:image/png;base64,${base64}`)).blob();
    const image = await createImageBitmap(blob);
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", 0.82);
  }, picture.toString("base64"));
  return Buffer.from(url.slice(url.indexOf(",") + 1), "base64");
}

await mkdir(OUT, { recursive: true });
if (process.env.PNG !== undefined) await mkdir(process.env.PNG, { recursive: true });
const served = await serve(fileURLToPath(new URL("../../web/dist", import.meta.url)));
const browser = await launch();
let failed = 0;
for (const [name, lead] of Object.entries(STATES)) {
  for (const size of Object.keys(SIZES)) {
    for (const theme of size === "tablet" ? ["light"] : ["light", "dark"]) {
      const title = `${name}-${size}-${theme}`;
      if (!title.includes(process.argv[2] ?? "")) continue;
      const options = { viewport: SIZES[size], colorScheme: theme, reducedMotion: "reduce", serviceWorkers: "block" };
      const context = await browser.newContext({ ...options, locale: "en-GB", timezoneId: "UTC" });
      context.setDefaultTimeout(20_000);
      const page = await context.newPage();
      const show = async (pane) => {
        if (size === "phone")
          await page.getByRole("navigation", { name: "Panes" }).getByRole("button", { name: pane }).click();
        return size === "phone";
      };
      try {
        const end = await lead({ page, url: served.url, show, size, app: new App(page) });
        if (end === false) continue;
        // Messages of the page go away by themselves.
        await page
          .locator(".toast")
          .getByRole("button", { name: "Dismiss" })
          .click({ timeout: 300 })
          .catch(() => {});
        await page.waitForTimeout(250);
        const picture = await page.screenshot();
        if (process.env.PNG !== undefined) await writeFile(join(process.env.PNG, `${title}.png`), picture);
        await writeFile(join(OUT, `${title}.webp`), await webp(context, picture));
        if (typeof end === "function") await end();
        console.log(title);
      } catch (error) {
        failed += 1;
        console.log(`not taken: ${title}\n${error.message.split("\n").slice(0, 3).join("\n")}`);
      } finally {
        await context.close();
      }
    }
  }
}
await browser.close();
await served.close();
process.exitCode = failed === 0 ? 0 : 1;
