import assert from "node:assert/strict";
import { test } from "node:test";
import { advise } from "../src/advice.js";
import type { Hunk } from "../src/engine.js";
import { dependentsText, hunkSummary, signed, tightSpans, withoutBreak } from "../src/hunk-text.js";

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
  assert.equal(hunkSummary(hunk(["  a", "16 - b", "  c"], true)), "line 16, 1 removed, you edited inside it");
});

test("marks of changed words leave out blanks at their ends, and numbers have separators", () => {
  assert.deepEqual(tightSpans("ten packets of", [[3, 12]]), [[4, 11]]);
  assert.deepEqual(tightSpans("a   b", [[1, 4]]), [[1, 4]]);
  assert.deepEqual([signed(1_999, "+"), signed(2, "−")], ["+1,999", "−2"]);
});

test("a line is shown without its line ending, and otherwise unchanged", () => {
  assert.deepEqual(["a\r\n", "a\n", "a\r", "a ", "\n"].map(withoutBreak), ["a", "a", "a", "a ", ""]);
});

test("advice fits a browser, and unknown failures keep their message", () => {
  const refused = advise({ code: "authentication", message: "set ANTHROPIC_API_KEY", suggestions: [] });
  assert.deepEqual([refused.remedy, refused.details], ["settings", "set ANTHROPIC_API_KEY"]);
  assert.doesNotMatch([refused.title, ...refused.steps].join(), /ANTHROPIC/);
  const other = advise({ code: "not_found", message: "no file a", suggestions: ["b"] });
  assert.deepEqual([other.title, other.steps, other.details], ["no file a", ["b"], null]);
});

test("a provider's failure names its cause, its own words and the remedy that helps", () => {
  const of = (kind: string, message: string) =>
    advise({ code: "provider", message, suggestions: [], data: { status: 400, kind } });
  const unknown = of("model_not_found", "anthropic has no such model or URL: check the URL (404). It says: model: foo");
  assert.deepEqual([unknown.title, unknown.remedy], ["The provider does not have this model.", "settings"]);
  assert.ok(unknown.steps.includes("It says: model: foo."), unknown.steps.join());
  const limited = of(
    "rate_limit",
    "the rate limit of anthropic is exceeded: try again later (429). It says: slow down. The provider asks to wait 3600 s.",
  );
  assert.deepEqual(limited.steps, ["It says: slow down.", "Try again in 60 minutes."]);
  assert.equal(limited.remedy, "retry");
  assert.equal(of("invalid_request", "rejected (400). It says: too large").remedy, "settings");
});

test("the changes that depend on a hunk are named, the user's own as such", () => {
  const cases = [
    [1, 0, "1 later change depends on it."],
    [3, 0, "3 later changes depend on it."],
    [3, 1, "3 later changes depend on it, 1 of them your own."],
    [1, 1, "Your own later change depends on it."],
    [2, 2, "2 later changes of your own depend on it."],
  ] as const;
  for (const [count, fromUser, expected] of cases) assert.equal(dependentsText(count, fromUser), expected);
});
