// The texts of a binding: changes, differences, line endings, and what both sides changed at the same time.

import assert from "node:assert/strict";
import test from "node:test";
import { forSeeds } from "./random.mjs";

const dist = (name) => import(new URL(`bind/${name}.js`, import.meta.resolve("emend")));
const { applyChanges, compose, trimmed } = await dist("text-changes");
const { lineChanges, smallest } = await dist("line-diff");
const { edited, joined, split } = await dist("line-endings");
const { combine } = await dist("combine");

const LINES = ["\n", "}\n", "a\n", "b b\n", "c 😀\n", "  d\n"];

function someText(random, lines = 8) {
  const text = Array.from({ length: random.below(lines) }, () => random.pick(LINES)).join("");
  return random.chance(0.3) ? `${text}end` : text;
}

/** Up to three changes of a text, in order, at any position. */
function someChanges(random, text, inserts) {
  const places = Array.from({ length: 2 * (1 + random.below(3)) }, () => random.below(text.length + 1));
  places.sort((a, b) => a - b);
  const changes = [];
  for (let at = 0; at < places.length; at += 2) {
    const [from, to] = [places[at], random.chance(0.5) ? places[at] : places[at + 1]];
    if (changes.length > 0 && changes.at(-1).to >= from) continue;
    const insert = random.pick(inserts);
    if (to > from || insert !== "") changes.push({ from, to, insert });
  }
  return changes;
}

test("composed changes do what both do, one after the other", () =>
  forSeeds(3_000, (random) => {
    let text = someText(random);
    const before = text;
    let all = [];
    for (let step = 0; step < 4; step++) {
      const changes = someChanges(random, text, ["", "x", "yy\n", "\nz"]);
      all = compose(all, changes);
      text = applyChanges(text, changes);
      assert.equal(applyChanges(before, all), text);
      assert.ok(all.every(({ from, to }, index) => to >= from && from >= (all[index - 1]?.to ?? 0)));
    }
  }));

test("the changes between two texts lead from one to the other, by lines and by characters", () =>
  forSeeds(3_000, (random) => {
    const [old, now] = [someText(random, 14), someText(random, 14)];
    const changes = lineChanges(old, now);
    assert.equal(applyChanges(old, changes), now);
    for (const { from, to } of changes) {
      for (const at of [from, to]) assert.ok(at === 0 || at === old.length || old[at - 1] === "\n");
    }
    assert.equal(applyChanges(old, smallest(old, changes)), now);
  }));

test("a large difference is one change, and a small one in a large text is small", () => {
  const numbered = (count, word) => Array.from({ length: count }, (_, index) => `${word} ${index}\n`).join("");
  const [old, now] = [numbered(3_000, "old"), numbered(3_000, "new")];
  assert.deepEqual(lineChanges(`${old}end\n`, `${now}end\n`), [{ from: 0, to: old.length, insert: now }]);
  const at = old.indexOf("old 2000");
  const edited = `${old.slice(0, at)}older 2000${old.slice(at + 8)}`;
  assert.deepEqual(smallest(old, lineChanges(old, edited)), [{ from: at + 3, to: at + 3, insert: "er" }]);
});

test("characters of two code units and \\r\\n are not cut", () => {
  assert.deepEqual(trimmed(0, "😀", "😁"), { from: 0, to: 2, insert: "😁" });
  assert.deepEqual(trimmed(5, "a\n", "a\r\n"), { from: 6, to: 7, insert: "\r\n" });
  assert.deepEqual(trimmed(0, "a\r\n", "a\rb\n"), { from: 1, to: 3, insert: "\rb\n" });
  assert.equal(trimmed(0, "a", "a"), undefined);
});

test("lines that no edit touches keep their endings", () =>
  forSeeds(2_000, (random) => {
    const raw = someText(random, 12).replace(/\n/g, () => random.pick(["\n", "\r\n", "\r\n", "\r"]));
    const file = split(raw);
    assert.equal(joined(file), raw);
    const changes = someChanges(random, file.text, ["", "x", "new\n", "\nnew", "new\nnew\n"]);
    const after = applyChanges(file.text, changes);
    const now = joined(edited(file, changes, after));
    assert.equal(split(now).text, after);
    const first = changes[0]?.from ?? raw.length;
    const lines = file.text.slice(0, first).split("\n").length - 1;
    // A lone `\r` becomes `\n` where the `\n` of an empty line follows now.
    const endings = (text) => (text.match(/\r\n?|\n/g) ?? []).slice(0, lines).map((each) => each.replace(/^\r$/, "\n"));
    assert.deepEqual(endings(now), endings(raw));
  }));

test("added lines get the most frequent ending", () => {
  const file = split("a\r\nb\r\nc\n");
  const changes = [{ from: 2, to: 2, insert: "x\ny\n" }];
  assert.equal(joined(edited(file, changes, applyChanges(file.text, changes))), "a\r\nx\r\ny\r\nb\r\nc\n");
});

test("combined changes lead both texts to the same one, and keep each line of the user once", () =>
  forSeeds(5_000, (random) => {
    const text = someText(random, 10);
    const now = applyChanges(text, someChanges(random, text, ["", "agent\n", "\nagent", "agent"]));
    let number = 0;
    // Lines that the user typed, at the ends of lines, at their beginnings and inside of them.
    const user = someChanges(random, text, ["\nMINE", "MINE\n", "MINE", ""]).map((change) => ({
      ...change,
      insert: change.insert.replace("MINE", () => `mine-${number++};`),
    }));
    const { shown, unsent } = combine(text, user, lineChanges(text, now));
    const buffer = applyChanges(applyChanges(text, user), shown);
    assert.equal(buffer, applyChanges(now, unsent));
    for (let each = 0; each < number; each++) assert.equal(buffer.split(`mine-${each};`).length, 2, buffer);
  }));

const COMBINED = [
  ["different lines", "a\nb\nc\n", [0, 1, "A"], "a\nb\nC\n", "A\nb\nC\n"],
  ["the same line", "a\nb\nc\n", [2, 3, "mine"], "a\nB\nc\n", "a\nmine\nc\n"],
  ["the same edit on both sides", "a\nb\n", [0, 1, "A"], "A\nb\n", "A\nb\n"],
  ["a line before a changed one", "a\nb\n", [2, 2, "mine\n"], "a\nB\n", "a\nmine\nB\n"],
  ["a line typed at the end of a changed one", "a\nb\n", [1, 1, "\nmine"], "A\nb\n", "A\nmine\nb\n"],
  ["two lines at one place", "a\nb\n", [2, 2, "mine\n"], "a\nagent\nb\n", "a\nmine\nagent\nb\n"],
  ["a line without its ending at the end", "a\n", [2, 2, "mine"], "a\nagent\n", "a\nagent\nmine"],
  ["text in a deleted line", "a\nb\nc\n", [3, 3, " mine"], "a\nc\n", "a\nb mine\nc\n"],
  ["a line in a deleted block", "a\nb\nc\nd\n", [4, 4, "mine\n"], "a\nd\n", "a\nb\nmine\nc\nd\n"],
];
for (const [what, text, [from, to, insert], now, expected] of COMBINED) {
  test(`both sides change ${what}`, () => {
    const user = [{ from, to, insert }];
    const { shown, unsent } = combine(text, user, lineChanges(text, now));
    assert.equal(applyChanges(applyChanges(text, user), shown), expected);
    assert.equal(applyChanges(now, unsent), expected);
  });
}
