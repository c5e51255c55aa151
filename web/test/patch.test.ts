import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { type ChangedFile, patchOf } from "../src/patch.js";

test("git applies a patch to the texts before and gets the texts after", () => {
  const many = (word: string): string =>
    Array.from({ length: 40 }, (_, at) => `${at % 13 === 0 ? word : at}\n`).join("");
  const cases: readonly (readonly [name: string, before: string | null, after: string | null])[] = [
    ["one line", "a\nb\nc\n", "a\nB\nc\n"],
    ["several parts", many("x"), many("y")],
    ["a new file", null, "a\nb\n"],
    ["a new empty file", null, ""],
    ["a new file without line ending", null, "a"],
    ["a deleted file", "a\nb\n", null],
    ["a file that becomes empty", "a\n", ""],
    ["an empty file that gets text", "", "a\n"],
    ["a line ending that is added", "a\nb", "a\nb\n"],
    ["a line ending that is removed", "a\nb\n", "a\nb"],
    ["a line at the start", "b\nc\n", "a\nb\nc\n"],
    ["a line at the end", "a\nb\n", "a\nb\nc\n"],
    ["carriage returns", "a\r\nb\r\n", "a\r\nB\r\n"],
  ];
  const folder = mkdtempSync(join(tmpdir(), "emend-patch-"));
  try {
    for (const [name, before, after] of cases) {
      const file: ChangedFile = { path: 'a "b".txt', before, after };
      const [onDisk, patch] = [join(folder, file.path), join(folder, "p.patch")];
      if (before !== null) writeFileSync(onDisk, before);
      writeFileSync(patch, patchOf([file]));
      execFileSync("git", ["apply", "--whitespace=nowarn", "p.patch"], { cwd: folder });
      let found: string | null = null;
      try {
        found = readFileSync(onDisk, "utf8");
      } catch {
        // The patch deleted it.
      }
      assert.equal(found, after, name);
      rmSync(onDisk, { force: true });
    }
    assert.equal(patchOf([{ path: "same", before: "a\n", after: "a\n" }]), "");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
