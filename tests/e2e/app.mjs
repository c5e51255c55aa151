// The page as tests use it: the actions of a user, and the visible state.
import { startProvider } from "./provider.mjs";

/** Opens the page, opens the sample project from the start view, and waits until the page shows it. */
export async function openApp(page, url) {
  await page.goto(url);
  const app = new App(page);
  await openSample(page);
  await app.row("README.md").waitFor({ state: "attached" });
  await page.locator(".cm-line", { hasText: "# Seed library" }).waitFor();
  return app;
}

/** Opens the sample project from the start view. */
export async function openSample(page) {
  await page.getByRole("button", { name: /^Try the sample/ }).click();
}

/** Returns the name and the bytes of the file that `act` downloads. */
export async function downloaded(page, act) {
  // The time of `act` does not count, and its failure is the one to report.
  const offered = page.waitForEvent("download", { timeout: 0 });
  offered.catch(() => undefined);
  await act();
  const late = new Promise((_, fail) => setTimeout(fail, 15_000, new Error("no download within 15 s")).unref());
  const download = await Promise.race([offered, late]);
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  return { name: download.suggestedFilename(), bytes: Buffer.concat(chunks) };
}

/** Chooses an item of the menu "More". */
export async function menu(page, item) {
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: item }).click();
}

export class App {
  constructor(page) {
    this.page = page;
    this.input = page.getByRole("textbox", { name: "Message to the assistant" });
    this.editor = page.locator(".cm-content");
    this.bars = page.locator(".editor-view .hunk-bar");
    this.cards = page.locator(".hunk-card");
    this.lease = page.locator(".lease-note:not([hidden])");
    // Unlike the note above, the record stays in the conversation after the lease.
    this.leaseRecord = page.locator(".entry.lease");
    this.toast = page.locator(".toast");
    this.transcript = page.getByRole("log", { name: "Conversation" });
  }

  row(path) {
    return this.page.locator(`.tree-row[data-path="${path}"]`);
  }

  /** Sends a message without waiting for the end of the run. */
  async ask(text) {
    await this.input.fill(text);
    await this.input.press("Enter");
    await this.transcript.locator(".entry.user").last().filter({ hasText: text }).waitFor();
  }

  /** Waits until the assistant has finished with the latest message. */
  async finished(timeout) {
    await this.page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached", timeout });
    await this.transcript.locator(".entry.user ~ .entry.end").last().waitFor();
  }

  /** Reloads the page without the browser's question, and waits for the project. */
  async reload() {
    const accept = (dialog) => void dialog.accept();
    this.page.on("dialog", accept);
    await this.page.reload();
    await this.page.locator(".tree-row").first().waitFor();
    await this.editor.waitFor();
    this.page.off("dialog", accept);
  }

  async askAndWait(text) {
    await this.ask(text);
    await this.finished();
  }

  async openFile(path) {
    await this.row(path).click();
    await this.page.locator(".tree-row.selected").and(this.row(path)).waitFor();
    // The row is selected before the editor has the file's text. A file that is not text has a note instead.
    const shown = this.page.locator(`.cm-content[aria-label="Text of ${path}"], .canvas > .empty`);
    await shown.first().waitFor({ state: "attached" });
  }

  /** Waits until the open file has `count` hunks. */
  async hunks(count) {
    await this.page.waitForFunction(
      (wanted) => document.querySelectorAll(".editor-view .hunk-bar").length === wanted,
      count,
    );
  }

  /** Returns the text in the editor without removed lines. Correct only for files that fit the window. */
  async text() {
    return (await this.editor.locator(".cm-line").allTextContents()).join("\n");
  }

  /** Returns the names of the called tools, in order. */
  async toolCalls() {
    return this.transcript.locator(".entry.call .tool-name").allTextContents();
  }

  /** Returns the page's text about pending changes. */
  changes() {
    return this.page.locator(".review-button").textContent();
  }

  async says(text) {
    await this.toast.filter({ hasText: text }).waitFor();
  }

  async showReview() {
    await this.page.getByRole("tab", { name: /Review changes/ }).click();
  }

  /** Chooses a model in its dialog: the offline model, or one of `provider` if a key or an address is given. */
  async chooseModel(fields) {
    await this.page.getByRole("button", { name: /^Model:/ }).click();
    const dialog = this.page.getByRole("dialog", { name: "Model" });
    const isOffline = fields.apiKey === undefined && fields.baseUrl === undefined;
    await dialog.getByRole("radio", { name: isOffline ? /Offline model/ : (fields.provider ?? /Anthropic/) }).check();
    if (fields.pace !== undefined) await dialog.getByLabel("Pace").selectOption(fields.pace);
    if (fields.apiKey !== undefined) await dialog.getByLabel(/^API key/).fill(fields.apiKey);
    if (fields.model !== undefined) await dialog.getByLabel("Model", { exact: true }).fill(fields.model);
    if (fields.baseUrl !== undefined) await dialog.getByLabel("Base URL").fill(fields.baseUrl);
    if (fields.remember) await dialog.getByLabel(/Remember/).check();
    await dialog.getByRole("button", { name: "Use this model" }).click();
    await dialog.waitFor({ state: "detached" });
  }

  /** Opens `files` as a writable folder. Returns a function that reads saved files. */
  async openFolder(files) {
    await this.page.evaluate(async (contents) => {
      const root = await navigator.storage.getDirectory();
      const folder = await root.getDirectoryHandle("project", { create: true });
      for (const [path, text] of Object.entries(contents)) {
        const names = path.split("/");
        let parent = folder;
        for (const name of names.slice(0, -1)) parent = await parent.getDirectoryHandle(name, { create: true });
        const handle = await parent.getFileHandle(names.at(-1), { create: true });
        const stream = await handle.createWritable();
        await stream.write(text);
        await stream.close();
      }
      // The browser's dialog cannot be driven. It would return the same kind of handle.
      window.showDirectoryPicker = async () => folder;
    }, files);
    await this.page.getByRole("button", { name: "Open folder" }).click();
    await this.page.locator(".project-name", { hasText: "project" }).waitFor();
    await this.row(Object.keys(files)[0]).waitFor();
    return (path) => this.readSaved(path);
  }

  readSaved(path) {
    return this.page.evaluate(async (wanted) => {
      let folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("project");
      const names = wanted.split("/");
      for (const name of names.slice(0, -1)) folder = await folder.getDirectoryHandle(name);
      return (await (await folder.getFileHandle(names.at(-1))).getFile()).text();
    }, path);
  }
}

/** Opens the page with a provider that gives `replies` in turn. */
export async function withProvider(page, url, replies, work) {
  const provider = await startProvider("right", replies);
  try {
    const app = await openApp(page, url);
    await app.chooseModel({ apiKey: "right", baseUrl: provider.url });
    await work(app, provider);
  } finally {
    await provider.close();
  }
}
