import assert from "node:assert/strict";
import test from "node:test";
import { after, before, ownEdits, versionsOf } from "../src/core/earlier.js";
import { TextHistory } from "../src/core/text-history.js";

/** Notes `texts` in turn: `u` for the user, `o` for others, the phase, and the text. */
function check(notes: string, read: (history: TextHistory) => unknown, expected: unknown): void {
  const history = new TextHistory(() => "opened");
  for (const [at, note] of notes.split(" ").entries()) {
    const text = note.slice(2) === "null" ? null : note.slice(2);
    if (note !== "") history.note("a", text, note[0] === "u" ? "user" : "other", Number(note[1]), at);
  }
  assert.deepEqual(read(history), expected);
}

test("a task has the texts at its start and its end", () => {
  check("", (history) => [before(history, "a", 3), after(history, "a", 3)], ["opened", "opened"]);
  const notes = "u0mine o1theirs u2later o3last";
  check(notes, (history) => [0, 1, 2].map((run) => before(history, "a", run)), ["mine", "later", "last"]);
  check(notes, (history) => [0, 1].map((run) => after(history, "a", run)), ["theirs", "last"]);
  check("o1null", (history) => [before(history, "a", 0), after(history, "a", 0)], ["opened", null]);
});

test("the user's edits are told with the text on which they are based", () => {
  const own = (run: number) => (history: TextHistory) => ownEdits(history, "a", run);
  check("u0x o1b u1c o1d u2e u2f", own(0), [
    ["b", "c"],
    ["d", "f"],
  ]);
  check("u0x o1b u1c", own(1), []);
  check("u0opened u0x u0opened", (history) => ownEdits(history, "a", -1), [["opened", "opened"]]);
});

test("a saved text stays when the user goes on", () => {
  const history = new TextHistory(() => "opened");
  history.note("a", "one", "user", 0, 1);
  history.noteSaved("a", 2);
  history.note("a", "two", "user", 0, 3);
  assert.deepEqual(versionsOf(history, "a", []), [{ kind: "saved", time: 2, title: "", text: "one" }]);
});

test("a renamed file takes its past along", () => {
  const history = new TextHistory((path) => (path === "a" ? "opened" : null));
  history.note("a", "one", "other", 1, 1);
  history.moved("a", "b");
  history.note("a", null, "user", 2, 2);
  assert.deepEqual([before(history, "b", 0), after(history, "b", 0), after(history, "a", 0)], ["opened", "one", "one"]);
});
