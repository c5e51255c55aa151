// The cost of one edit of a large file for its host, counted in calls and bytes: it must not grow with the edits before it.

import assert from "node:assert/strict";
import test from "node:test";
import { create, mapped } from "./environments.mjs";
import { collect, results, scripted } from "./support.mjs";

const EDITS = 20;
const LINES = 222_000;
const TEXT = Array.from({ length: LINES }, (_, at) => `line ${at} of a file with some words in it\n`).join("");

/** Maximum numbers of calls per edit: of `read` and `write`, which take the whole file, and of `stat`. */
const MOST = { direct: { read: 3, write: 1, stat: 5 }, staged: { read: 2, write: 0, stat: 3 } };

for (const [mode, most] of Object.entries(MOST)) {
  test(`each edit of a file of 10 MB takes the same reads and writes: ${mode}`, async (t) => {
    assert.ok(TEXT.length > 9_000_000);
    const environment = mapped({ "a.txt": new TextEncoder().encode(TEXT), "b.txt": "other\n" });
    let calls = [];
    for (const name of ["read", "write", "remove", "stat", "list"]) {
      const method = environment[name];
      environment[name] = (path, content) => {
        const given = method(path, content);
        const bytes = name === "read" ? given.length : name === "write" ? content.length : 0;
        calls.push({ name, path, bytes });
        return given;
      };
    }
    // The number of a line per edit, at all places of the file.
    const numbers = Array.from({ length: EDITS }, (_, edit) => ((edit * 7) % EDITS) * (LINES / EDITS) + 5);
    const perEdit = [];
    const take = (step) => () => {
      perEdit.push(calls);
      calls = [];
      return step;
    };
    const edit = (at) => ({ file_path: "a.txt", old_string: `line ${at} of`, new_string: `LINE ${at} of` });
    const { model, requests } = scripted([...numbers.map((at) => take([["edit_file", edit(at)]])), take("Done.")]);
    const agent = await create(t, environment, { model, mode });
    const events = await collect(agent.run("go"));
    // The first request comes before the edits.
    const [, ...edits] = perEdit;
    assert.equal(edits.length, EDITS);

    const counted = edits.map((each) => {
      assert.deepEqual([...new Set(each.map(({ path }) => path))], ["a.txt"], "no other file is looked at");
      const of = (name) => each.filter((call) => call.name === name);
      return {
        calls: Object.fromEntries(Object.keys(most).map((name) => [name, of(name).length])),
        bytes: each.reduce((sum, call) => sum + call.bytes, 0),
      };
    });
    for (const [name, limit] of Object.entries(most)) {
      assert.ok(counted[0].calls[name] <= limit, `${counted[0].calls[name]} calls of ${name} per edit`);
    }
    for (const each of counted) assert.deepEqual(each, counted[0]);
    assert.ok(counted[0].bytes <= (most.read + most.write) * TEXT.length, `${counted[0].bytes} bytes per edit`);

    // The model and the readers of the events get what changed, not the file.
    for (const request of requests.slice(1)) assert.ok(results(request)[0].length < 2_000, results(request)[0]);
    assert.ok(JSON.stringify(events).length < EDITS * 10_000, "events");
    const expected = TEXT.split("\n");
    for (const at of numbers) expected[at] = expected[at].replace("line", "LINE");
    assert.ok((await agent.files.read("a.txt")).text === expected.join("\n"));
    assert.equal(agent.review().files.flatMap((file) => file.hunks).length, mode === "staged" ? EDITS : 0);
  });
}
