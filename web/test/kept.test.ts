// The lines that the user edited inside pending hunks, and the texts that can become of them.

import assert from "node:assert/strict";
import test from "node:test";
import type { Hunk } from "../src/engine.js";
import { replaceLines, userLines } from "../src/kept.js";
import { keptHunk, rebased } from "../src/kept-texts.js";

/** Makes a kept hunk from lines such as "-3 old\n", "+3 new\n" and " 4 context\n". */
function hunk(lines: readonly string[]): Hunk {
  return {
    id: "f1:h1",
    status: "pending",
    oldStart: 1,
    oldLines: 0,
    newStart: 1,
    newLines: 0,
    keptByUser: true,
    contested: false,
    removesUserLines: false,
    oversized: false,
    dependents: 1,
    lines: lines.map((line) => {
      const [, sign, number, text = ""] = /^([-+ ])(\d+) ([\s\S]*)$/.exec(line) ?? [];
      if (sign === "-") return { kind: "removed", text, oldNumber: Number(number) };
      return { kind: sign === "+" ? "added" : "context", text, newNumber: Number(number) };
    }),
  };
}

test("an edit on the assistant's line is put on the old line", () => {
  const cases: readonly (readonly [before: string, old: string, mine: string, result: string])[] = [
    ["def bar():\n", "def foo():\n", "def bar():  # note\n", "def foo():  # note\n"],
    ["use(bar, 1)\n", "use(foo, 1)\n", "use(bar, 2)\n", "use(foo, 2)\n"],
    ["bar\r\n", "foo\r\n", "bar\r\n# x\r\n", "foo\r\n# x\r\n"],
    // Equal letters of different words do not belong together.
    ["return size\n", "let count be zero\n", "return size // mine\n", "let count be zero // mine\n"],
    ["return size\n", "let count be zero\n", "await return size\n", "await let count be zero\n"],
  ];
  for (const [before, old, mine, result] of cases) assert.equal(rebased(before, old, mine), result);
});

test("an edit of the letters that the assistant changed, too, is not put on the old line", () => {
  for (const [before, old, mine] of [
    ["one\ntwo\n", "o1\no2\n", "m1\nm2\n"],
    ["one\ntwo\nthree\n", "o1\no2\no3\n", "one\nthree\n"],
    ["bar\n", "foo\n", "bXr\n"],
  ] as const) {
    assert.equal(rebased(before, old, mine), undefined);
  }
});

test("an edit of one line of a change is put on its old line, whatever the other lines have become", () => {
  // A comparison of both lines as one text finds equal letters across them.
  const lines = [
    "-1 let count be zero\n",
    "-2 for each item count it\n",
    " 1 return size // mine\n",
    "+2 log all\n",
    " 3 end\n",
  ];
  const written = { text: "return size\nlog all\n", next: ["end\n"] };
  const { old } = keptHunk("a.txt", hunk(lines), written).texts;
  assert.equal(old, "let count be zero // mine\nfor each item count it\n");
});

test("the three results of a hunk in which the user typed", () => {
  const lines = [" 1 a\n", "-2 foo\n", " 2 bar, mine\n", " 3 c\n", " 4 d\n"];
  const known = keptHunk("a.txt", hunk(lines), { text: "bar\n", next: ["c\n", "d\n"] });
  assert.deepEqual(known.texts, { keep: "bar, mine\n", drop: "foo\n", old: "foo, mine\n" });
  assert.deepEqual([known.line, known.lineCount], [2, 1]);
  // The end of the user's lines is not shown, so their edit cannot be moved.
  const long = hunk(["-2 foo\n", " 2 bar, mine\n", " 3 more\n", " 4 more\n"]);
  assert.deepEqual(keptHunk("a.txt", long, { text: "bar\n", next: ["c\n", "d\n"] }).texts, {
    keep: "bar, mine\nmore\nmore\n",
    drop: "foo\n",
  });
  const unknown = keptHunk("a.txt", hunk(lines), undefined);
  assert.deepEqual(unknown.texts, { keep: "bar, mine\n", drop: "foo\n" });
  assert.deepEqual([...userLines(hunk(lines), undefined)], [2]);
});

test("lines of the assistant among those of the user are part of the hunk, but not the user's", () => {
  const lines = ["-6 foo\n", "-7 foo\n", "+6 bar\n", " 7 # x\n", " 8 bar(2)\n"];
  const kept = keptHunk("a.txt", hunk(lines), { text: "bar\nbar\n", next: [] });
  assert.deepEqual(kept.texts, {
    keep: "bar\n# x\nbar(2)\n",
    mine: "foo\n# x\nbar(2)\n",
    drop: "foo\nfoo\n",
    old: "foo\n# x\nfoo(2)\n",
  });
  assert.deepEqual([...userLines(hunk(lines), { text: "", next: [] })], [7, 8]);
});

test("the user's lines of a change stay, with the old lines in the place of the assistant's", () => {
  const cases: readonly (readonly [lines: readonly string[], written: string, mine: string | undefined])[] = [
    // A line is replaced, at the end and in the middle.
    [["-1 a1\n", "-2 a2\n", "-3 a3\n", "+1 b1\n", "+2 b2\n", " 3 my\n"], "b1\nb2\nb3\n", "a1\na2\nmy\n"],
    [["-1 a1\n", "-2 a2\n", "-3 a3\n", "+1 b1\n", " 2 my\n", "+3 b3\n"], "b1\nb2\nb3\n", "a1\nmy\na3\n"],
    // A line is added, or one of the assistant removed.
    [["-1 a1\n", "-2 a2\n", "+1 b1\n", " 2 my\n", "+3 b2\n"], "b1\nb2\n", "a1\nmy\na2\n"],
    [["-1 a1\n", "-2 a2\n", "-3 a3\n", "+1 b1\n", " 2 my\n"], "b1\nb2\nb3\n", "a1\nmy\n"],
    // The numbers of lines differ: all old lines return.
    [["-1 a1\n", "+1 b1\n", " 2 my\n", "+3 b3\n"], "b1\nb2\nb3\n", "a1\nmy\n"],
    [["+1 b1\n", " 2 my\n"], "b1\nb2\n", "my\n"],
    // Nothing of the assistant is left.
    [["-1 a1\n", " 1 my\n"], "b1\n", undefined],
  ];
  for (const [lines, text, mine] of cases) {
    assert.equal(keptHunk("a.txt", hunk([...lines, " 9 end\n"]), { text, next: ["end\n"] }).texts.mine, mine);
  }
});

test("lines of a text are replaced with their line endings", () => {
  assert.equal(replaceLines("a\r\nb\r\nc", 2, 1, "x\r\ny\r\n"), "a\r\nx\r\ny\r\nc");
  assert.equal(replaceLines("a\nb", 2, 1, "c"), "a\nc");
  assert.equal(replaceLines("a\n", 2, 0, "b\n"), "a\nb\n");
});
