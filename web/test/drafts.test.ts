import assert from "node:assert/strict";
import test from "node:test";
import { type Draft, Drafts } from "../src/drafts.js";

const draft = (key: string): Draft => ({ key, path: "a", text: key, base: "", written: [] });

/** A storage in memory that takes texts of at most `limit` characters. */
function memory(limit = Number.POSITIVE_INFINITY) {
  const items = new Map<string, string>();
  return {
    items,
    getItem: (name: string) => items.get(name) ?? null,
    setItem: (name: string, value: string) => {
      if (value.length > limit) throw new Error("full");
      items.set(name, value);
    },
    removeItem: (name: string) => void items.delete(name),
  };
}

const keys = (list: readonly Draft[]): string => list.map(({ key }) => key).join(" ");

test("the last sent edits and the unsent ones are kept in order", () => {
  const drafts = new Drafts(memory());
  drafts.sent(draft("old"), 0);
  drafts.sent(draft("one"), 5_000);
  drafts.sent(draft("two"), 6_000);
  drafts.keep("p", [draft("three")], 6_100);
  assert.equal(keys(drafts.of("p")), "one two three");
  assert.equal(keys(drafts.of("q")), "");
  drafts.forget("p");
  assert.equal(keys(drafts.of("p")), "");
});

test("edits of another project and recorded ones are not kept", () => {
  const storage = memory();
  const drafts = new Drafts(storage);
  drafts.sent(draft("one"), 0);
  drafts.keep("p", [], 10_000);
  drafts.sent(draft("two"), 10_000);
  drafts.reset();
  drafts.keep("p", [], 10_001);
  assert.equal(storage.items.size, 0);
});

test("of edits that are too large for the storage together, the last ones are kept", () => {
  const drafts = new Drafts(memory(JSON.stringify([draft("two"), draft("three")]).length));
  drafts.sent(draft("one"), 0);
  drafts.sent(draft("two"), 1_000);
  drafts.keep("p", [draft("three")], 2_000);
  assert.equal(keys(drafts.of("p")), "two three");
});

test("a storage that is full, broken or missing keeps nothing and breaks nothing", () => {
  for (const storage of [memory(0), null]) {
    const drafts = new Drafts(storage);
    drafts.keep("p", [draft("one")], 0);
    assert.equal(keys(drafts.of("p")), "");
    drafts.forget("p");
  }
  const storage = memory();
  storage.setItem("emend.typed.p", "{");
  assert.equal(keys(new Drafts(storage).of("p")), "");
});
