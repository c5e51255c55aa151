// Syntax colours of lines outside of the editor.

import assert from "node:assert/strict";
import test from "node:test";
import { loadColourer, segments } from "../src/editor/colours.js";

test("lines are coloured as in the editor, also where a part covers several lines", async () => {
  const colour = await loadColourer("a.ts");
  const coloured = colour?.(["const a = 1; /* x\n", "y */ return\n"]) ?? [];
  const kinds = coloured.map((parts) => parts.map(({ classes }) => classes.split(" ")[0]));
  assert.equal(kinds[0]?.[0], "tok-keyword");
  assert.equal(kinds[0]?.at(-1), "tok-comment");
  assert.equal(kinds[1]?.[0], "tok-comment");
  assert.deepEqual(coloured[1]?.[0], { from: 0, to: 4, classes: "tok-comment" });
  assert.equal(await loadColourer("a.unknown"), null);
});

test("a line is cut where colours and marks begin and end", () => {
  const parts = segments("const abc", [{ from: 0, to: 5, classes: "k" }], [[3, 8]]);
  assert.deepEqual(
    parts.map(({ text, classes, marked }) => [text, classes, marked]),
    [
      ["con", "k", false],
      ["st", "k", true],
      [" ab", "", true],
      ["c", "", false],
    ],
  );
  assert.deepEqual(segments("", [], []), []);
});
