// The reference: every link of the declarations leads somewhere, and every type that is used is exported.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { installed, SUITE } from "../consumer.mjs";

const OUT = join(SUITE, "../../target/reference");

export const tests = {
  async "typedoc makes the reference without a warning"() {
    await rm(OUT, { recursive: true, force: true });
    const build = join(SUITE, "../reference/build.mjs");
    const made = await promisify(execFile)(process.execPath, [build, installed("."), OUT]).catch((error) => error);
    assert.equal(made.code, undefined, `${made.stdout}${made.stderr}`);
    assert.match(made.stdout, /: 15 modules, \d{4} names/);
    const page = await readFile(join(OUT, "classes/elements.EmendAgent.html"), "utf8");
    assert.ok(page.includes("Asks the user about a tool call."), "the page of EmendAgent has no text on `approve`");
    const guide = await readFile(join(OUT, "documents/GUIDE.html"), "utf8");
    assert.ok(guide.includes("Five recipes"), "the guide is not in the reference");
  },
};
