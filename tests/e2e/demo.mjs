// Shows the app at work on a real folder: node demo.mjs URL FOLDER [SCREENSHOTS] [IDENTIFIER]
//
// Opens FOLDER in the page, makes the offline model rename an identifier, prints the events, accepts one hunk and rejects
// another, saves, and prints the difference to the folder. The folder itself does not change. Fails if any step has an
// unexpected result.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import { App } from "./app.mjs";
import { launch } from "./browser.mjs";

/** Names of at least two words, such as TwoWords. */
const TYPE_NAME = /^[A-Z][a-z]+[A-Z]\w{4,}$/;

const [url, folderArgument, screenshots = "target/demo", wanted] = process.argv.slice(2);
if (url === undefined || folderArgument === undefined) {
  console.error("usage: node demo.mjs URL FOLDER [SCREENSHOTS] [IDENTIFIER]");
  process.exit(2);
}
const folder = resolve(folderArgument);
await mkdir(screenshots, { recursive: true });
const { name, count, paths } = await identifier(folder, wanted);
const newName = /^[A-Z]/.test(name) ? `Renamed${name}` : `${name}_renamed`;
console.log(`${name} occurs ${count} times in ${paths.length} files of ${basename(folder)}; it shall be ${newName}`);

const browser = await launch();
try {
  await show(await browser.newPage({ viewport: { width: 1280, height: 800 } }));
} finally {
  await browser.close();
}

async function show(page) {
  const shot = (step) => page.screenshot({ path: join(screenshots, `${step}.png`) });
  const app = new App(page);
  await page.goto(url);
  await page.getByRole("button", { name: /^Try the sample/ }).waitFor();
  await shot("welcome");
  await page.getByLabel("Folder to open").setInputFiles(folder);
  await page.locator(".project-name", { hasText: basename(folder) }).waitFor({ timeout: 60_000 });
  await page.locator(".tree-row.file").first().waitFor();
  console.log(`opened ${basename(folder)}: ${await page.locator(".files-pane .pane-head .faint").textContent()} files`);
  await shot("start");

  await printEvents(page);
  await unfoldTo(app, paths[0]);
  await app.openFile(paths[0]);
  await app.ask(`rename ${name} to ${newName}`);
  await app.transcript.locator(".entry.call").first().waitFor({ timeout: 60_000 });
  await shot("running");
  await app.finished(120_000);
  // Asserts the record: the lease itself may end before a script can observe it.
  assert.equal(await app.leaseRecord.getAttribute("data-state"), "released", "the lease on the open file");

  await app.showReview();
  const before = Number(await page.locator("#tab-review .count").textContent());
  assert.ok(before >= 2, `${before} hunks to review`);
  await shot("review");
  const [accepted, rejected] = await app.cards.evaluateAll((cards) => cards.map((card) => card.dataset.path));
  console.log(`${before} hunks to review; accepting the first, in ${accepted}, rejecting the next, in ${rejected}`);
  // The list draws only the cards near the visible area, so their number says nothing.
  const decideFirst = async (label, left) => {
    const id = await app.cards.first().getAttribute("data-hunk");
    await app.cards.first().getByRole("button", { name: label }).click();
    await page.locator(`.hunk-card[data-hunk="${id}"]`).waitFor({ state: "detached" });
    await page.locator("#tab-review .count", { hasText: new RegExp(`^${left}$`) }).waitFor();
  };
  await decideFirst(/^Accept/, before - 1);
  await decideFirst(/^Reject/, before - 2);

  const downloading = page.waitForEvent("download");
  await page.getByRole("button", { name: /^(Save all|Download) 1 changed file/ }).click();
  const saved = await (await downloading).path();
  await page.locator(".hunk-card .hunk-label").first().click();
  await page.locator(".editor-view").waitFor();
  await shot("after");

  const labels = ["--label", `a/${accepted}`, "--label", `b/${accepted}`];
  const difference = spawnSync("diff", ["-u", ...labels, join(folder, accepted), saved], { encoding: "utf8" });
  console.log(`\nwhat is saved:\n\n${difference.stdout}`);
  const changed = difference.stdout.split("\n").filter((line) => /^[-+](?![-+]{2} )/.test(line));
  assert.ok(changed.length >= 2, "nothing was saved");
  assert.ok(
    changed.filter((line) => line.startsWith("+")).every((line) => line.includes(newName)),
    "something else was saved",
  );
  console.log(`${before - 2} hunks still wait for a decision and are not saved`);
}

/** Unfolds the parent folders of `path` in the tree, by clicks. */
async function unfoldTo(app, path) {
  const names = path.split("/").slice(0, -1);
  for (let depth = 1; depth <= names.length; depth++) {
    const folder = app.row(names.slice(0, depth).join("/"));
    // A folder whose only content is a folder shares its row.
    if ((await folder.count()) === 1 && (await folder.getAttribute("aria-expanded")) === "false") await folder.click();
  }
}

/** Prints every tool call, text and lease as the page shows it. */
async function printEvents(page) {
  await page.exposeFunction("printLine", (line) => console.log(line));
  await page.evaluate(() => {
    const printed = new Map();
    const print = (key, line) => {
      if (printed.get(key) === line) return;
      printed.set(key, line);
      window.printLine(line);
    };
    const text = (node, selector) => node.querySelector(selector)?.textContent.trim() ?? "";
    const look = () => {
      document.querySelectorAll(".entry").forEach((entry, index) => {
        if (entry.matches(".user")) print(index, `you: ${entry.textContent.replace("You: ", "")}`);
        if (entry.matches(".assistant:not(.streaming)")) print(index, `assistant: ${text(entry, ".markdown")}`);
        if (entry.matches(".call:not(.running)")) {
          const status = entry.matches(".ok") ? "ok" : "failed";
          print(
            index,
            `→ ${text(entry, ".tool-name")} ${text(entry, ".tool-target")}  ${status} ${text(entry, ".tool-time")}`,
          );
        }
        if (entry.matches(".lease, .notice, .end")) print(index, entry.textContent.trim());
      });
      print("changes", `to review: ${text(document, ".review-button span:last-of-type") || "nothing"}`);
    };
    new MutationObserver(look).observe(document.body, {
      subtree: true,
      childList: true,
      attributes: true,
      characterData: true,
    });
    look();
  });
}

/** Returns the identifier to rename: the requested one, or one that occurs 3 to 20 times in a few files. */
async function identifier(root, asked) {
  const counts = new Map();
  for (const path of await textFiles(root)) {
    const text = await readFile(path, "utf8");
    for (const [word] of text.matchAll(/\b[A-Za-z_]\w{2,}\b/g)) {
      const entry = counts.get(word) ?? { count: 0, files: new Set() };
      entry.count += 1;
      entry.files.add(relative(root, path));
      counts.set(word, entry);
    }
  }
  const found = [...counts].map(([word, entry]) => ({ name: word, count: entry.count, paths: [...entry.files] }));
  const chosen =
    asked === undefined
      ? found
          .filter(
            ({ name: word, count: n, paths: places }) =>
              n >= 3 && n <= 20 && places.length >= 2 && TYPE_NAME.test(word),
          )
          .sort((a, b) => b.paths.length - a.paths.length || b.count - a.count || (a.name < b.name ? -1 : 1))
          .find((each) => each.paths.length <= 5)
      : found.find((each) => each.name === asked);
  assert.ok(chosen, asked === undefined ? "no identifier occurs 3 to 20 times" : `${asked} does not occur`);
  return chosen;
}

async function textFiles(root) {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && /\.(rs|toml|md|ts|tsx|js|mjs|json|py|txt)$/.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .filter((path) => !/(^|\/)(target|node_modules|\.git)\//.test(relative(root, path)))
    .sort();
}
