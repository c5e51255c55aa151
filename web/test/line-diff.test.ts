import assert from "node:assert/strict";
import test from "node:test";
import { lineDiff } from "../src/line-diff.js";

/** Returns the parts of a difference as text: a sign and the numbers of each row. */
function drawn(before: string | null, after: string | null): string[] {
  const signs = { added: "+", removed: "-", context: " " };
  return lineDiff(before, after).map((part) =>
    part.map((row) => `${signs[row.kind]}${row.text.trim()}${row.oldNumber ?? ""}/${row.newNumber ?? ""}`).join(","),
  );
}

test("changes have three lines around them, and near changes are one part", () => {
  const lines = (...texts: string[]): string => texts.map((text) => `${text}\n`).join("");
  assert.deepEqual(drawn("a\nb\n", "a\nc\n"), [" a1/1,-b2/,+c/2"]);
  assert.deepEqual(drawn("a\n", "a\n"), []);
  assert.deepEqual(drawn(null, "a\nb"), ["+a/1,+b/2"]);
  assert.deepEqual(drawn("a\n", null), ["-a1/"]);
  const old = lines("x", "1", "2", "3", "4", "y");
  const now = lines("X", "1", "2", "3", "4", "Y");
  assert.deepEqual(drawn(old, now), ["-x1/,+X/1, 12/2, 23/3, 34/4, 45/5,-y6/,+Y/6"]);
  const far = (first: string, last: string): string => lines(first, ..."123456789", last);
  assert.deepEqual(drawn(far("x", "y"), far("X", "Y")), [
    "-x1/,+X/1, 12/2, 23/3, 34/4",
    " 78/8, 89/9, 910/10,-y11/,+Y/11",
  ]);
});
