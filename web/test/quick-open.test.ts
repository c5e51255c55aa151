// The ranking of paths for typed letters.

import assert from "node:assert/strict";
import test from "node:test";
import { rankPaths } from "../src/quick-open.js";

const PATHS = ["docs/handbook.md", "README.md", "src/hand.ts", "src/loans.ts", "lib/on/an/s.ts"];

test("names come before folders, and runs of letters before scattered ones", () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ["hand", ["src/hand.ts", "docs/handbook.md"]],
    ["READ", ["README.md"]],
    ["loans", ["src/loans.ts", "lib/on/an/s.ts"]],
    ["dohb", ["docs/handbook.md"]],
    ["xyz", []],
    ["", PATHS.slice(0, 3)],
  ];
  for (const [typed, expected] of cases) assert.deepEqual(rankPaths(PATHS, typed, 3), expected, typed);
});
