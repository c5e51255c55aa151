// The same task on the same tree in the page and in the terminal must leave identical bytes.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openApp } from "../app.mjs";

const TASK = "rename split_lines to cut_lines";
const SOURCES = fileURLToPath(new URL("../../../crates/emend-edit/src", import.meta.url));

/** A real crate, and error-prone cases: other line endings, no trailing newline, longer names, ignored files. */
async function tree() {
  const files = {
    ".gitignore": "ignored/\n",
    "crlf.txt": "split_lines one\r\nsplit_lines_too two\r\nsplit_lines",
    "ignored/generated.rs": "split_lines\n",
    "names.txt": "my_split_lines split_lines2 (split_lines)\n",
  };
  for (const entry of await readdir(SOURCES, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isFile()) files[`src/${path.slice(SOURCES.length + 1)}`] = await readFile(path, "utf8");
  }
  return files;
}

async function inTerminal(files, cli) {
  const folder = await mkdtemp(join(tmpdir(), "emend-parity-"));
  try {
    const root = join(folder, "project");
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
    const env = { ...process.env, XDG_STATE_HOME: join(folder, "state") };
    await promisify(execFile)(cli, ["run", TASK, "--root", root], { env, maxBuffer: 1 << 26 });
    const after = {};
    for (const path of Object.keys(files)) after[path] = await readFile(join(root, path), "utf8");
    return after;
  } finally {
    await rm(folder, { recursive: true });
  }
}

export const limitMs = 120_000;

export const tests = {
  async "the page and the terminal leave byte-equal trees"({ page, url }) {
    const cli = process.env.EMEND_CLI;
    assert.ok(cli, "EMEND_CLI must name the emend binary");
    const files = await tree();
    const expected = await inTerminal(files, cli);
    const changed = Object.keys(files).filter((path) => expected[path] !== files[path]);
    assert.ok(changed.length >= 5, `the task changes ${changed.length} files, too few to compare anything`);

    const app = await openApp(page, url);
    const saved = await app.openFolder(files);
    await app.ask(TASK);
    // Dozens of edits of a real crate; how long they take depends on what else the machine does.
    await app.finished(60_000);
    await app.showReview();
    await page.getByRole("button", { name: "Accept all", exact: true }).click();
    await page.getByRole("button", { name: /^Save all \d+ changed files/ }).click();
    await page.getByRole("button", { name: /0 changed files: everything is saved/ }).waitFor();
    for (const path of Object.keys(files)) assert.equal(await saved(path), expected[path], path);
  },
};
