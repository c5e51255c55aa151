import assert from "node:assert/strict";
import test from "node:test";
import { rebase } from "../src/core/rebase.js";

function check(base: string, text: string, current: string, expected: string): void {
  const lines = (letters: string): string => [...letters].map((letter) => `${letter}\n`).join("");
  assert.equal(rebase(lines(base), lines(text), lines(current)), lines(expected));
}

test("an edit of the user moves to a text without the assistant's changes", () => {
  check("abc", "abc", "abc", "abc");
  check("abc", "aXc", "abc", "aXc");
  check("BmB", "BnB", "fmf", "fnf");
  check("ab", "aXb", "Ab", "AXb");
  check("abcd", "abcdX", "Abcd", "AbcdX");
  check("abcd", "bcd", "abcD", "bcD");
  check("Bb", "Bb", "", "");
  check("", "X", "a", "Xa");
});

test("where both changed a line, the line of the user stays", () => {
  check("aBc", "aXc", "abc", "aXc");
  check("aBCd", "aXCd", "abcd", "aXcd");
  check("aBc", "ac", "abc", "ac");
});

test("random edits of different lines give the same text in both orders", () => {
  let seed = 7;
  const next = (below: number): number => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % below;
  };
  for (let round = 0; round < 300; round++) {
    const base = Array.from({ length: 12 }, (_, at) => `line ${at}\n`);
    const place = 1 + next(5);
    const other = place + 1 + next(5);
    const mine = base.with(place, "mine\n");
    const theirs = base.toSpliced(other, 1, ...Array.from({ length: next(3) }, () => "theirs\n"));
    const both = theirs.with(place, "mine\n");
    assert.equal(rebase(base.join(""), mine.join(""), theirs.join("")), both.join(""));
    assert.equal(rebase(base.join(""), theirs.join(""), mine.join("")), both.join(""));
  }
});
