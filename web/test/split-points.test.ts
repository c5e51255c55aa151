import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hunk } from "../src/engine.js";
import { splitPoints } from "../src/split-points.js";

/** Checks the points of a hunk whose lines are given by their signs, such as " -++ ". */
function check(signs: string, expected: readonly number[]): void {
  const kinds = { "-": "removed", "+": "added", " ": "context" } as const;
  const lines = [...signs].map((sign): Hunk["lines"][number] => ({ kind: kinds[sign as "-"], text: "" }));
  assert.deepEqual([...splitPoints({ lines })], expected, signs);
}

test("a hunk is split before each changed line but the first one", () => {
  check("  +++ ", [3, 4]);
  check(" --++ ", [2, 3, 4]);
  check("-++", [1, 2]);
  check("---", [1, 2]);
  check("- + +", [2, 4]);
});

test("one line, and one line with its replacement, are not split", () => {
  for (const signs of ["", "  ", " + ", "-", " -+ ", "- +"]) check(signs, []);
});
