import assert from "node:assert/strict";
import test from "node:test";
import { goneBack, usualText, withChoices } from "../src/going-back.js";
import type { Outcome } from "../src/kept.js";

type Own = readonly (readonly [string | null, string | null])[];

function check(before: string | null, own: Own, expected: Partial<Record<Outcome, string | null>>): void {
  const gone = goneBack({ path: "a", before, own });
  const found = Object.fromEntries(
    Object.keys(expected).map((outcome) => [
      outcome,
      withChoices(
        gone,
        gone.places.map(() => outcome as Outcome),
      ),
    ]),
  );
  assert.deepEqual(found, expected);
}

function hasNoPlace(before: string | null, own: Own, expected: string | null): void {
  assert.deepEqual(goneBack({ path: "a", before, own }), { text: expected, places: [] });
}

test("edits on other lines stay without a question", () => {
  hasNoPlace("foo\nm\nfoo\n", [["bar\nm\nbar\n", "bar\nmine\nbar\n"]], "foo\nmine\nfoo\n");
  hasNoPlace("a\n", [], "a\n");
  hasNoPlace(null, [], null);
});

test("a line that is half the assistant's and half the user's is a place with three outcomes", () => {
  const own = [["const seasonDays = 14;\n", "const seasonDays = 21;\n"]] as const;
  check("const loanDays = 14;\n", own, {
    keep: "const seasonDays = 21;\n",
    old: "const loanDays = 21;\n",
    drop: "const loanDays = 14;\n",
  });
  assert.equal(usualText({ path: "a", before: "const loanDays = 14;\n", own }), "const loanDays = 21;\n");
});

test("an edit of the very words of the assistant is dropped unless the user chooses otherwise", () => {
  const own = [["new words\n", "newer words\n"]] as const;
  assert.equal(usualText({ path: "a", before: "old\n", own }), "old\n");
});

test("a line of the user among lines of the assistant stays without them", () => {
  hasNoPlace("a\nz\n", [["a\none\ntwo\nz\n", "a\none\nmine\ntwo\nz\n"]], "a\nmine\nz\n");
  hasNoPlace(null, [["one\ntwo\n", "one\nmine\ntwo\n"]], "mine\n");
  check("old\n", [["one\ntwo\nthree\n", "one\nmine\nthree\n"]], { keep: "one\nmine\nthree\n", drop: "old\n" });
});

test("a removal of assistant's lines is not an edit on them", () => {
  hasNoPlace("a\nb\nc\n", [["a\nB\nc\n", "a\nc\n"]], "a\nc\n");
  hasNoPlace("a\n", [["b\n", null]], null);
});

test("several edits with changes of the assistant between them move one after the other", () => {
  const own = [
    ["B one\nm\n", "B one\nmine\n"],
    ["B two\nmine\n", "B two!\nmine\n"],
  ] as const;
  check("b one\nm\n", own, { keep: "B two!\nmine\n", drop: "b one\nmine\n" });
});
