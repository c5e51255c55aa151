// The review in parts: split hunks, and the files that changed since an earlier review.

import assert from "node:assert/strict";
import test from "node:test";
import { Agent, isEmendError } from "emend";
import { hunkIds, scripted } from "./support.mjs";

/** An agent over `files` in which the model has made `edits`, each of a path, an old and a new text. */
async function edited(t, files, ...edits) {
  const calls = edits.map(([path, from, to]) => [["edit_file", { file_path: path, old_string: from, new_string: to }]]);
  const agent = await Agent.create({ files, model: scripted([...calls, "Done."]).model });
  t.after(() => agent.close());
  await agent.run("go").result;
  assert.equal(hunkIds(agent.review()).length, edits.length);
  return agent;
}

test("a hunk is split at a line, decided in parts, and joined by undo", async (t) => {
  const agent = await edited(t, { "a.txt": "a\nb\nc\n" }, ["a.txt", "a\nb\n", "A\nB\n"]);
  const [id] = hunkIds(agent.review());
  const told = [];
  agent.subscribe((change) => told.push(change));
  const review = await agent.split(id, 2);
  assert.deepEqual(told, [{ kind: "decision", action: "split" }]);
  assert.deepEqual(
    review.files[0].hunks.map(({ lines }) => lines.filter(({ kind }) => kind !== "context").map(({ text }) => text)),
    [
      ["a\n", "b\n"],
      ["A\n", "B\n"],
    ],
  );
  await agent.undo();
  assert.equal(hunkIds(agent.review()).length, 1);
  await agent.redo();
  const [first] = hunkIds(agent.review());
  await agent.accept([first]);
  assert.equal(await agent.files.readDisk("a.txt"), "c\n");

  for (const [hunk, line, code] of [
    ["f1:h99", 1, "not_found"],
    [hunkIds(agent.review())[0], 0, "invalid_argument"],
    [hunkIds(agent.review())[0], 99, "invalid_argument"],
    [hunkIds(agent.review())[0], -1, "invalid_argument"],
    [7, 1, "invalid_argument"],
  ]) {
    await assert.rejects(agent.split(hunk, line), (error) => isEmendError(error, code), `${hunk} ${line}`);
  }
});

test("a review since a revision lists the files that changed, also those without hunks now", async (t) => {
  const files = { "a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n" };
  const agent = await edited(t, files, ["a.txt", "a", "A"], ["b.txt", "b", "B"]);
  const whole = agent.review();
  assert.deepEqual(agent.reviewSince(0), whole);
  assert.deepEqual(agent.reviewSince(whole.revision), { revision: whole.revision, files: [] });
  const { revision } = await agent.acceptAll("a.txt");
  assert.deepEqual(
    agent.reviewSince(whole.revision).files.map(({ path, hunks }) => [path, hunks.length]),
    [["a.txt", 0]],
  );
  await agent.files.write("c.txt", "mine\n");
  await agent.undo();
  await agent.undo();
  const since = agent.reviewSince(revision).files.map(({ path, hunks }) => [path, hunks.length]);
  assert.deepEqual(since, [
    ["a.txt", 1],
    ["c.txt", 0],
  ]);
  for (const wrong of [-1, 1.5, "1", Number.NaN]) {
    assert.throws(
      () => agent.reviewSince(wrong),
      (error) => isEmendError(error, "invalid_argument"),
      String(wrong),
    );
  }
});
