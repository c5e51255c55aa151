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

test("more letters give what they give at once", () => {
  const some = Array.from({ length: 400 }, (_, at) => `src/m${at % 7}/Part${at % 11}/view-${at}.ts`);
  for (const typed of ["view", "v1", "src12", "p3v", "xq"]) {
    for (let end = 1; end <= typed.length; end += 1) {
      const letters = typed.slice(0, end);
      assert.deepEqual(rankPaths(some, letters, 20), rankPaths([...some], letters, 20), letters);
      // The copy is another list, so the first one goes on with its own letters.
      rankPaths(some, letters, 20);
    }
    assert.deepEqual(rankPaths(some, typed.slice(0, 1), 20), rankPaths([...some], typed.slice(0, 1), 20));
  }
});
