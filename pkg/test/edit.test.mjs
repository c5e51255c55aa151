// `emend/edit`: diffs, patches and texts, without an agent.

import assert from "node:assert/strict";
import test from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { EmendError as EmendErrorOfCore } from "emend";
import * as entry from "emend/edit";

const { EmendError, isEmendError, load, PanicError, patchProblem } = entry;
const glue = await import(new URL("edit-core.js", import.meta.resolve("emend/edit")));
const edit = await load();

const refused = (code, pattern) => (error) => {
  assert.ok(isEmendError(error, code), String(error));
  assert.match(error.message, pattern);
  return true;
};

const V4A = "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n*** End Patch\n";

test("errors are the same classes as those of `emend`", () => {
  assert.equal(EmendError, EmendErrorOfCore);
});

test("functions can be destructured", () => {
  const { hash, diff } = edit;
  assert.equal(hash("hello world"), "sha256:b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9");
  assert.equal(hash(new TextEncoder().encode("hello world")), hash("hello world"));
  assert.deepEqual(diff("same\n", "same\n"), []);
});

test("a diff has hunks whose lines are those of the texts", () => {
  const [before, after] = ["🦀\r\nold é\nend", "🦀\r\nnew é\nend"];
  assert.deepEqual(edit.diff(before, after, { words: true }), [
    {
      oldStart: 1,
      oldLines: 3,
      newStart: 1,
      newLines: 3,
      lines: [
        { kind: "context", text: "🦀\r\n", oldNumber: 1, newNumber: 1 },
        { kind: "removed", text: "old é\n", oldNumber: 2, spans: [[0, 3]] },
        { kind: "added", text: "new é\n", newNumber: 2, spans: [[0, 3]] },
        { kind: "context", text: "end", oldNumber: 3, newNumber: 3 },
      ],
    },
  ]);
  assert.deepEqual(edit.diff("", "a\n")[0], {
    oldStart: 0,
    oldLines: 0,
    newStart: 1,
    newLines: 1,
    lines: [{ kind: "added", text: "a\n", newNumber: 1 }],
  });
  const apart = edit.diff("a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n", { context: 0 });
  assert.deepEqual(
    apart.map((hunk) => [hunk.oldStart, hunk.oldLines]),
    [
      [1, 1],
      [5, 1],
    ],
  );
  assert.equal(edit.diff("a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n", { context: Infinity })[0].oldLines, 5);
});

test("a lone surrogate shifts nothing", () => {
  const [hunk] = edit.diff("\ud800x\nold\n", "\ud800x\nnew\n");
  assert.deepEqual(
    hunk.lines.map((line) => line.text),
    ["\ud800x\n", "old\n", "new\n"],
  );
});

test("words, unified text, merge and comparison", () => {
  assert.deepEqual(edit.diffWords("let 🦀 = 1", "let 🦀 = 2"), { old: [[9, 10]], new: [[9, 10]] });
  assert.equal(
    edit.unifiedDiff("a\n", "b\n", { oldName: "a/x", newName: null }),
    "--- a/x\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n",
  );
  assert.deepEqual(edit.merge3("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n"), { text: "A\nb\nC\n", conflicts: 0 });
  assert.deepEqual(edit.merge3("a\n", "b\n", "c\n"), {
    text: "<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n",
    conflicts: 1,
  });
  assert.deepEqual(edit.compare3("a\nb\n", "a\n", "a\nB\n"), [
    { kind: "unchanged", base: { start: 1, lines: 1 }, ours: { start: 1, lines: 1 }, theirs: { start: 1, lines: 1 } },
    { kind: "conflict", base: { start: 2, lines: 1 }, ours: { start: 2, lines: 0 }, theirs: { start: 2, lines: 1 } },
  ]);
});

test("outputs are truncated by a tool's limits or by given ones", () => {
  assert.deepEqual(edit.truncateOutput("shell", "short"), { text: "short", truncated: false });
  assert.match(edit.truncateOutput("shell", "x\n".repeat(300)).text, /\n\[\.\.\. 45 lines omitted \.\.\.\]\n/);
  assert.match(
    edit.truncateOutput("shell", "x\n".repeat(30), { lines: 10 }).text,
    /\[\.\.\. 21 lines omitted \.\.\.\]/,
  );
  assert.deepEqual(edit.truncate("a\nb\nc", { lines: 2 }), {
    text: "a\n[... 1 lines omitted ...]\nc",
    truncated: true,
  });
  assert.match(
    edit.truncate("🦀".repeat(9), { chars: 2, keep: "tail" }).text,
    /First 7 characters were removed.*\n\n🦀🦀$/,
  );
});

/** The same change in each format. */
const FORMATS = {
  v4a: { format: "v4a", text: V4A },
  unified: { format: "unified", text: "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n" },
  located: { format: "located", path: "a.txt", text: "@@ -7,2 +7,2 @@\n one\n-two\n+2\n" },
  replace: { format: "replace", path: "a.txt", oldText: "two", newText: "2" },
  lines: { format: "lines", path: "a.txt", edits: [{ operation: "replace", startLine: 2, newText: "2\n" }] },
};

test("all five formats edit one text, as a string and held by the module", () => {
  for (const [name, patch] of Object.entries(FORMATS)) {
    const { text, hunks, diagnostics } = edit.editText("one\ntwo\n", patch);
    const planned = edit.plan(patch, { "a.txt": "one\ntwo\n" }).changes[0];
    assert.equal(text, "one\n2\n", name);
    assert.deepEqual(hunks, planned.hunks, name);
    assert.deepEqual(diagnostics, planned.diagnostics, name);
    const held = edit.openText("one\ntwo\n");
    const made = held.apply(patch);
    assert.equal(made.text.toString(), "one\n2\n", name);
    assert.deepEqual([made.hunks, made.diagnostics], [hunks, diagnostics], name);
    assert.equal(held.toString(), "one\ntwo\n", "a text never changes");
    made.text.close();
    held.close();
  }
  assert.deepEqual(
    edit.editText("one\ntwo\n", FORMATS.located).diagnostics.map((found) => found.code),
    ["wrong_line"],
  );
  const twice = {
    format: "v4a",
    text: V4A.replace("*** End Patch\n", "*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch\n"),
  };
  assert.equal(edit.editText("one\ntwo\n", twice).text, "1\n2\n", "two edits of one file come one after the other");
});

test("a large text is assembled from unchanged and new parts", () => {
  const line = (index) => `line ${index}, of which there are many\n`;
  const before = Array.from({ length: 4_000 }, (_, index) => line(index)).join("");
  const after = before
    .replace(line(0), "")
    .replace(line(1_999), "🦀 and é\n")
    .replace(line(3_999), `${line(3_999)}last`);
  for (const [from, to] of [
    [before, after],
    [after, before],
  ]) {
    for (const patch of [
      { format: "unified", text: edit.unifiedDiff(from, to) },
      { format: "replace", path: "f", oldText: from.slice(0, 200), newText: "é", replaceAll: true },
      { format: "v4a", text: "*** Begin Patch\n*** Update File: f\n@@\n+appended\n*** End Patch\n" },
    ]) {
      const held = edit.openText(from).apply(patch);
      const edited = edit.editText(from, patch);
      assert.equal(edited.text, held.text.toString());
      assert.deepEqual(edited.hunks, held.hunks);
    }
    assert.equal(edit.editText(from, { format: "unified", text: edit.unifiedDiff(from, to) }).text, to);
  }
  const windows = before.replaceAll("\n", "\r\n");
  const patch = { format: "replace", path: "f", oldText: line(7).trim(), newText: "seven" };
  assert.equal(edit.editText(windows, patch).text, windows.replace(line(7).trim(), "seven"));
});

test("an open text returns its lines, bytes, string and hash", () => {
  const content = "\ufeffone\r\n🦀 é\rthree";
  for (const held of [edit.openText(content), edit.openText(new TextEncoder().encode(content))]) {
    assert.equal(held.toString(), content);
    assert.deepEqual(held.toBytes(), new TextEncoder().encode(content));
    assert.equal(held.hash, edit.hash(content));
    assert.deepEqual([held.lineCount, held.byteLength], [3, 21]);
    assert.deepEqual(
      [held.lines(1, 1), held.lines(2, 9), held.lines(9, 9), held.lines(3, 2)],
      ["\ufeffone\r\n", "🦀 é\rthree", "", ""],
    );
    held.close();
    held.close();
    for (const use of [() => held.toString(), () => held.lineCount, () => held.apply(FORMATS.v4a)]) {
      assert.throws(use, refused("closed", /the text is closed/));
    }
  }
  assert.throws(() => edit.openText(7), refused("invalid_argument", /string or a Uint8Array/));
  assert.throws(() => edit.openText(new Uint8Array([255])), refused("unsupported", /not UTF-8/));
  assert.throws(() => edit.openText("a").lines(0, 1), refused("invalid_argument", /line numbers start at 1/));
});

test("a patch on one text must only edit it", () => {
  const add = "*** Begin Patch\n*** Add File: b.txt\n+x\n*** End Patch\n";
  const move = V4A.replace("@@", "*** Move to: b.txt\n@@");
  const two = V4A.replace("*** End Patch", "*** Update File: b.txt\n@@\n-x\n+y\n*** End Patch");
  const remove = "--- a/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n";
  const held = edit.openText("one\ntwo\n");
  for (const patch of [add, move, two]
    .map((text) => ({ format: "v4a", text }))
    .concat({ format: "unified", text: remove })) {
    for (const apply of [() => edit.editText("one\ntwo\n", patch), () => held.apply(patch)]) {
      assert.throws(
        apply,
        (error) => patchProblem(error)?.kind === "not_an_edit" && isEmendError(error, "invalid_argument"),
      );
    }
  }
  const absent = { format: "v4a", text: V4A.replace("-two", "-2") };
  assert.throws(
    () => held.apply(absent),
    (error) => patchProblem(error)?.error.reason.kind === "not_found",
  );
  assert.equal(held.toString(), "one\ntwo\n");
});

test("closed texts free their memory", () => {
  const text = "line\n".repeat(50_000);
  const cycle = () => {
    const held = edit.openText(text);
    held.apply({ format: "replace", path: "a", oldText: text, newText: "x" }).text.close();
    held.close();
  };
  for (let round = 0; round < 5; round += 1) cycle();
  const before = glue.roomMemory().buffer.byteLength;
  for (let round = 0; round < 100; round += 1) cycle();
  assert.ok(glue.roomMemory().buffer.byteLength <= before + 2 * 65_536);
});

test("texts that are not closed are freed when they are collected", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  const text = "line\n".repeat(50_000);
  const size = () => glue.roomMemory().buffer.byteLength;
  const before = size();
  const [rounds, perRound] = [20, 20];
  for (let round = 0; round < rounds; round += 1) {
    for (let index = 0; index < perRound; index += 1) edit.openText(text);
    collect();
    // Finalization callbacks run in a separate task.
    await new Promise((resolve) => void setTimeout(resolve));
  }
  assert.ok(size() - before < (rounds * perRound * text.length) / 2, `${size() - before} bytes more`);
});

test("all five formats plan the changes of the files", () => {
  const files = Object.freeze({ "a.txt": "one\ntwo\n", "b.txt": "untouched" });
  for (const [name, patch] of Object.entries(FORMATS)) {
    const { changes } = edit.plan(patch, files);
    assert.equal(changes.length, 1, name);
    const { operation, path, before, after, overwritten } = changes[0];
    const expected = { operation: "update", path: "a.txt", before: "one\ntwo\n", after: "one\n2\n", overwritten: null };
    assert.deepEqual({ operation, path, before, after, overwritten }, expected, name);
    assert.deepEqual(edit.apply(patch, files), { "a.txt": "one\n2\n", "b.txt": "untouched" }, name);
    assert.deepEqual(edit.parse(patch).paths, ["a.txt"], name);
  }
  assert.deepEqual(
    edit.plan(FORMATS.located, files).changes[0].diagnostics.map((found) => found.code),
    ["wrong_line"],
  );
});

test("files come from a record, a map or a function, which is called only for needed paths", () => {
  const asked = [];
  const source = (path) => (asked.push(path), "one\ntwo\n");
  for (const files of [{ "a.txt": "one\ntwo\n" }, new Map([["a.txt", "one\ntwo\n"]]), source]) {
    assert.equal(edit.plan(FORMATS.v4a, files).changes[0].after, "one\n2\n");
  }
  assert.deepEqual(asked, ["a.txt"]);
  const thrown = new Error("the caller's own");
  assert.throws(
    () =>
      edit.plan(FORMATS.v4a, () => {
        throw thrown;
      }),
    (error) => error === thrown,
  );
  assert.equal(edit.plan(FORMATS.v4a, source).changes.length, 1, "a caller's exception stops nothing");
});

test("files are created, moved and deleted, all or none", () => {
  const patch = {
    format: "v4a",
    text: "*** Begin Patch\n*** Add File: new.txt\n+hi\n*** Delete File: old.txt\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-two\n+2\n*** End Patch",
  };
  const files = { "a.txt": "one\ntwo\n", "old.txt": "bye\n" };
  assert.deepEqual(edit.apply(patch, files), { "new.txt": "hi\n", "b.txt": "one\n2\n" });
  const summary = edit
    .plan(patch, files)
    .changes.map(({ operation, path, from, before, after }) => [operation, path, from, before, after]);
  assert.deepEqual(summary, [
    ["create", "new.txt", undefined, null, "hi\n"],
    ["delete", "old.txt", undefined, "bye\n", null],
    ["rename", "b.txt", "a.txt", "one\ntwo\n", "one\n2\n"],
  ]);
  assert.throws(() => edit.apply(patch, { "a.txt": "one\ntwo\n" }), refused("not_found", /old\.txt/));
  assert.deepEqual(files, { "a.txt": "one\ntwo\n", "old.txt": "bye\n" });
  const proto = { format: "v4a", text: "*** Begin Patch\n*** Add File: __proto__\n+hi\n*** End Patch" };
  assert.deepEqual(Object.keys(edit.apply(proto, {})), ["__proto__"]);
});

test("the file mode of a git diff is reported", () => {
  const patch = { format: "unified", text: "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n" };
  const [change] = edit.plan(patch, { "run.sh": "x\n" }).changes;
  assert.deepEqual([change.operation, change.before, change.after, change.executable], ["update", "x\n", "x\n", true]);
  assert.deepEqual(edit.parse(patch).edits, [{ operation: "update", path: "run.sh", executable: true, hunks: [] }]);
  assert.equal("executable" in edit.plan(FORMATS.unified, { "a.txt": "one\ntwo\n" }).changes[0], false);
});

test("an error reports the place and suggestions", () => {
  const files = { "a.txt": "one\ntwo and more\n" };
  assert.throws(
    () => edit.plan(FORMATS.v4a, files),
    (error) => {
      refused("conflict", /a\.txt: hunk 1 of 1 \(patch line 3\) does not match/)(error);
      assert.equal(error.name, "ConflictError");
      const problem = patchProblem(error);
      assert.equal(problem.kind, "hunk");
      assert.equal(problem.error.patchLine, 3);
      assert.equal(problem.error.reason.kind, "not_found");
      assert.deepEqual(problem.error.reason.nearest[0].difference, {
        askedLine: 2,
        asked: "two",
        line: 2,
        found: "two and more",
      });
      assert.match(error.suggestions[0], /^lines 1-2:\n/);
      return true;
    },
  );
  assert.throws(
    () => edit.plan(FORMATS.replace, { "a.txt": "two two" }),
    (error) => {
      assert.deepEqual(patchProblem(error).error, {
        kind: "ambiguous",
        lines: [1, 1],
        blocks: [null, null],
        nPlaces: 2,
        strategy: "exact",
      });
      return error.code === "ambiguous";
    },
  );
  const stale = { ...FORMATS.lines, expectedHash: edit.hash("another") };
  assert.throws(
    () => edit.plan(stale, files),
    (error) => patchProblem(error).error.kind === "stale" && error.code === "stale",
  );
  assert.equal(patchProblem(new Error("no")), undefined);
});

test("a patch is parsed while it arrives", () => {
  const stream = edit.parseStream();
  const seen = [];
  for (const piece of V4A.match(/.{1,5}/gs)) {
    stream.push(piece);
    seen.push(stream.length);
  }
  assert.equal(seen.indexOf(1) < seen.length - 1, true);
  assert.deepEqual(stream.edits, edit.parse(FORMATS.v4a).edits);
  assert.equal(stream.plan({ "a.txt": "one\ntwo\n" }).changes[0].after, "one\n2\n");
  assert.throws(() => stream.push("more"), refused("closed", /was finished/));

  const several = edit.parseStream();
  several.push("*** Begin Patch\n*** Delete File: a\n*** Add File: b\n+1\n");
  assert.deepEqual(several.edits, [
    { operation: "delete", path: "a" },
    { operation: "create", path: "b", text: "1\n" },
  ]);
  several.push("+2\n");
  assert.deepEqual(several.edits[1], { operation: "create", path: "b", text: "1\n2\n" });
  assert.throws(() => several.finish(), refused("invalid_argument", /\*\*\* End Patch/));

  const broken = edit.parseStream();
  assert.throws(() => broken.push("no patch\n"), refused("invalid_argument", /must be `\*\*\* Begin Patch`/));
  assert.throws(() => broken.push(""), refused("invalid_argument", /must be/));
});

test("wrong arguments are rejected and have no effect", () => {
  const bad = [
    () => edit.hash(3),
    () => edit.diff("a"),
    () => edit.diff("a", "b", { context: -1 }),
    () => edit.diff("a", "b", { context: 1.5 }),
    () => edit.diffWords(null, "b"),
    () => edit.unifiedDiff("a", "b", { oldName: 3 }),
    () => edit.merge3("a", "b"),
    () => edit.compare3("a", "b", {}),
    () => edit.truncateOutput("shell"),
    () => edit.truncateOutput("shell", "x", { chars: "3" }),
    () => edit.truncate("a", { keep: "middle" }),
    () => edit.truncate("a", { lines: Number.NaN }),
    () => edit.parse(null),
    () => edit.parse({ format: "patch" }),
    () => edit.parse({ format: "v4a" }),
    () => edit.parse({ format: "v4a", text: "hello" }),
    () => edit.parse({ format: "unified", text: "hello" }),
    () => edit.parse({ format: "lines", path: "a", edits: [{ operation: "move", startLine: 1 }] }),
    () => edit.parse({ format: "lines", path: "a", edits: 7 }),
    () => edit.plan(FORMATS.v4a, null),
    () => edit.plan(FORMATS.v4a, { "a.txt": 7 }),
    () => edit.apply(FORMATS.v4a, 7),
    () => edit.parseStream().push(7),
    () => edit.openLog(7),
    () => edit.loadLog(7),
    () => edit.loadLog("not json"),
  ];
  for (const call of bad) assert.throws(call, (error) => isEmendError(error, "invalid_argument"), String(call));
  const cycle = {};
  cycle.self = cycle;
  assert.throws(
    () => edit.parse({ format: "lines", path: "a", edits: [cycle] }),
    (error) => error instanceof EmendError,
  );
  assert.deepEqual(edit.diff("a", "a"), []);
});

test("a panic is thrown, ends open objects, and the next call starts a fresh instance", async () => {
  const log = edit.openLog("a\n");
  const stream = edit.parseStream();
  const original = glue.LogHandle.prototype.text;
  glue.LogHandle.prototype.text = () => glue.panicNow("boom in a log");
  assert.throws(
    () => log.visibleText,
    (error) => error instanceof PanicError && /boom in a log/.test(error.message),
  );
  glue.LogHandle.prototype.text = original;
  assert.throws(() => log.visibleText, PanicError);
  assert.throws(() => stream.push("x"), PanicError);
  log.close();
  assert.equal(edit.hash("hello world").length, 71);
  assert.equal(edit.openLog("a\n").visibleText, "a\n");
});

test("`require` works too", async () => {
  const { createRequire } = await import("node:module");
  const required = createRequire(import.meta.url)("emend/edit");
  assert.equal((await required.load()).hash("a"), edit.hash("a"));
});
