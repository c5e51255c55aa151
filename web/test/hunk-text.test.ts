import assert from "node:assert/strict";
import { test } from "node:test";
import { advise } from "../src/advice.js";
import type { Hunk } from "../src/engine.js";
import { hunkSummary, withoutBreak } from "../src/hunk-text.js";

/** A hunk from lines like "16 - text", "17 + text" or "  text". */
function hunk(lines: readonly string[], keptByUser = false): Hunk {
  return {
    id: "h",
    status: "pending",
    oldStart: 13,
    oldLines: 3,
    newStart: 13,
    newLines: 3,
    keptByUser,
    contested: false,
    removesUserLines: false,
    oversized: false,
    dependents: 0,
    lines: lines.map((line) => {
      const [, number = "0", sign] = /^(\d*) ?([-+ ])/.exec(line) ?? [];
      if (sign === "-") return { kind: "removed", text: line, oldNumber: Number(number) };
      if (sign === "+") return { kind: "added", text: line, newNumber: Number(number) };
      return { kind: "context", text: line };
    }),
  };
}

test("a hunk is described by its new lines, or by its removed ones if it has none", () => {
  assert.equal(hunkSummary(hunk(["  a", "16 - b", "16 + c", "17 + d"])), "lines 16 to 17, 1 removed, 2 added");
  assert.equal(hunkSummary(hunk(["  a", "16 - b", "  c"], true)), "line 16, 1 removed, kept because you edited it");
});

test("a line is shown without its line ending, and otherwise unchanged", () => {
  assert.deepEqual(["a\r\n", "a\n", "a\r", "a ", "\n"].map(withoutBreak), ["a", "a", "a", "a ", ""]);
});

test("advice fits a browser, and unknown failures keep their message", () => {
  const refused = advise({ code: "authentication", message: "set ANTHROPIC_API_KEY", suggestions: [] });
  assert.deepEqual([refused.settings, refused.details], [true, "set ANTHROPIC_API_KEY"]);
  assert.doesNotMatch([refused.title, ...refused.steps].join(), /ANTHROPIC/);
  const other = advise({ code: "not_found", message: "no file a", suggestions: ["b"] });
  assert.deepEqual([other.title, other.steps, other.details], ["no file a", ["b"], null]);
});
