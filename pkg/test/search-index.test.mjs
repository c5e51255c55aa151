// The index for searches: the same results as without it, while files change, and fewer reads.

import assert from "node:assert/strict";
import { mkdtemp, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { Agent } from "emend";
import { indexed } from "emend/index";
import { nodeFs } from "emend/node";
import { random as seeded } from "./random.mjs";

// The package does not export it.
const internal = new URL("dist/search-index/required.js", import.meta.resolve("emend/package.json"));
const { requiredTexts } = await import(internal.href);

const DAY_MS = 24 * 3_600_000;

/** Files in memory whose times the test sets, and which count the reads. */
class Project {
  files = new Map();
  reads = [];
  clock = Date.now() - 1_000 * DAY_MS;

  put(path, text, { sameTime = false, recent = false } = {}) {
    const before = this.files.get(path);
    this.clock += 1;
    const modifiedMs = recent ? Date.now() : sameTime && before ? before.modifiedMs : this.clock;
    this.files.set(path, { bytes: new TextEncoder().encode(text), modifiedMs, version: String(this.clock) });
  }

  environment({ versions = true } = {}) {
    const described = ({ bytes, modifiedMs, version }) => ({
      kind: "file",
      size: bytes.length,
      modifiedMs,
      ...(versions && { version }),
    });
    return {
      read: async (path) => {
        this.reads.push(path);
        return this.files.get(path)?.bytes ?? null;
      },
      write: async (path, content) => this.put(path, new TextDecoder().decode(content)),
      remove: async (path) => void this.files.delete(path),
      stat: async (path) => {
        const found = this.files.get(path);
        if (found) return described(found);
        return [...this.files.keys()].some((name) => name.startsWith(`${path}/`)) ? { kind: "directory" } : null;
      },
      list: async (path) => {
        const base = path === "" ? "" : `${path}/`;
        const found = new Map();
        for (const [name, file] of this.files) {
          if (!name.startsWith(base)) continue;
          const [first, ...rest] = name.slice(base.length).split("/");
          found.set(first, rest.length > 0 ? { name: first, kind: "directory" } : { name: first, ...described(file) });
        }
        return [...found.values()];
      },
    };
  }
}

async function agentOver(t, environment) {
  const agent = await Agent.create({ environment });
  t.after(() => agent.close());
  return agent;
}

const shown = (found) => found.map(({ path, lines }) => `${path} ${JSON.stringify(lines)}`);

test("the required texts of a pattern are in each of its matches", () => {
  const check = (pattern, expected, ignoreCase = false) => {
    const texts = requiredTexts(pattern, ignoreCase).map((bytes) => new TextDecoder().decode(bytes));
    assert.deepEqual(texts, expected, pattern);
  };
  check("Needle", ["needle"]);
  check("needles", ["needle"], true);
  check("Kö", [], true);
  check("Kö", ["kö"]);
  check("a\\.b\\(c", ["a.b(c"]);
  check("abc?de*fg+h{2}i", ["ab", "d", "fg", "i"]);
  check("abc|def", []);
  check("x(abc|def)y[z]w", ["x", "y", "w"]);
  check("(?i)abc", []);
  check("(?:a)b(?P<n>c)d(?<m>e)f", ["b", "d", "f"]);
  check("[]x]ab[^]y]cd[a[bc]]ef", ["ab", "cd", "ef"]);
  check("\\x41bc", []);
  check("\\u{41}bc", []);
  check("\\p{L}bc", []);
  check("ab\\dcd\\bef\\<gh", ["ab", "cd", "ef", "gh"]);
  check("ab\ncd\tef", ["ab", "cd", "ef"]);
  check("é?b\u{1f600}*c", ["b", "c"]);
  check("(ab\\)c[)]d)ef", ["ef"]);
  check("", []);
});

test("a search reads only files that changed or may match", async (t) => {
  const project = new Project();
  for (let at = 0; at < 50; at += 1) project.put(`src/f${at}.txt`, `text number ${at}\n`);
  const agent = await agentOver(t, indexed(project.environment(), { filesMin: 10 }));
  const reads = async (pattern) => {
    project.reads = [];
    const found = await agent.files.grep(pattern);
    return [found.map(({ path }) => path), project.reads.filter((path) => path.endsWith(".txt")).length];
  };
  assert.deepEqual(await reads("number 7$"), [["src/f7.txt"], 50]);
  const [found, n] = await reads("number 7$");
  assert.deepEqual(found, ["src/f7.txt"]);
  assert.ok(n < 20, `${n} reads`);
  assert.deepEqual(await reads("absent"), [[], 0]);
  project.put("src/f3.txt", "it is absent");
  project.put("new.txt", "absent");
  assert.deepEqual(await reads("absent"), [["new.txt", "src/f3.txt"], 2]);
  await agent.files.write("src/f9.txt", "absent here\n");
  assert.deepEqual((await reads("absent"))[0], ["new.txt", "src/f3.txt", "src/f9.txt"]);
});

test("a file that changed a moment ago, has no time, or has another version is read", async (t) => {
  const project = new Project();
  for (let at = 0; at < 20; at += 1) project.put(`f${at}.txt`, "nothing");
  const agent = await agentOver(t, indexed(project.environment(), { filesMin: 10 }));
  const found = async () => (await agent.files.grep("absent")).map(({ path }) => path);
  assert.deepEqual(await found(), []);
  // The same size and the same time, as a program that restores times leaves it.
  project.put("f1.txt", "absent!", { sameTime: true });
  assert.deepEqual(await found(), ["f1.txt"]);
  project.put("f2.txt", "nothing", { recent: true });
  assert.deepEqual(await found(), ["f1.txt"]);
  // Another change within the same step of the clock leaves the time and the version.
  project.files.get("f2.txt").bytes = new TextEncoder().encode("absent!");
  assert.deepEqual(await found(), ["f1.txt", "f2.txt"]);

  const timeless = new Project();
  for (let at = 0; at < 20; at += 1) timeless.put(`f${at}.txt`, "nothing");
  for (const file of timeless.files.values()) file.modifiedMs = undefined;
  const other = await agentOver(t, indexed(timeless.environment({ versions: false }), { filesMin: 10 }));
  await other.files.grep("absent");
  timeless.reads = [];
  await other.files.grep("absent");
  assert.equal(timeless.reads.length, 20);
});

test("small projects are searched without the index", async (t) => {
  const project = new Project();
  for (let at = 0; at < 20; at += 1) project.put(`f${at}.txt`, "nothing");
  const environment = indexed(project.environment());
  const agent = await agentOver(t, environment);
  await agent.files.grep("absent");
  assert.deepEqual(environment.indexSize(), { files: 0, bytes: 0 });
});

test("results are those without an index on 1,000 random queries while files change", async (t) => {
  const random = seeded(1);
  const project = new Project();
  const words = [
    "alpha",
    "Beta",
    "gamma_1",
    "straße",
    "ſtop",
    "KELVIN",
    "Kelvin",
    "x",
    "==",
    "a.b",
    "(c)",
    "é",
    "k",
    "\u{1f600}",
  ];
  const line = () => Array.from({ length: 1 + random.below(6) }, () => words[random.below(words.length)]).join(" ");
  const text = () => Array.from({ length: random.below(8) }, line).join(random.below(4) === 0 ? "\r\n" : "\n");
  const path = () => `d${random.below(4)}/f${random.below(20)}.txt`;
  for (let at = 0; at < 60; at += 1) project.put(path(), text());
  const plain = await agentOver(t, project.environment());
  let stored;
  const store = { load: () => stored, save: (bytes) => void (stored = bytes) };
  let environment = indexed(project.environment(), { filesMin: 1, store });
  let fast = await agentOver(t, environment);
  const pieces = [
    "alpha",
    "Beta",
    "a",
    "straße",
    "stop",
    "kelvin",
    "\\.",
    "\\(",
    ".",
    "[a-z]",
    "(beta|x)",
    "x?",
    "é+",
    "\\w",
    "^",
    "$",
    "|",
    "(?i)",
    "{2}",
    "*",
    "(?:k)",
    "\u{1f600}",
    "\\b",
    "1",
    "\\x61",
    "[^]x]",
    " ",
  ];
  let [nReads, nPlain, nMatches] = [0, 0, 0];
  for (let at = 0; at < 1_000; at += 1) {
    const changed = path();
    const change = random.below(6);
    if (change === 0) project.put(changed, text());
    else if (change === 1) project.files.delete(changed);
    else if (change === 2) await fast.files.write(changed, text());
    else if (change === 3 && project.files.has(changed)) {
      const same = new TextDecoder().decode(project.files.get(changed).bytes).replace("alpha", "ahpla");
      project.put(changed, same, { sameTime: true });
    }
    if (at % 100 === 99) {
      await environment.saveIndex();
      environment = indexed(project.environment(), { filesMin: 1, store });
      fast = await agentOver(t, environment);
      await environment.initialize?.({});
    }
    const pattern = Array.from({ length: 1 + random.below(4) }, () => pieces[random.below(pieces.length)]).join("");
    const options = {
      ignoreCase: random.below(2) === 0,
      contextLines: random.below(2),
      ...(random.below(5) === 0 && { maxResults: 3 }),
    };
    const expected = await count(() => plain.files.grep(pattern, options));
    const found = await count(() => fast.files.grep(pattern, options));
    assert.deepEqual(found.result, expected.result, `${at}: ${pattern} ${JSON.stringify(options)}`);
    nReads += found.reads;
    nPlain += expected.reads;
    nMatches += expected.result.length;
  }
  assert.ok(nMatches > 1_000, `${nMatches} files with matches`);
  assert.ok(nReads < 0.9 * nPlain, `${nReads} of ${nPlain} reads`);

  async function count(search) {
    project.reads = [];
    const result = await search().then(shown, (error) => [error.code]);
    return { result, reads: project.reads.length };
  }
});

test("an index of another visit is used, and a damaged one is not", async (t) => {
  const project = new Project();
  for (let at = 0; at < 20; at += 1) project.put(`f${at}.txt`, `number ${at}`);
  let stored;
  const store = { load: () => stored, save: (bytes) => void (stored = bytes) };
  const first = indexed(project.environment(), { filesMin: 1, store });
  await (await agentOver(t, first)).files.grep("absent");
  await first.saveIndex();
  const reads = async () => {
    const environment = indexed(project.environment(), { filesMin: 1, store });
    await environment.initialize({});
    const agent = await agentOver(t, environment);
    project.reads = [];
    assert.deepEqual(await agent.files.grep("absent"), []);
    return project.reads.length;
  };
  assert.equal(await reads(), 0);
  const whole = stored;
  for (const damaged of [
    whole.slice(0, -1),
    whole.slice(0, 20),
    new Uint8Array(3),
    whole.map((byte, at) => (at === 20 ? 0 : byte)),
  ]) {
    stored = damaged;
    assert.equal(await reads(), 20);
  }
});

test("nodeFs tells a change that restores the time", async (t) => {
  const root = await mkdtemp(join(tmpdir(), "emend-index-"));
  t.after(() => rm(root, { recursive: true }));
  const old = new Date(Date.now() - 2 * DAY_MS);
  for (const name of ["a.txt", "b.txt"]) {
    await writeFile(join(root, name), "nothing");
    await utimes(join(root, name), old, old);
  }
  const environment = indexed(nodeFs(root), { filesMin: 1 });
  const agent = await agentOver(t, environment);
  assert.deepEqual(await agent.files.grep("absent"), []);
  assert.equal(environment.indexSize().files, 2);
  const { mtimeMs } = await stat(join(root, "a.txt"));
  await writeFile(join(root, "a.txt"), "absent!");
  await utimes(join(root, "a.txt"), old, old);
  assert.equal((await stat(join(root, "a.txt"))).mtimeMs, mtimeMs);
  assert.deepEqual(
    (await agent.files.grep("absent")).map(({ path }) => path),
    ["a.txt"],
  );
});
