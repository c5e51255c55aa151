// Wrong arguments of every public function: each is an error with a code, never a `TypeError` and never ignored.

import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import test from "node:test";
import {
  Agent,
  fromDirectory,
  fromZip,
  indexedDbStore,
  init,
  isEmendError,
  memoryStore,
  toDirectory,
  toZip,
} from "emend";
import { load } from "emend/edit";
import { directoryFs, memoryFs, opfsFs } from "emend/fs";
import { Client, load as loadFormats } from "emend/llm";
import * as node from "emend/node";

const edit = await load();
const formats = await loadFormats();
const agent = await Agent.create({ files: { "a.txt": "a\n" } });
const client = await Client.create({ providers: [{ api: "openai-chat", apiKey: "k", baseUrl: "http://127.0.0.1:9" }] });
const log = edit.openLog("a\n");
const text = edit.openText("a\n");
const patch = { format: "replace", path: "a", oldText: "a", newText: "b" };
const request = { model: "m", messages: [] };
const folder = { kind: "directory", name: "shop", entries: () => [] };
const user = { origin: "user" };

const WRONG = {
  null: null,
  number: 3,
  string: "x",
  array: [],
  bigint: 1n,
  Map: new Map(),
  promise: Promise.resolve({}),
};

/** Returns the wrong values except for those of some kinds, which are right here. */
const except = (...kinds) => Object.keys(WRONG).filter((kind) => !kinds.includes(kind));
const ALL = except();
/** For arguments that must be a text. */
const TEXT = except("string");

/** Calls with one argument to replace, the kinds of wrong values for it, and the code of the error. */
const CALLS = [
  ["Agent.create options", (x) => Agent.create(x), ALL, "configuration"],
  ["Agent.create files", (x) => Agent.create({ files: x }), ALL, "configuration"],
  ["Agent.create model", (x) => Agent.create({ model: x }), ALL, "configuration"],
  ["Agent.create provider", (x) => Agent.create({ model: { provider: x } }), ALL, "configuration"],
  ["Agent.create quota", (x) => Agent.create({ quota: x }), ALL, "configuration"],
  ["Agent.create tools", (x) => Agent.create({ tools: x }), except("array"), "configuration"],
  ["Agent.create tool", (x) => Agent.create({ tools: [x] }), ALL, "configuration"],
  ["Agent.create tool name", (x) => Agent.create({ tools: [{ name: x, parameters: {} }] }), ALL, "configuration"],
  ["Agent.create environment", (x) => Agent.create({ environment: x }), ALL, "configuration"],
  ["Agent.create store", (x) => Agent.create({ store: x }), ALL, "configuration"],
  ["Agent.create approve", (x) => Agent.create({ approve: x }), ALL, "configuration"],
  ["Agent.create shell", (x) => Agent.create({ shell: x }), ALL, "configuration"],
  ["Agent.create fetch", (x) => Agent.create({ fetch: x }), ALL, "configuration"],
  ["Agent.resume id", (x) => Agent.resume(x, { store: memoryStore() }), TEXT],
  ["Agent.resume options", (x) => Agent.resume("sess_1", x), ALL, "configuration"],
  ["Agent.fork id", (x) => Agent.fork(x, { store: memoryStore() }), TEXT],
  ["Agent.fork options", (x) => Agent.fork("sess_1", x), ALL, "configuration"],
  ["Agent.fork turns", (x) => Agent.fork("sess_1", { store: memoryStore(), turns: x }), except("number")],
  ["Agent.sessions", (x) => Agent.sessions(x), ALL, "configuration"],
  ["Agent.removeSession store", (x) => Agent.removeSession(x, "sess_1"), ALL, "configuration"],
  ["Agent.removeSession id", (x) => Agent.removeSession(memoryStore(), x), TEXT],
  ["agent.run task", (x) => agent.run(x), TEXT],
  ["agent.run options", (x) => agent.run("hi", x), ALL],
  ["agent.run signal", (x) => agent.run("hi", { signal: x }), except("null")],
  ["agent.followUp", (x) => agent.followUp(x), TEXT],
  ["agent.events", (x) => agent.events(x), ALL],
  ["agent.events after", (x) => agent.events({ after: x }), except("number")],
  ["agent.configure", (x) => agent.configure(x), ALL, "configuration"],
  ["agent.setModel", (x) => agent.setModel(x), ALL, "configuration"],
  ["agent.accept ids", (x) => agent.accept(x), except("array")],
  ["agent.accept id", (x) => agent.accept([x]), TEXT],
  ["agent.accept options", (x) => agent.accept([], x), ALL],
  ["agent.accept over", (x) => agent.accept([], { over: x }), ALL],
  ["agent.reject ids", (x) => agent.reject(x), except("array")],
  ["agent.reject options", (x) => agent.reject([], x), ALL],
  ["agent.reject dependents", (x) => agent.reject([], { dependents: x }), ALL],
  ["agent.acceptAll", (x) => agent.acceptAll(x), TEXT],
  ["agent.rejectAll", (x) => agent.rejectAll(x), TEXT],
  ["canvas.open", (x) => agent.canvas.open(x), TEXT],
  ["files.read", (x) => agent.files.read(x), TEXT],
  ["files.readDisk", (x) => agent.files.readDisk(x), TEXT],
  ["files.write path", (x) => agent.files.write(x, ""), TEXT],
  ["files.write text", (x) => agent.files.write("b.txt", x), TEXT],
  ["files.write options", (x) => agent.files.write("b.txt", "", x), ALL],
  ["files.write base", (x) => agent.files.write("b.txt", "", { base: x }), TEXT],
  ["files.remove", (x) => agent.files.remove(x), TEXT],
  ["files.grep pattern", (x) => agent.files.grep(x), TEXT],
  ["files.grep options", (x) => agent.files.grep("a", x), ALL],
  ["files.grep ignoreCase", (x) => agent.files.grep("a", { ignoreCase: x }), ALL],
  ["files.glob pattern", (x) => agent.files.glob(x), TEXT],
  ["files.glob options", (x) => agent.files.glob("*", x), ALL],
  ["files.export options", (x) => agent.files.export(x), ALL],
  ["files.export pending", (x) => agent.files.export({ pending: x }), ALL],
  ["init", (x) => init(x), ALL],
  ["toZip files", (x) => toZip(x), ALL],
  ["toZip file", (x) => toZip({ a: x }), TEXT],
  ["toZip options", (x) => toZip({ a: "b" }, x), ALL],
  ["toZip level", (x) => toZip({ a: "b" }, { level: x }), except("number")],
  ["toZip modified", (x) => toZip({ a: "b" }, { modified: x }), ALL],
  ["fromZip archive", (x) => fromZip(x), ALL],
  ["fromZip options", (x) => fromZip(new Uint8Array(3), x), ALL],
  ["fromZip filter", (x) => fromZip(new Uint8Array(3), { filter: x }), ALL],
  ["fromDirectory source", (x) => fromDirectory(x), except("string", "array", "Map")],
  ["fromDirectory options", (x) => fromDirectory(folder, x), ALL],
  ["toDirectory target", (x) => toDirectory(x, {}), ALL],
  ["toDirectory files", (x) => toDirectory(folder, x), ALL],
  ["indexedDbStore", (x) => indexedDbStore(x), TEXT],
  ["memoryFs files", (x) => memoryFs(x), except("promise")],
  ["memoryFs path", (x) => memoryFs().read(x), TEXT],
  ["memoryFs content", (x) => memoryFs().write("a", x), ALL],
  ["directoryFs handle", (x) => directoryFs(x), ALL],
  ["opfsFs directory", (x) => opfsFs(x), TEXT],
  ["node.nodeFs root", (x) => node.nodeFs(x), TEXT],
  ["node.nodeFs path", (x) => node.nodeFs(tmpdir()).list(x), TEXT],
  ["node.fileStore", (x) => node.fileStore(x), TEXT],
  ["node.fileStore name", (x) => node.fileStore(tmpdir()).load(x), TEXT],
  ["node.fromDirectory path", (x) => node.fromDirectory(x), TEXT],
  ["node.fromDirectory options", (x) => node.fromDirectory(tmpdir(), x), ALL],
  ["node.toDirectory path", (x) => node.toDirectory(x, {}), TEXT],
  ["node.toDirectory files", (x) => node.toDirectory(tmpdir(), x), ALL],
  ["edit.load", (x) => load(x), ALL],
  ["edit.hash", (x) => edit.hash(x), TEXT],
  ["edit.truncateOutput tool", (x) => edit.truncateOutput(x, "a"), TEXT],
  ["edit.truncateOutput output", (x) => edit.truncateOutput("shell", x), TEXT],
  ["edit.truncateOutput limits", (x) => edit.truncateOutput("shell", "a", x), ALL],
  ["edit.truncate text", (x) => edit.truncate(x, {}), TEXT],
  ["edit.truncate limits", (x) => edit.truncate("a", x), ALL],
  ["edit.truncate chars", (x) => edit.truncate("a", { chars: x }), except("number")],
  ["edit.truncate keep", (x) => edit.truncate("a", { keep: x }), ALL],
  ["edit.diff before", (x) => edit.diff(x, "a"), TEXT],
  ["edit.diff options", (x) => edit.diff("a", "b", x), ALL],
  ["edit.diff words", (x) => edit.diff("a", "b", { words: x }), ALL],
  ["edit.diffWords", (x) => edit.diffWords("a", x), TEXT],
  ["edit.unifiedDiff options", (x) => edit.unifiedDiff("a", "b", x), ALL],
  ["edit.unifiedDiff context", (x) => edit.unifiedDiff("a", "b", { context: x }), except("number")],
  ["edit.unifiedDiff oldName", (x) => edit.unifiedDiff("a", "b", { oldName: x }), except("string", "null")],
  ["edit.merge3", (x) => edit.merge3("a", "b", x), TEXT],
  ["edit.compare3", (x) => edit.compare3("a", "b", x), TEXT],
  ["edit.parse", (x) => edit.parse(x), ALL],
  ["edit.parse format", (x) => edit.parse({ format: x }), ALL],
  ["edit.parse overwrite", (x) => edit.parse({ format: "v4a", text: "", overwrite: x }), ALL],
  ["edit.parse replaceAll", (x) => edit.parse({ ...patch, replaceAll: x }), ALL],
  ["edit.plan files", (x) => edit.plan(patch, x), except("Map")],
  ["edit.apply files", (x) => edit.apply(patch, x), ALL],
  ["edit.apply file", (x) => edit.apply(patch, { a: x }), except("string", "null")],
  ["edit.editText text", (x) => edit.editText(x, patch), TEXT],
  ["edit.editText patch", (x) => edit.editText("a", x), ALL],
  ["edit.openText", (x) => edit.openText(x), TEXT],
  ["text.apply", (x) => text.apply(x), ALL],
  ["text.lines", (x) => text.lines(1, x), except("number")],
  ["parseStream push", (x) => edit.parseStream().push(x), TEXT],
  ["edit.openLog", (x) => edit.openLog(x), except("string", "null")],
  ["edit.loadLog", (x) => edit.loadLog(x), ALL],
  ["log.write text", (x) => log.write(x, user), TEXT],
  ["log.write info", (x) => log.write("b", x), ALL],
  ["log.write atMs", (x) => log.write("b", { ...user, atMs: x }), except("number", "null")],
  ["log.delete", (x) => log.delete(x), ALL],
  ["log.rename", (x) => log.rename("b", x), ALL],
  ["log.external text", (x) => log.external(x), except("string", "null")],
  ["log.external info", (x) => log.external("b", x), ALL],
  ["log.change", (x) => log.change(x), except("number")],
  ["log.dependents", (x) => log.dependents(x), except("array")],
  ["log.hunks", (x) => log.hunks(x), ALL],
  ["log.accept ids", (x) => log.accept(x), except("array")],
  ["log.accept info", (x) => log.accept([], x), ALL],
  ["log.reject info", (x) => log.reject([], x), ALL],
  ["log.changesOf", (x) => log.changesOf(x), TEXT],
  ["log.undo", (x) => log.undo(x), ALL],
  ["log.redo", (x) => log.redo(x), ALL],
  ["log.release", (x) => log.release(x), except("number")],
  ["log.split", (x) => log.split(0, x), except("number")],
  ["llm.load", (x) => loadFormats(x), ALL],
  ["Client.create", (x) => Client.create(x), ALL],
  ["Client.create env", (x) => Client.create({ env: x }), ALL, "configuration"],
  ["Client.create providers", (x) => Client.create({ providers: x, env: {} }), except("array"), "configuration"],
  ["Client.create provider", (x) => Client.create({ providers: [x] }), ALL, "configuration"],
  ["Client.create headers", (x) => provider({ headers: x }), ALL, "configuration"],
  ["Client.create fetch", (x) => Client.create({ providers: [], env: {}, fetch: x }), ALL, "configuration"],
  ["client.complete request", (x) => client.complete(x), ALL],
  ["client.complete options", (x) => client.complete(request, x), ALL],
  ["client.stream options", (x) => client.stream(request, x), ALL],
  ["client.generate", (x) => client.generate(x), ALL],
  ["client.generate tools", (x) => client.generate({ ...request, tools: x }), except("array")],
  ["client.generate tool", (x) => client.generate({ ...request, tools: [x] }), ALL],
  ["client.generateObject options", (x) => client.generateObject(x, {}), ALL],
  ["client.generateObject schema", (x) => client.generateObject({ model: "m", prompt: "x" }, x), ALL],
  ["formats.encode provider", (x) => formats.encode(x, request), ALL],
  ["formats.encode request", (x) => formats.encode({ api: "openai-chat", apiKey: "k" }, x), ALL],
  ["formats.encode options", (x) => formats.encode({ api: "openai-chat", apiKey: "k" }, request, x), ALL],
  ["formats.decoder api", (x) => formats.decoder(x), TEXT],
  ["formats.decoder options", (x) => formats.decoder("openai-chat", x), ALL],
  ["formats.decoder headers", (x) => formats.decoder("openai-chat", { headers: x }), except("array", "Map")],
  ["decoder.push", (x) => formats.decoder("openai-chat").push(x), TEXT],
  ["formats.decodeError answer", (x) => formats.decodeError("openai-chat", x), ALL],
  ["formats.decodeError body", (x) => formats.decodeError("openai-chat", { status: 400, body: x }), TEXT],
  ["formats.models", (x) => formats.models(x), TEXT],
  ["formats.modelInfo", (x) => formats.modelInfo(x), TEXT],
  ["formats.latestModel", (x) => formats.latestModel(x), TEXT],
];

const provider = (settings) => Client.create({ providers: [{ api: "openai-chat", apiKey: "k", ...settings }] });

/** Returns the error of a call, or `undefined` if it has none. */
async function errorOf(call) {
  try {
    await call();
    return undefined;
  } catch (error) {
    return error;
  }
}

test("an empty path of a directory on disk is refused, and not the current directory", async () => {
  for (const path of ["", "a\0b", "a\ud800"]) {
    for (const call of [
      () => node.nodeFs(path),
      () => node.fileStore(path),
      () => node.fromDirectory(path),
      () => node.toDirectory(path, {}),
    ]) {
      const error = await errorOf(call);
      assert.ok(isEmendError(error, "invalid_argument"), `${call}: ${JSON.stringify(path)}: ${error}`);
      if (path === "") assert.match(error.message, /^the \w+ is empty; use `process\.cwd\(\)`/);
    }
  }
});

test("a URL in place of a path says which function makes it one", async () => {
  const error = await errorOf(() => node.nodeFs(new URL("file:///home")));
  assert.ok(isEmendError(error, "invalid_argument") && error.message.includes("`fileURLToPath(url)`"), `${error}`);
});

test("a wrong argument of any function is an error with a code", async () => {
  const others = [];
  for (const [name, call, kinds, code = "invalid_argument"] of CALLS) {
    for (const kind of kinds) {
      const error = await errorOf(() => call(WRONG[kind]));
      if (!isEmendError(error, code)) others.push(`${name}, ${kind}: ${error?.code} ${error}`);
    }
  }
  assert.deepEqual(others, []);
  // The objects still work.
  assert.equal(log.visibleText, "a\n");
  assert.equal((await agent.files.read("a.txt")).text, "a\n");
  assert.deepEqual(agent.review().files, []);
});

test("an option with an unknown name is an error that lists the known names", async () => {
  const check = async (call, names) => {
    const error = await errorOf(call);
    assert.ok(isEmendError(error, "invalid_argument"), `${call}: ${error}`);
    assert.equal(error.message, `unknown option "oops", expected one of ${names}`);
  };
  const oops = { oops: 1 };
  await check(() => edit.truncate("abc", oops), "chars, lines, keep");
  await check(() => edit.truncateOutput("shell", "abc", oops), "chars, lines");
  await check(() => edit.diff("a", "b", oops), "context, words");
  await check(() => edit.unifiedDiff("a", "b", oops), "context, oldName, newName");
  await check(() => toZip({ a: "b" }, oops), "level, modified");
  await check(() => fromZip(new Uint8Array(3), oops), "filter, maxBytes, maxFiles");
  await check(() => agent.run("hi", oops), "signal, images");
  await check(() => agent.accept([], oops), "over");
  await check(() => agent.files.write("a.txt", "", oops), "base");
  // Absent and `undefined` are the same.
  assert.equal(edit.truncate("abc", { oops: undefined }).text, "abc");
});

test("NaN in the data of an edit is an error, not an absent value", () => {
  const edits = [{ operation: "replace", startLine: 1, endLine: Number.NaN, newText: "x" }];
  assert.throws(
    () => edit.parse({ format: "lines", path: "a", edits }),
    (error) => isEmendError(error, "invalid_argument") && /`endLine` is NaN/.test(error.message),
  );
});

test("an unknown tool's output has the limits of a tool of one's own", () => {
  assert.equal(edit.truncateOutput("my_tool", "a".repeat(30_000)).truncated, false);
  assert.equal(edit.truncateOutput("my_tool", "a".repeat(30_001)).truncated, true);
});

test("files that are not a record are named, with the next step", async () => {
  const cases = [
    [Promise.resolve({ a: "b" }), /not a promise; put `await` before it$/],
    [new Map([["a", "b"]]), /must be a record of contents by path; use `Object\.fromEntries`$/],
    [new Date(), /must be an object with properties$/],
    [new Uint8Array(3), /unpack an archive with `await fromZip\(…\)`$/],
    [new Blob(["x"]), /unpack an archive with `await fromZip\(…\)`$/],
  ];
  for (const [files, reason] of cases) {
    const refused = (code) => (error) => isEmendError(error, code) && reason.test(error.message);
    await assert.rejects(Agent.create({ files }), refused("configuration"), String(reason));
    await assert.rejects(toZip(files), refused("invalid_argument"), String(reason));
    await assert.rejects(toDirectory(folder, files), refused("invalid_argument"), String(reason));
  }
  // A class instance, an object of no class and a module are records.
  class Project {
    "a.txt" = "a";
  }
  for (const files of [new Project(), Object.assign(Object.create(null), { "a.txt": "a" }), {}]) await toZip(files);
});
