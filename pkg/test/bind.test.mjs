// A buffer of the host and a file of an agent stay in step, whatever happens on either side and when.

import assert from "node:assert/strict";
import test from "node:test";
import { Agent, isEmendError } from "emend";
import { bindBuffer } from "emend/bind";
import { BufferHost } from "./buffer-host.mjs";
import { forSeeds } from "./random.mjs";
import { results, scripted } from "./support.mjs";

/** An agent over one file, and a buffer that is bound to it. */
async function bound(t, text, { steps = [], options = {}, host = new BufferHost() } = {}) {
  const { model } = scripted(steps);
  const agent = await Agent.create({ files: { "a.txt": text }, model });
  t.after(() => agent.close());
  const binding = bindBuffer(agent, "a.txt", host.with(options));
  await binding.flush();
  return { agent, host, binding };
}

const edit = (from, to) => [["edit_file", { file_path: "a.txt", old_string: from, new_string: to }]];
const visible = async (agent) => (await agent.files.read("a.txt"))?.text;

test("the buffer gets the text, and the agent's edits as small changes", async (t) => {
  const { agent, host, binding } = await bound(t, "one\ntwo\nthree\nfour\n", {
    steps: [edit("two\nthree", "2\nthre")],
  });
  assert.equal(host.text, "one\ntwo\nthree\nfour\n");
  await agent.run("shorten").result;
  await binding.flush();
  assert.equal(host.text, "one\n2\nthre\nfour\n");
  const { changes, cause } = host.transactions.at(-1);
  assert.deepEqual(changes, [
    { from: 4, to: 7, insert: "2" },
    { from: 12, to: 13, insert: "" },
  ]);
  assert.equal(cause, "agent");
});

test("typing is an edit of the user, who keeps it when the agent's hunks are rejected", async (t) => {
  const { agent, host, binding } = await bound(t, "one\ntwo\nthree\n", { steps: [edit("three", "3")] });
  await agent.run("shorten").result;
  host.type(0, "mine\n");
  assert.equal(binding.hasUnsent, true);
  await binding.rejectAll();
  assert.equal(host.text, "mine\none\ntwo\nthree\n");
  assert.equal(await agent.files.readDisk("a.txt"), host.text);
  assert.equal(host.transactions.at(-1).cause, "decision");
});

test("typing is written after the delay, as one step of undo", async (t) => {
  const { agent, host } = await bound(t, "one\n", { options: { delay: 20 } });
  host.type(0, "m");
  host.type(1, "y ");
  assert.equal(await visible(agent), "one\n");
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal(await visible(agent), "my one\n");
  await agent.undo();
  assert.equal(await visible(agent), "one\n");
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(host.text, "one\n");
  await assert.rejects(agent.undo(), (error) => error.code === "not_found");
});

test("the file keeps its line endings, those of new lines too", async (t) => {
  const text = "one\r\ntwo\r\nthree\nfour\r\n";
  const { agent, host, binding } = await bound(t, text, { steps: [edit("three", "3\nmore")] });
  assert.equal(host.text, "one\ntwo\nthree\nfour\n");
  host.type(4, "mine\n");
  await agent.run("shorten").result;
  await binding.flush();
  assert.equal(host.text, "one\nmine\ntwo\n3\nmore\nfour\n");
  await binding.acceptAll();
  assert.match(await agent.files.readDisk("a.txt"), /^one\r\nmine\r\ntwo\r\n3\r?\nmore\r?\nfour\r\n$/);
  assert.ok(host.transactions.every(({ text: each }) => !each.includes("\r")));
});

test("a buffer with `keep` has the text of the file", async (t) => {
  const host = new BufferHost();
  const { agent, binding } = await bound(t, "a\r\nb\n", { host, options: { lineEndings: "keep" } });
  assert.equal(host.text, "a\r\nb\n");
  host.type(3, "c\r\n");
  await binding.flush();
  assert.equal(await visible(agent), "a\r\nc\r\nb\n");
});

test("on lines that both changed, the user's text stays", async (t) => {
  let host;
  const type = () => {
    host.type(host.text.indexOf("two") + 3, " mine");
    return edit("two", "2");
  };
  const made = await bound(t, "one\ntwo\nthree\n", { steps: [type], options: { delay: 10_000 } });
  host = made.host;
  await made.agent.run("shorten").result;
  await made.binding.flush();
  assert.equal(host.text, "one\ntwo mine\nthree\n");
  assert.equal(await visible(made.agent), host.text);
});

test("a letter typed in a block of lines that the agent changes meanwhile costs the agent one line", async (t) => {
  const before = Array.from({ length: 40 }, (_, at) => `colour ${at}\n`).join("");
  const after = before.replaceAll("colour", "color");
  for (const line of [0, 7, 39]) {
    let host;
    const type = () => {
      host.type(host.text.indexOf(`colour ${line}\n`), "x");
      return [["write_file", { file_path: "a.txt", content: after }]];
    };
    const read = [["read_file", { file_path: "a.txt" }]];
    const made = await bound(t, before, { steps: [() => read, type], options: { delay: 10_000 } });
    host = made.host;
    await made.agent.run("rename").result;
    await made.binding.flush();
    assert.equal(host.text, after.replace(`color ${line}\n`, `xcolour ${line}\n`));
    assert.equal(await visible(made.agent), host.text);
  }
});

test("a line typed beside one that the agent changes meanwhile: both stay", async (t) => {
  let host;
  const type = () => {
    host.type(host.text.indexOf("two"), "before\n");
    host.type(host.text.indexOf("three"), "after\n");
    return edit("two", "2");
  };
  const made = await bound(t, "one\ntwo\nthree\n", { steps: [type], options: { delay: 10_000 } });
  host = made.host;
  await made.agent.run("shorten").result;
  await made.binding.flush();
  assert.equal(host.text, "one\nbefore\n2\nafter\nthree\n");
  assert.equal(await visible(made.agent), host.text);
});

test("at the start the text is the file's, the buffer's if the host says so, and the buffer's if there is no file", async (t) => {
  const agent = await Agent.create({ files: { "a.txt": "a\n", "b.txt": "b\r\n" } });
  t.after(() => agent.close());
  const start = async (path, text, options) => {
    const host = new BufferHost(text);
    const binding = bindBuffer(agent, path, host.with(options));
    await binding.flush();
    return [host.text, await agent.files.readDisk(path)];
  };
  assert.deepEqual(await start("a.txt", "other\n", {}), ["a\n", "a\n"]);
  assert.deepEqual(await start("b.txt", "b\nmine\n", { start: "buffer" }), ["b\nmine\n", "b\r\nmine\r\n"]);
  assert.deepEqual(await start("new.txt", "mine\n", {}), ["mine\n", "mine\n"]);
  assert.deepEqual(await start("./none.txt", "", {}), ["", null]);
});

test("what is typed before the file is read stays", async (t) => {
  const agent = await Agent.create({ files: { "a.txt": "a\n" } });
  t.after(() => agent.close());
  const host = new BufferHost();
  const binding = bindBuffer(agent, "a.txt", host.with({}));
  host.type(0, "mine\n");
  await binding.flush();
  assert.equal(host.text, await visible(agent));
  assert.deepEqual(host.text.split("\n").sort(), ["", "a", "mine"]);
});

test("a file that the agent creates and the user rejects appears and disappears", async (t) => {
  const { model } = scripted([[["write_file", { file_path: "new.txt", content: "hello\n" }]]]);
  const agent = await Agent.create({ files: {}, model });
  t.after(() => agent.close());
  const host = new BufferHost();
  const binding = bindBuffer(agent, "new.txt", host.with({}));
  await agent.run("create").result;
  await binding.flush();
  assert.equal(host.text, "hello\n");
  await binding.rejectAll();
  assert.equal(host.text, "");
  assert.equal(await agent.files.read("new.txt"), null);
  host.type(0, "mine\n");
  await binding.flush();
  assert.equal(await agent.files.readDisk("new.txt"), "mine\n");
});

test("two buffers of one file and writes from elsewhere stay in step", async (t) => {
  const { agent, host, binding } = await bound(t, "one\n");
  const other = new BufferHost();
  const second = bindBuffer(agent, "a.txt", other.with({}));
  await second.flush();
  host.type(0, "first\n");
  other.type(4, "second\n");
  await binding.flush();
  await second.flush();
  await binding.flush();
  assert.equal(host.text, "first\none\nsecond\n");
  assert.equal(other.text, host.text);
  await agent.files.write("a.txt", `${host.text}third\n`);
  await binding.flush();
  assert.equal(host.text, "first\none\nsecond\nthird\n");
  assert.equal(host.transactions.at(-1).cause, "other");
});

test("a report without changes, and one whose positions are wrong, compare the texts", async (t) => {
  const { agent, host, binding } = await bound(t, "one\ntwo\n");
  host.text = "one\n2\n";
  host.report();
  await binding.flush();
  assert.equal(await visible(agent), "one\n2\n");
  host.text = "one\n2\n3\n";
  host.report([{ from: 90, to: 95, insert: "3\n" }]);
  await binding.flush();
  assert.equal(await visible(agent), "one\n2\n3\n");
});

test("a buffer that carries out a transaction in its own way keeps what it made", async (t) => {
  class Upper extends BufferHost {
    apply(transaction) {
      super.apply(transaction);
      this.text = this.text.replace("three", "THREE");
    }
  }
  const { agent, host, binding } = await bound(t, "one\n", { steps: [edit("one", "three")], host: new Upper() });
  await agent.run("count").result;
  await binding.flush();
  assert.equal(host.text, "THREE\n");
  assert.equal(await visible(agent), "THREE\n");
});

test("the host's undo takes back a decision, and its redo repeats it", async (t) => {
  const { agent, host, binding } = await bound(t, "one\ntwo\n", {
    steps: [edit("two", "2")],
    options: { decisions: true },
  });
  await agent.run("shorten").result;
  for (const decision of ["acceptAll", "rejectAll"]) {
    await binding[decision]();
    const decided = host.transactions.at(-1);
    assert.equal(decided.cause, "decision");
    const after = host.text;
    host.takeBack(decided);
    await binding.flush();
    assert.deepEqual([host.text, binding.hunks().length], ["one\n2\n", 1], decision);
    host.repeat(decided);
    await binding.flush();
    assert.deepEqual([host.text, binding.hunks().length], [after, 0], decision);
    host.takeBack(decided);
    await binding.flush();
    assert.equal(binding.hunks().length, 1);
  }
});

test("the host's undo takes back several decisions one by one, and its redo repeats them", async (t) => {
  const lines = (words) => words.map((word) => `${word}\na\nb\nc\nd\ne\nf\n`).join("");
  const { agent, host, binding } = await bound(t, lines(["one", "two"]), {
    steps: [[...edit("one", "1"), ...edit("two", "2")]],
    options: { decisions: true },
  });
  await agent.run("shorten").result;
  const disk = await agent.files.readDisk("a.txt");
  const decided = [];
  for (const _ of [0, 1]) {
    await binding.reject([binding.hunks()[0].id]);
    decided.push(host.transactions.at(-1));
  }
  assert.equal(host.text, lines(["one", "two"]));
  for (const [left, step] of [...decided.entries()].reverse()) {
    host.takeBack(step);
    await binding.flush();
    assert.equal(binding.hunks().length, 2 - left);
    assert.equal(await agent.files.readDisk("a.txt"), disk, "a rejected edit is pending, and not the user's");
  }
  assert.equal(host.text, lines(["1", "2"]));
  for (const [index, step] of decided.entries()) {
    host.repeat(step);
    await binding.flush();
    assert.equal(binding.hunks().length, 1 - index);
  }
  assert.equal(host.text, lines(["one", "two"]));
});

test("the host's undo of a decision before other edits changes the text only", async (t) => {
  const { agent, host, binding } = await bound(t, "one\ntwo\n", {
    steps: [edit("two", "2")],
    options: { decisions: true },
  });
  await agent.run("shorten").result;
  await binding.rejectAll();
  const decided = host.transactions.at(-1);
  host.type(0, "mine\n");
  await binding.flush();
  host.text = "mine\none\n2\n";
  host.report([{ from: 9, to: 12, insert: "2" }], { reverts: decided });
  await binding.flush();
  assert.equal(await agent.files.readDisk("a.txt"), "mine\none\n2\n");
  assert.equal(binding.hunks().length, 0);
});

test("an edit that cannot be written stays in the buffer and goes out later", async (t) => {
  const errors = [];
  let full = true;
  const files = new Map([["a.txt", "one\n"]]);
  const environment = {
    read: (path) => files.get(path) ?? null,
    write(path, bytes) {
      if (full) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
      files.set(path, new TextDecoder().decode(bytes));
    },
    remove: (path) => files.delete(path),
    list: () => [...files.keys()],
    stat: (path) => (files.has(path) ? { kind: "file", size: 1 } : path === "" ? { kind: "directory" } : null),
  };
  const agent = await Agent.create({ environment });
  t.after(() => agent.close());
  const host = new BufferHost();
  const binding = bindBuffer(agent, "a.txt", host.with({ delay: 1, onError: (error) => errors.push(error) }));
  await binding.flush();
  host.type(0, "mine\n");
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(errors.length, 1);
  assert.ok(isEmendError(errors[0]));
  await assert.rejects(binding.flush(), isEmendError);
  assert.equal(host.text, "mine\none\n");
  full = false;
  host.type(0, "more\n");
  await binding.flush();
  assert.equal(files.get("a.txt"), "more\nmine\none\n");
});

test("detaching writes what was typed, and leaves both sides as they are", async (t) => {
  const { agent, host, binding } = await bound(t, "one\n", { steps: [edit("one", "1")], options: { delay: 10_000 } });
  host.type(0, "mine\n");
  await binding.detach();
  assert.equal(await visible(agent), "mine\none\n");
  assert.equal(host.listeners, 0);
  assert.deepEqual(host.ends, [undefined]);
  await agent.run("shorten").result;
  host.type(0, "later\n");
  await assert.rejects(binding.flush(), (error) => error.code === "closed");
  assert.equal(await visible(agent), "mine\n1\n");
  assert.equal(host.text, "later\nmine\none\n");
  await binding.detach();
});

test("detaching after the agent was closed says that typed text was not written", async (t) => {
  const { agent, host, binding } = await bound(t, "one\n", { options: { delay: 10_000 } });
  host.type(0, "mine\n");
  agent.close();
  await turns(5);
  assert.equal(binding.ended, true);
  await assert.rejects(binding.detach(), (error) => error.code === "closed");
  assert.equal(host.text, "mine\none\n");
});

test("a report that is not a list of changes is answered by a comparison", async (t) => {
  const { agent, host, binding } = await bound(t, "one\n");
  for (const wrong of [[null], "x", [1], [{ from: 0, to: 99, insert: "" }], 5]) {
    host.text = `mine\n${host.text}`;
    host.report(wrong);
    await binding.flush();
    assert.equal(binding.ended, false, JSON.stringify(wrong));
    assert.equal(await visible(agent), host.text);
  }
});

test("typing on the line beside an edit of the agent leaves the edit alone", async (t) => {
  for (const [text, at, typed, rejected] of [
    ["mid\none\n", 3, "midT\n1\n", "midT\none\n"],
    ["one\nmid\n", 7, "1\nmidT\n", "one\nmidT\n"],
    ["one\nmid\none\n", 7, "1\nmidT\n1\n", "one\nmidT\none\n"],
  ]) {
    const steps = [edit("one", "1")];
    steps[0][0][1].replace_all = true;
    const { agent, host, binding } = await bound(t, text, { steps, options: { delay: 10_000 } });
    await binding.flush();
    host.type(at, "T");
    await agent.run("shorten").result;
    await binding.flush();
    assert.equal(host.text, typed, text);
    await binding.rejectAll();
    assert.equal(host.text, rejected, text);
  }
});

test("detaching before the file was read writes nothing", async (t) => {
  const agent = await Agent.create({ files: { "a.txt": "a\n" } });
  t.after(() => agent.close());
  const host = new BufferHost();
  const binding = bindBuffer(agent, "a.txt", host.with({}));
  host.type(0, "mine\n");
  await binding.detach();
  assert.equal(await visible(agent), "a\n");
  assert.equal(host.text, "mine\n");
});

test("a closed agent ends its bindings with an error", async (t) => {
  const { agent, host, binding } = await bound(t, "one\n");
  agent.close();
  assert.equal(binding.ended, true);
  assert.deepEqual(
    host.ends.map((error) => error.code),
    ["closed"],
  );
  assert.equal(host.listeners, 0);
  host.type(0, "later\n");
  await assert.rejects(binding.accept([]), (error) => error.code === "closed");
  assert.throws(
    () => bindBuffer(agent, "a.txt", new BufferHost().with({})),
    (error) => error.code === "closed",
  );
});

test("a file that cannot be read as text ends the binding", async (t) => {
  const agent = await Agent.create({ files: { "a.bin": new Uint8Array([0, 1, 2, 0xff]) } });
  t.after(() => agent.close());
  const host = new BufferHost();
  const binding = bindBuffer(agent, "a.bin", host.with({}));
  await assert.rejects(binding.flush(), isEmendError);
  assert.equal(host.ends.length, 1);
});

for (const method of ["read", "apply", "onChange", "onSync"]) {
  test(`a buffer whose \`${method}\` throws ends its own binding only`, async (t) => {
    const { agent, host, binding } = await bound(t, "one\n", { steps: [edit("one", "1")] });
    const bad = new BufferHost();
    const own = bad.with({});
    let left = method === "read" ? 1 : 0;
    const works = own[method].bind(own);
    own[method] = (...args) => {
      if (left-- > 0) return works(...args);
      throw new Error("a host's own");
    };
    const ended = bindBuffer(agent, "a.txt", own);
    await agent.run("shorten").result;
    await binding.flush();
    await ended.flush().catch(() => {});
    assert.equal(ended.ended, true);
    assert.deepEqual([bad.ends[0]?.code, bad.ends[0]?.cause.message], ["io_error", "a host's own"]);
    assert.equal(host.text, "1\n");
  });
}

test("wrong arguments are refused", async (t) => {
  const { agent } = await bound(t, "one\n");
  const host = () => new BufferHost().with({});
  for (const wrong of [
    { read: 1 },
    { apply: undefined },
    { delay: -1 },
    { start: "mine" },
    { lineEndings: "crlf" },
    { onEnd: 1 },
  ]) {
    assert.throws(
      () => bindBuffer(agent, "a.txt", Object.assign(host(), wrong)),
      (error) => isEmendError(error, "invalid_argument"),
      JSON.stringify(wrong),
    );
  }
  assert.throws(
    () => bindBuffer(agent, 1, host()),
    (error) => isEmendError(error, "invalid_argument"),
  );
});

test("bindings that come and go leave no listener and no reader of events", async (t) => {
  const { agent } = await bound(t, "one\n");
  for (let round = 0; round < 200; round++) {
    const host = new BufferHost();
    const binding = bindBuffer(agent, "a.txt", host.with({}));
    if (round % 2 === 0) await binding.flush();
    await binding.detach();
    assert.equal(host.listeners, 0);
  }
});

/** Waits for some turns of the event loop. */
async function turns(count) {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
}

/**
 * The model's answers in a random run: edits of lines, and rewrites of the whole file as it was last read, each after a
 * random wait. The user's lines stay in its rewrites; one that it has not read makes the rewrite stale.
 */
function someEdits(random) {
  const lineOf = (request) =>
    results(request)[0]
      .split("\n")
      .slice(1)
      .map((line) => line.replace(/^ *\d+ \| /, ""));
  const rewrite = ({ request }) => {
    const kept = lineOf(request).filter((line) => line.startsWith("mine-") || random.chance(0.7));
    const ending = results(request)[0].includes("CRLF") ? "\r\n" : "\n";
    return [["write_file", { file_path: "a.txt", content: [...kept, `z${random.below(9)}`, ""].join(ending) }]];
  };
  const change = ({ request }) => {
    const present = lineOf(request).filter((line) => /^[a-z]\d*$/.test(line));
    if (present.length === 0) return "Nothing to do.";
    const line = random.pick(present);
    const made = random.pick([`${line}1`, "", `${line}\n${random.pick("abcdefgh")}${random.below(9)}`]);
    return [["edit_file", { file_path: "a.txt", old_string: line, new_string: made }]];
  };
  return Array.from({ length: 1 + random.below(3) }, () => [
    async () => {
      if (random.chance(0.5)) await turns(random.below(4));
      return [["read_file", { file_path: "a.txt" }]];
    },
    random.chance(0.25) ? rewrite : change,
  ]).flat();
}

test("whatever both sides do and when, the texts end equal and each typed line is there once", async (t) => {
  const seen = { agent: 0, decision: 0, other: 0, typedInFlight: 0, undone: 0 };
  await forSeeds(500, async (random) => {
    const endings = random.pick(["\n", "\r\n"]);
    const text = Array.from({ length: 1 + random.below(8) }, (_, index) => `${"abcdefgh"[index]}${endings}`).join("");
    const agent = await Agent.create({ files: { "a.txt": text }, model: scripted(someEdits(random)).model });
    const host = new BufferHost("", random.chance(0.3));
    const problems = [];
    const binding = bindBuffer(
      agent,
      "a.txt",
      host.with({ delay: random.pick([0, 1, 10_000]), onError: (error) => problems.push(error) }),
    );
    let typed = 0;
    let isRunning = true;
    const run = agent.run("edit").result.finally(() => (isRunning = false));
    const decide = async (undoes) => {
      const hunk = random.pick(binding.hunks());
      if (hunk === undefined) return;
      try {
        if (random.chance(0.4)) await binding.accept([hunk.id]);
        else await binding.reject([hunk.id], { dependents: "only" });
      } catch (error) {
        // The hunk may be gone, contested or depended on by now.
        if (isEmendError(error, "not_found") || isEmendError(error, "conflict")) return;
        throw error;
      }
      if (!undoes) return;
      seen.undone += 1;
      await binding.undo();
    };
    const decisions = [];
    for (let step = 0; step < 12; step++) {
      if (random.chance(0.55)) {
        const lines = host.text.split("\n");
        const at = random.below(lines.length);
        const place = lines.slice(0, at).join("\n").length + (at > 0 ? 1 : 0);
        const end = place + lines[at].length;
        const line = `mine-${typed++};`;
        if (random.chance(0.5)) host.type(place, `${line}\n`);
        else host.type(end, `\n${line}`);
        if (isRunning) seen.typedInFlight += 1;
      } else if (random.chance(0.5)) {
        // An undo after more typing would undo the typing.
        const isAlone = random.chance(0.6);
        const decision = decide(isAlone && random.chance(0.5));
        decisions.push(decision);
        if (isAlone) await decision;
      }
      if (random.chance(0.5)) await turns(random.below(4));
    }
    await Promise.all([run, ...decisions]);
    await binding.flush();
    const now = await visible(agent);
    assert.deepEqual(problems, []);
    assert.equal(host.text, now.replace(/\r\n/g, "\n"));
    for (let line = 0; line < typed; line++)
      assert.equal(now.split(`mine-${line};`).length, 2, `line ${line} in ${JSON.stringify(now)}`);
    for (const { cause } of host.transactions) seen[cause] += 1;
    agent.close();
  });
  t.diagnostic(JSON.stringify(seen));
  for (const [what, count] of Object.entries(seen)) assert.ok(count >= 100, `${what}: ${count}`);
});
