import assert from "node:assert/strict";
import { test } from "node:test";
import type { FileInfo } from "../src/engine.js";
import { ancestors, foldedAtFirst, treeRows } from "../src/tree.js";

function file(path: string, pendingHunks = 0): FileInfo {
  return { path, size: 1, status: "clean", pendingHunks };
}

/** Formats one line per row: indentation, name, marks. */
function draw(files: readonly FileInfo[], unsaved: readonly string[] = [], closed: readonly string[] = []): string[] {
  return treeRows(files, new Set(unsaved), new Set(closed)).map((row) => {
    const mark = row.mark === "none" ? "" : ` ${row.mark}${row.pending > 0 ? ` ${row.pending}` : ""}`;
    return `${"  ".repeat(row.level - 1)}${row.name}${row.kind === "folder" ? "/" : ""}${mark}`;
  });
}

test("folders come first, and names sort numerically", () => {
  assert.deepEqual(draw([file("b10.md"), file("b9.md"), file("src/x.ts"), file("A.md")]), [
    "src/",
    "  x.ts",
    "A.md",
    "b9.md",
    "b10.md",
  ]);
});

test("a folder with nothing but a folder shares its row", () => {
  assert.deepEqual(draw([file("a/b/c/x"), file("a/b/c/y")]), ["a/b/c/", "  x", "  y"]);
});

test("a folder shows the marks below it, folded or not", () => {
  const files = [file("a/x", 2), file("a/b/y", 1), file("c/z")];
  assert.deepEqual(draw(files, ["c/z"], ["a"]), ["a/ pending 3", "c/ unsaved", "  z unsaved"]);
});

test("a large project starts folded below the top level, and the parents of a file can be listed", () => {
  const paths = Array.from({ length: 61 }, (_, index) => `a/b/${index}/f.md`);
  assert.deepEqual(foldedAtFirst(paths.slice(0, 60)), new Set());
  const folded = foldedAtFirst(paths);
  assert.equal(folded.has("a"), false);
  assert.ok(folded.has("a/b") && folded.has("a/b/7"));
  assert.deepEqual(ancestors("a/b/7/f.md"), ["a", "a/b", "a/b/7"]);
  assert.deepEqual(ancestors("f.md"), []);
});

test("rows know their place among their siblings", () => {
  const rows = treeRows([file("a/x"), file("y"), file("z")], new Set(), new Set());
  assert.deepEqual(
    rows.map((row) => [row.name, row.level, row.position, row.siblings]),
    [
      ["a", 1, 1, 3],
      ["x", 2, 1, 1],
      ["y", 1, 2, 3],
      ["z", 1, 3, 3],
    ],
  );
});
