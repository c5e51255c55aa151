import assert from "node:assert/strict";
import { test } from "node:test";
import { ChangeSet, Text } from "@codemirror/state";
import { breaksThrough, dominantBreak, joinBreaks, splitBreaks } from "../src/lines.js";

/** Applies an edit as the editor does, and returns the new text of the file. */
function edit(raw: string, from: number, to: number, insert: string): string {
  const { text, breaks } = splitBreaks(raw);
  const before = Text.of(text.split("\n"));
  const changes = ChangeSet.of({ from, to, insert }, before.length);
  const after = changes.apply(before);
  return joinBreaks(after.toString(), breaksThrough(breaks, changes, before, after));
}

test("splitting and joining restore the file for all line endings", () => {
  for (const raw of ["", "\n", "a", "a\n", "a\r\nb\nc\rd", "\r\r\n\n", "\uFEFFa\r\n", "a\u2028b\n"]) {
    const { text, breaks } = splitBreaks(raw);
    assert.equal(text.includes("\r"), false);
    assert.equal(joinBreaks(text, breaks), raw);
  }
});

test("an edit keeps the line endings of unchanged lines", () => {
  const cases: readonly (readonly [string, number, number, string, string])[] = [
    ["a\r\nb\nc", 0, 1, "x", "x\r\nb\nc"],
    ["a\r\nb\r\nc", 1, 1, "\nn", "a\r\nn\r\nb\r\nc"],
    ["a\r\nb\r\nc", 5, 5, "\n", "a\r\nb\r\nc\r\n"],
    ["a\nb\r\nc\r\n", 1, 3, "", "a\r\nc\r\n"],
    ["a\r\nb\nc\nd", 0, 5, "x\ny\nz", "x\r\ny\nz\nd"],
    ["", 0, 0, "a\nb", "a\nb"],
  ];
  for (const [raw, from, to, insert, expected] of cases) assert.equal(edit(raw, from, to, insert), expected);
});

test("several edits at once keep the lines around them", () => {
  const { text, breaks } = splitBreaks("a\r\nb\nc\r\nd");
  const before = Text.of(text.split("\n"));
  const changes = ChangeSet.of(
    [
      { from: 0, insert: "0\n" },
      { from: 4, to: 5, insert: "C" },
      { from: 7, insert: "\n!" },
    ],
    7,
  );
  const after = changes.apply(before);
  assert.equal(joinBreaks(after.toString(), breaksThrough(breaks, changes, before, after)), "0\r\na\r\nb\nC\r\nd\r\n!");
});

test("added lines get the dominant line ending", () => {
  assert.equal(dominantBreak([]), "\n");
  assert.equal(dominantBreak(["\r\n", "\n", "\r\n"]), "\r\n");
  assert.equal(dominantBreak(["\n", "\r\n"]), "\n");
});
