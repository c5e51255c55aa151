// Groups of hunks that make the same change.

import assert from "node:assert/strict";
import test from "node:test";
import type { Hunk, ReviewFile } from "../src/engine.js";
import { equalHunks } from "../src/equal-hunks.js";

type Line = Hunk["lines"][number];

/** Makes a hunk that replaces `before` by `after` in a line. */
function hunk(id: string, before: string, after: string, more: Partial<Hunk> = {}): Hunk {
  const line = (kind: Line["kind"], word: string): Line => ({
    kind,
    text: `x ${word} y\n`,
    spans: [[2, 2 + word.length]],
  });
  return {
    id,
    status: "pending",
    oldStart: 1,
    oldLines: 1,
    newStart: 1,
    newLines: 1,
    keptByUser: false,
    contested: false,
    removesUserLines: false,
    oversized: false,
    dependents: 0,
    lines: [line("removed", before), line("added", after)],
    ...more,
  };
}

const file = (path: string, hunks: Hunk[]): ReviewFile => ({ path, operation: "update", hunks, added: 0, removed: 0 });

test("hunks with the same replaced words form a group, except those that need a decision of their own", () => {
  const whole: Line[] = [{ kind: "added", text: "new line\n" }];
  const files = [
    file("a", [hunk("1", "foo", "bar"), hunk("2", "foo", "baz"), hunk("3", "foo", "bar", { keptByUser: true })]),
    file("b", [hunk("4", "foo", "bar"), hunk("5", "foo", "bar"), hunk("6", "", "", { lines: whole })]),
    file("c", [hunk("7", "foo", "bar", { contested: true }), hunk("8", "foo", "bar", { status: "accepted" })]),
  ];
  assert.deepEqual(equalHunks(files), [{ before: "foo", after: "bar", ids: ["1", "4", "5"], fileCount: 2 }]);
  assert.deepEqual(equalHunks(files.slice(0, 1)), []);
});
