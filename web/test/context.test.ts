import assert from "node:assert/strict";
import test from "node:test";
import { composed, linesName } from "../src/context.js";

test("selected lines and comments become a part of the message", () => {
  const text = composed("Why?", [
    { kind: "selection", id: 1, path: "a.md", from: 3, to: 4, text: "one\ntwo\n" },
    { kind: "comment", id: 2, path: "b.ts", line: 7, hunk: "h", text: "let x = 1;\n", note: "Use const." },
  ]);
  assert.equal(
    text,
    "Why?\n\nIn a.md, lines 3 to 4:\n```\none\ntwo\n```\n\nAbout b.ts, line 7:\n> let x = 1;\nUse const.",
  );
  assert.equal(composed("  ", []), "");
  assert.equal(linesName({ from: 2, to: 2 }), "line 2");
});

test("the fence of selected lines is longer than any in them", () => {
  const text = composed("", [{ kind: "selection", id: 1, path: "a.md", from: 1, to: 1, text: "````\nx\n````" }]);
  assert.match(text, /:\n`{5}\n````\nx\n````\n`{5}$/);
});
