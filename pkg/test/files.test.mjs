// An agent's files: searches, export and quota.

import assert from "node:assert/strict";
import test from "node:test";
import { Agent, ConfigError, isEmendError } from "emend";
import { hunkIds, SHOP } from "./support.mjs";

async function create(t, options) {
  const agent = await Agent.create({ files: SHOP, ...options });
  t.after(() => agent.close());
  return agent;
}

/** A model that makes these calls in one response, and records their results. */
function calling(...calls) {
  const told = [];
  const provider = {
    name: "calling",
    async *stream({ messages }) {
      const last = messages.at(-1);
      if (last.role === "tool")
        told.push(...last.content.map(({ content, isError: failed }) => ({ content, failed: failed === true })));
      else for (const [name, args] of calls) yield { type: "tool_call", name, arguments: args };
      yield { type: "finish" };
    },
  };
  return { model: { provider, model: "m" }, told };
}

const utf8 = (text) => new TextEncoder().encode(text);

test("grep returns lines sorted by path and number, with context", async (t) => {
  const agent = await create(t);
  assert.deepEqual(await agent.files.grep("\\bPrice\\b"), [
    {
      path: "src/cart.js",
      lines: [
        { line: 1, text: 'import { Price } from "./price.js";', isMatch: true },
        { line: 3, text: "export const total = (items) => items.map(Price).length;", isMatch: true },
      ],
    },
    { path: "src/price.js", lines: [{ line: 1, text: "export function Price(item) {", isMatch: true }] },
  ]);
  const around = await agent.files.grep("cents;$", { contextLines: 1 });
  assert.deepEqual(
    around[0].lines.map(({ line, isMatch }) => [line, isMatch]),
    [
      [1, false],
      [2, true],
      [3, false],
    ],
  );
});

test("every option of grep narrows or widens it", async (t) => {
  const agent = await create(t);
  const found = async (pattern, options) =>
    (await agent.files.grep(pattern, options)).map(({ path, lines }) => `${path}:${lines.map(({ line }) => line)}`);
  for (const [pattern, options, expected] of [
    ["price", {}, ["src/cart.js:1"]],
    ["price", { ignoreCase: true }, ["notes.md:3", "src/cart.js:1,3", "src/price.js:1,5"]],
    ["price", { ignoreCase: true, path: "src" }, ["src/cart.js:1,3", "src/price.js:1,5"]],
    ["price", { ignoreCase: true, path: "notes.md" }, ["notes.md:3"]],
    ["price", { ignoreCase: true, glob: "*.md" }, ["notes.md:3"]],
    ["price", { ignoreCase: true, glob: "src/p*" }, ["src/price.js:1,5"]],
    ["price", { ignoreCase: true, maxResults: 2 }, ["notes.md:3", "src/cart.js:1"]],
    ["price", { maxResults: 0 }, []],
    ["(cart|pri)ce", {}, ["src/cart.js:1"]],
    ["nowhere", {}, []],
  ]) {
    assert.deepEqual(await found(pattern, options), expected, `${pattern} ${JSON.stringify(options)}`);
  }
});

test("a literal is found at every position, and similar text is not", async (t) => {
  const text = (before) =>
    "ed".repeat(50).slice(0, before) + (before % 2 === 0 ? "needle" : "neeDle") + "eld".repeat(before % 7);
  const files = Object.fromEntries(
    Array.from({ length: 80 }, (_, before) => [`${before}`, `nee_le NEED\n${text(before)}`]),
  );
  const agent = await create(t, { files });
  const found = (options) => agent.files.grep("needle", options);
  const expected = (isFound) =>
    Object.keys(files)
      .filter((name) => isFound(files[name]))
      .sort()
      .map((path) => ({ path, lines: [{ line: 2, text: text(Number(path)), isMatch: true }] }));
  assert.deepEqual(
    await found({}),
    expected((content) => content.includes("needle")),
  );
  assert.deepEqual(
    await found({ ignoreCase: true }),
    expected(() => true),
  );
  assert.deepEqual(
    await agent.files.grep("ne+d[kl]e[^ ]*$", { ignoreCase: true }),
    expected(() => true),
  );
});

test("searches see pending edits and the user's edits", async (t) => {
  const agent = await create(t);
  await agent.run("rename Price to Cost").result;
  await agent.files.write("new.js", "Cost();\n");
  const paths = async (pattern, options) => (await agent.files.grep(pattern, options)).map(({ path }) => path);
  assert.deepEqual(await paths("\\bCost\\b"), ["new.js", "src/cart.js", "src/price.js"]);
  assert.deepEqual(await paths("\\bPrice\\b"), []);
  assert.deepEqual(await paths("\\bCost\\b", { maxResults: 2 }), ["new.js", "src/cart.js"]);
  await agent.files.remove("src/cart.js");
  assert.deepEqual(await agent.files.glob("**/*.js"), ["new.js", "src/price.js"]);
});

test("glob returns paths; grep and glob skip hidden and ignored files", async (t) => {
  const files = {
    ".gitignore": "out/\n",
    "a.ts": "x",
    "b/c.tsx": "x",
    "b/d.js": "x",
    "out/e.ts": "x",
    ".env": "x",
    "bin.ts": new Uint8Array([120, 0]),
  };
  const agent = await create(t, { files });
  assert.deepEqual(await agent.files.glob("**/*.{ts,tsx}"), ["a.ts", "b/c.tsx", "bin.ts"]);
  assert.deepEqual(await agent.files.glob("*", { path: "b" }), ["b/c.tsx", "b/d.js"]);
  assert.deepEqual(await agent.files.glob("nothing"), []);
  assert.deepEqual(
    (await agent.files.grep("x")).map(({ path }) => path),
    ["a.ts", "b/c.tsx", "b/d.js"],
  );
});

test("searches that cannot run are rejected with suggestions", async (t) => {
  const agent = await create(t);
  for (const [search, code, message] of [
    [() => agent.files.grep("("), "invalid_argument", /unclosed group/],
    [() => agent.files.grep("a\\nb"), "invalid_argument", /within one line/],
    [() => agent.files.grep("a", { glob: "[" }), "invalid_argument", /unclosed/],
    [() => agent.files.grep("a", { path: "scr" }), "not_found", /scr/],
    [() => agent.files.grep("a", { maxResults: -1 }), "invalid_argument", /whole number/],
    [() => agent.files.grep(/a/), "invalid_argument", /must be a string/],
    [() => agent.files.glob("{"), "invalid_argument", /unclosed/],
    [() => agent.files.glob("*", { path: "../up" }), "permission_denied", /up/],
  ]) {
    await assert.rejects(search, (error) => isEmendError(error, code) && message.test(error.message), String(search));
  }
});

test("files are exported byte by byte, saved or visible, and can be imported again", async (t) => {
  const files = {
    ...SHOP,
    "logo.bin": new Uint8Array([0, 255, 128]),
    "empty/": "",
    ".hidden/x": "y",
    "ümlaut.txt": "ü",
  };
  const agent = await create(t, { files });
  await agent.run("rename Price to Cost").result;
  const saved = await agent.files.export();
  const expected = Object.entries(files).map(([path, content]) => [
    path,
    typeof content === "string" ? utf8(content) : content,
  ]);
  const sorted = (record) => Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
  assert.deepEqual(sorted(saved), sorted(Object.fromEntries(expected)));

  const seen = await agent.files.export({ pending: true });
  assert.match(new TextDecoder().decode(seen["src/price.js"]), /function Cost/);
  await agent.files.remove("notes.md");
  assert.equal("notes.md" in (await agent.files.export({ pending: true })), false);

  const again = await create(t, { files: saved });
  assert.deepEqual(sorted(await again.files.export()), sorted(saved));
  // The exported bytes belong to the caller.
  saved["logo.bin"][0] = 7;
  assert.deepEqual((await again.files.export())["logo.bin"], new Uint8Array([0, 255, 128]));
});

test("another agent's saved files are adopted, and later changes stay separate", async (t) => {
  const agent = await create(t, { files: { ...SHOP, "logo.bin": new Uint8Array([0, 255]), "empty/": "" } });
  const saved = await agent.files.export();
  await agent.run("rename Price to Cost").result;
  const [one, other] = [await create(t, { files: agent.files }), await create(t, { files: agent.files })];
  assert.deepEqual(await one.files.export(), saved);
  assert.equal(one.review().files.length, 0);

  await one.files.write("notes.md", "one's");
  await other.files.remove("notes.md");
  await agent.acceptAll();
  assert.match(await agent.files.readDisk("src/price.js"), /function Cost/);
  assert.match(await one.files.readDisk("src/price.js"), /function Price/);
  assert.deepEqual([await one.files.readDisk("notes.md"), await other.files.readDisk("notes.md")], ["one's", null]);
  // The files outlive the agent that they came from.
  agent.close();
  await one.run("rename Price to Cost").result;
  assert.match((await one.files.read("src/price.js")).text, /function Cost/);
});

test("files that cannot be imported are rejected", async (t) => {
  const [agent, closed] = [await create(t), await create(t)];
  closed.close();
  await assert.rejects(
    () => Agent.create({ files: closed.files }),
    (error) => isEmendError(error, "closed"),
  );
  await assert.rejects(
    () => Agent.create({ files: agent.files, quota: { bytes: 3 } }),
    (error) => isEmendError(error, "limit_reached"),
  );
  const foreign = { readDisk() {} };
  await assert.rejects(
    () => Agent.create({ files: foreign }),
    (error) => error instanceof ConfigError && /export/.test(error.message),
  );
  const unused = () => assert.fail("not asked for");
  const environment = { read: unused, write: unused, remove: unused, list: unused, stat: unused };
  const hosted = await create(t, { files: undefined, environment });
  await assert.rejects(
    () => Agent.create({ files: hosted.files }),
    (error) => isEmendError(error, "unsupported"),
  );
});

test("a quota rejects excess at creation, for the user and for the model", async (t) => {
  const limited = (error) =>
    isEmendError(error, "limit_reached") && /more than the 10 bytes|more than the 2 files/.test(error.message);
  await assert.rejects(() => Agent.create({ files: { a: "12345678901" }, quota: { bytes: 10 } }), limited);
  await assert.rejects(() => Agent.create({ files: { a: "", b: "", c: "" }, quota: { files: 2 } }), limited);

  const files = { a: "12345", b: "1" };
  const { model, told } = calling(
    ["write_file", { file_path: "c", content: "1" }],
    ["write_file", { file_path: "b", content: "12345" }],
  );
  const agent = await create(t, { files, model, mode: "direct", profile: "none", quota: { bytes: 10, files: 2 } });
  await assert.rejects(() => agent.files.write("c", "1"), limited);
  await assert.rejects(() => agent.files.write("a", "1234567890"), limited);
  assert.equal((await agent.files.write("a", "1234")).text, "1234");
  assert.equal(await agent.files.readDisk("c"), null);

  const { reason } = await agent.run("go").result;
  assert.equal(reason, "natural");
  assert.equal(told.length, 2);
  assert.ok(told[0].failed && /more than the 2 files/.test(told[0].content), told[0].content);
  assert.ok(!told[1].failed || /read/.test(told[1].content), told[1].content);
});

test("pending edits do not count; accepting beyond the quota fails, and the edits stay pending", async (t) => {
  const { model } = calling(["write_file", { file_path: "c", content: "123456\n" }]);
  const agent = await create(t, { files: { a: "12345" }, model, profile: "none", quota: { bytes: 10 } });
  await agent.run("go").result;
  const ids = hunkIds(agent.review());
  assert.equal(ids.length, 1);
  await assert.rejects(
    () => agent.accept(ids),
    (error) => isEmendError(error, "limit_reached"),
  );
  assert.equal(await agent.files.readDisk("c"), null);
  assert.deepEqual(hunkIds(agent.review()), ids);
  await agent.files.remove("a");
  assert.deepEqual((await agent.accept(ids)).files, []);
  assert.equal(await agent.files.readDisk("c"), "123456\n");
});

test("a quota is validated, and fixed when the agent is created", async (t) => {
  await assert.rejects(() => Agent.create({ quota: { size: 3 } }), ConfigError);
  await assert.rejects(() => Agent.create({ quota: { bytes: -1 } }), ConfigError);
  const agent = await create(t, { quota: { bytes: 100_000 } });
  assert.throws(() => agent.configure({ quota: { bytes: 1 } }), ConfigError);
  agent.configure({ maxTurns: 3 });
});
