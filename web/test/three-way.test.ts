import assert from "node:assert/strict";
import test from "node:test";
import { threeWay } from "../src/three-way.js";

/** Each letter is a line. Expects rows such as `aAA`: a missing line is `.`, and a star follows a marked one. */
function check(before: string | null, after: string | null, now: string | null, expected: string): void {
  const text = (letters: string | null): string | null => letters && [...letters].map((each) => `${each}\n`).join("");
  const found = threeWay(text(before), text(after), text(now)).map((part) =>
    part
      .map((row) => row.map((cell) => (cell ? cell.text.trim() + (cell.changed ? "*" : "") : ".")).join(""))
      .join(" "),
  );
  assert.equal(found.join(" | "), expected);
}

test("changed lines of three texts are in the same rows", () => {
  check("abc", "aBc", "aBc", "aaa b*B*B ccc");
  check("abc", "abc", "abC", "aaa bbb ccC*");
  check("abc", "aBc", "aXc", "aaa b*B*X* ccc");
  check("abc", "aBc", "abc", "aaa b*B*b* ccc");
});

test("a line that a text lacks leaves its cell empty", () => {
  check("ac", "abc", "abc", "aaa .b*b ccc");
  check("abc", "ac", "ac", "aaa b*.. ccc");
  check("ac", "ac", "abc", "aaa ..b* ccc");
  check(null, "a", "a", ".a*a");
  check("a", "b", null, "a*b*.");
});

test("equal texts have no part, and far changes have parts of their own", () => {
  check("abc", "abc", "abc", "");
  check("a1234567890b", "A1234567890b", "A1234567890B", "a*A*A 111 222 333 | 888 999 000 bbB*");
});
