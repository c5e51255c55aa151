// Keys with Alt on several keyboards, and characters that hide themselves.

import assert from "node:assert/strict";
import test from "node:test";
import { altLetter, keyName, letters, meantBy, rebound } from "../src/keys.js";
import { USUAL_LETTERS } from "../src/letters.js";
import { reveal } from "../src/reveal.js";

test("Alt with a letter is recognized where it types another character", () => {
  const press = (key: string, code: string, more = {}) =>
    altLetter({ altKey: true, ctrlKey: false, metaKey: false, shiftKey: false, key, code, ...more });
  assert.equal(press("j", "KeyJ"), "j");
  assert.equal(press("∆", "KeyJ"), "j", "Option+J on a Mac");
  assert.equal(press("Dead", "KeyN"), "n", "Option+N on a Mac");
  assert.equal(press("y", "KeyZ"), "y", "a German keyboard");
  assert.equal(press("j", "KeyJ", { ctrlKey: true }), null);
  assert.equal(press("j", "KeyJ", { altKey: false }), null);
  assert.equal(press("€", "KeyE", { getModifierState: () => true }), null, "AltGr");
  assert.equal(press("ArrowUp", "ArrowUp"), null);
});

test("keys have the names of the user's keyboard", () => {
  assert.equal(keyName("Ctrl+Shift+Z", true), "⌘⇧Z");
  assert.equal(keyName("Alt+J, Alt+K", true), "⌥J, ⌥K");
  assert.equal(keyName("Ctrl+Enter", false), "Ctrl+Enter");
});

test("a user's letter stands for the action in keys and names, and the former one for nothing", () => {
  letters.value = rebound(USUAL_LETTERS, "y", "a");
  try {
    assert.deepEqual(
      ["a", "y", "n", "Enter", "x"].map((key) => meantBy(key)),
      ["y", null, "n", "Enter", "x"],
    );
    assert.equal(keyName("Alt+Y", false), "Alt+A");
    assert.equal(keyName("Y, N", true), "A, N");
    assert.equal(keyName("Ctrl+Y, Ctrl+Shift+N, F6", false), "Ctrl+Y, Ctrl+Shift+N, F6");
    // A letter that another action has is exchanged.
    const swapped = rebound(letters.value, "n", "a");
    assert.deepEqual([swapped.n, swapped.y], ["a", "n"]);
    assert.equal(new Set(Object.values(swapped)).size, Object.keys(swapped).length);
  } finally {
    letters.value = USUAL_LETTERS;
  }
});

test("characters that hide or turn text are shown by their number", () => {
  assert.equal(reveal("rtl_\u202egnp.exe"), "rtl_⟨U+202E⟩gnp.exe");
  assert.equal(reveal("a\u200bb\u0007"), "a⟨U+200B⟩b⟨U+0007⟩");
  assert.equal(reveal("\u{e0041}"), "⟨U+E0041⟩");
  assert.equal(reveal("tab\tline\r\né 👩‍💻 עברית"), "tab\tline\r\né 👩‍💻 עברית");
});

test("a letter that looks like a Latin one shows its number in a Latin word", () => {
  const rows: [string, string][] = [
    ["p\u0430y.rs", "p\u0430⟨U+0430⟩y.rs"],
    ["\u0421onfig", "\u0421⟨U+0421⟩onfig"],
    ["src/r\u03bf\u03bft_key", "src/r\u03bf⟨U+03BF⟩\u03bf⟨U+03BF⟩t_key"],
    // Words of one script, and letters that look like no Latin one.
    ["\u0440\u0430\u0441\u0445\u043e\u0434 in EUR", "\u0440\u0430\u0441\u0445\u043e\u0434 in EUR"],
    ["\u0394t = 3 \u03bcs, na\u00efve", "\u0394t = 3 \u03bcs, na\u00efve"],
  ];
  for (const [text, shown] of rows) assert.equal(reveal(text), shown, text);
});
