// The ready-made environments: what they do alike, and how each keeps to its root.

import assert from "node:assert/strict";
import {
  chmod,
  chown,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { Agent, ConflictError, isEmendError } from "emend";
import { directoryFs, memoryFs, opfsFs } from "emend/fs";
import { nodeFs } from "emend/node";
import { directoryHandle } from "./directory-handles.mjs";

const bytes = (text) => new TextEncoder().encode(text);
const text = (content) => new TextDecoder().decode(content);

/** Makes a directory on disk, which is removed when the test ends. */
async function directory(t) {
  // The temporary directory may be a symbolic link.
  const made = await realpath(await mkdtemp(join(tmpdir(), "emend-fs-")));
  t.after(() => rm(made, { recursive: true, force: true }));
  return made;
}

/** Checks that a call fails with a code, and returns the error. */
async function refuses(code, call, message) {
  let caught;
  await assert.rejects(call, (error) => ((caught = error), isEmendError(error)), message);
  assert.equal(caught.code, code, `${message ?? ""}: ${caught.message}`);
  return caught;
}

/** Replaces a global for the time of a test. */
function stub(t, name, value) {
  const before = Object.getOwnPropertyDescriptor(globalThis, name);
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  t.after(() => (before === undefined ? delete globalThis[name] : Object.defineProperty(globalThis, name, before)));
}

const KINDS = {
  memoryFs: async () => memoryFs(),
  nodeFs: async (t) => nodeFs(await directory(t)),
  directoryFs: async () => directoryFs(directoryHandle()),
  async opfsFs(t) {
    const handle = directoryHandle();
    stub(t, "navigator", { storage: { getDirectory: async () => handle } });
    return opfsFs("projects/one");
  },
};

for (const [kind, make] of Object.entries(KINDS)) {
  test(`${kind}: files are written, listed, described, read and removed`, async (t) => {
    const fs = await make(t);
    assert.deepEqual(await fs.list(""), []);
    await fs.write("src/deep/a.js", bytes("one\n"));
    await fs.write("src/deep/a.js", bytes("two\n"));
    await fs.write("__proto__", bytes("x"));
    assert.equal(text(await fs.read("src/deep/a.js")), "two\n");
    assert.deepEqual((await fs.list("")).map(({ name, kind }) => [name, kind]).sort(), [
      ["__proto__", "file"],
      ["src", "directory"],
    ]);
    const [listed] = await fs.list("src/deep");
    assert.deepEqual([listed.name, listed.kind, listed.size], ["a.js", "file", 4]);
    const stat = await fs.stat("src/deep/a.js");
    assert.deepEqual([stat.kind, stat.size, typeof stat.modifiedMs], ["file", 4, "number"]);
    assert.equal((await fs.stat("")).kind, "directory");
    assert.equal((await fs.stat("src")).kind, "directory");
    assert.equal(await fs.stat("gone/below"), null);
    assert.equal(await fs.stat("src/deep/a.js/below"), null);
    await fs.remove("src/deep/a.js");
    assert.deepEqual(await fs.list("src/deep"), []);
  });

  test(`${kind}: every failure has a code of the package and names its path`, async (t) => {
    const fs = await make(t);
    await fs.write("a/b.txt", bytes("b"));
    const calls = [
      ["not_found", "gone", () => fs.read("gone")],
      ["not_found", "a/b.txt/c", () => fs.read("a/b.txt/c")],
      ["not_found", "gone", () => fs.remove("gone")],
      ["not_found", "gone", () => fs.list("gone")],
      ["invalid_argument", "a", () => fs.read("a")],
      ["invalid_argument", "a", () => fs.remove("a")],
      ["invalid_argument", "a", () => fs.write("a", bytes("x"))],
      ["invalid_argument", "a/b.txt/c", () => fs.write("a/b.txt/c", bytes("x"))],
      ["invalid_argument", "a/b.txt", () => fs.list("a/b.txt")],
      ["invalid_argument", "", () => fs.write("", bytes("x"))],
      ["invalid_argument", "", () => fs.remove("")],
      ["invalid_argument", "n\0", () => fs.read("n\0")],
      ["invalid_argument", "c", () => fs.write("c", "a text")],
      ["invalid_argument", undefined, () => fs.read(undefined)],
    ];
    for (const [code, path, call] of calls) {
      const error = await refuses(code, call, String(call));
      assert.equal(error.data?.path, path, String(call));
    }
    const signal = AbortSignal.abort(new Error("enough"));
    const fails = [() => fs.read("a/b.txt", { signal }), () => fs.write("a/b.txt", bytes("x"), { signal })];
    for (const call of fails) assert.equal((await refuses("aborted", call)).cause, signal.reason);
    assert.equal(text(await fs.read("a/b.txt")), "b");
  });

  test(`${kind}: absolute paths and paths out of the root are refused`, async (t) => {
    const fs = await make(t);
    await fs.write("a/b.txt", bytes("b"));
    for (const path of ["..", "../x", "a/../../x", "a/../b", "/etc/passwd", "/"]) {
      const calls = [() => fs.read(path), () => fs.write(path, bytes("x")), () => fs.remove(path), () => fs.list(path)];
      for (const call of [...calls, () => fs.stat(path)]) await refuses("permission_denied", call, `${path} ${call}`);
    }
  });

  test(`${kind}: a path of a directory names no file`, async (t) => {
    const fs = await make(t);
    await fs.write("a/b.txt", bytes("b"));
    for (const path of ["a/b.txt/", "a/b.txt/.", "a/new/"]) {
      for (const call of [() => fs.read(path), () => fs.write(path, bytes("x")), () => fs.remove(path)])
        await refuses("invalid_argument", call, `${path} ${call}`);
      assert.equal(await fs.stat(path), null, path);
    }
    assert.equal((await fs.stat("a/")).kind, "directory");
    for (const path of ["a/", "./a/."])
      assert.deepEqual(
        (await fs.list(path)).map(({ name }) => name),
        ["b.txt"],
      );
    assert.equal(text(await fs.read("a//b.txt")), "b");
  });

  test(`${kind}: a path with half of a surrogate pair is refused`, async (t) => {
    const fs = await make(t);
    for (const path of ["a\ud800", "\udc00/b", "\ud83d"]) {
      const calls = [() => fs.read(path), () => fs.write(path, bytes("x")), () => fs.remove(path), () => fs.list(path)];
      for (const call of [...calls, () => fs.stat(path)]) await refuses("invalid_argument", call, `${path} ${call}`);
    }
    assert.deepEqual(await fs.list(""), []);
    await fs.write("\ud83d\ude00", bytes("whole"));
    assert.equal(text(await fs.read("😀")), "whole");
  });

  test(`${kind}: a change that replaces another content is a conflict, and changes nothing`, async (t) => {
    const fs = await make(t);
    await fs.write("a/b.txt", bytes("old"), { replaces: null });
    const calls = [
      ["a/b.txt", (path) => fs.write(path, bytes("x"), { replaces: null })],
      ["a/b.txt", (path) => fs.write(path, bytes("x"), { replaces: bytes("odd") })],
      ["a/b.txt", (path) => fs.write(path, bytes("x"), { replaces: bytes("older") })],
      ["a/b.txt", (path) => fs.remove(path, { replaces: bytes("odd") })],
      ["a/c.txt", (path) => fs.write(path, bytes("x"), { replaces: bytes("old") })],
      ["a/c.txt", (path) => fs.remove(path, { replaces: bytes("old") })],
    ];
    for (const [path, call] of calls) {
      const error = await refuses("stale", () => call(path), String(call));
      assert.ok(error instanceof ConflictError && error.retryable && error.data.path === path, String(call));
    }
    assert.deepEqual(
      (await fs.list("a")).map(({ name, size }) => [name, size]),
      [["b.txt", 3]],
    );
    await refuses("invalid_argument", () => fs.write("a/b.txt", bytes("x"), { replaces: "old" }));
    await fs.write("a/b.txt", bytes("new"), { replaces: bytes("old") });
    assert.equal(text(await fs.read("a/b.txt")), "new");
    await fs.remove("a/b.txt", { replaces: bytes("new") });
    assert.deepEqual(await fs.list("a"), []);
  });

  test(`${kind}: an agent edits a project in it`, async (t) => {
    const fs = await make(t);
    await fs.write("src/price.js", bytes("export const Price = 1;\n"));
    const agent = await Agent.create({ environment: fs });
    t.after(() => agent.close());
    await agent.run("rename Price to Cost").result;
    assert.equal(text(await fs.read("src/price.js")), "export const Price = 1;\n");
    await agent.acceptAll();
    assert.equal(text(await fs.read("src/price.js")), "export const Cost = 1;\n");
  });
}

test("memoryFs copies what it takes and gives", async () => {
  const given = { "a.txt": bytes("a"), "empty/": "" };
  const fs = memoryFs(given);
  given["a.txt"][0] = 0;
  (await fs.read("a.txt"))[0] = 0;
  const written = bytes("b");
  await fs.write("b.txt", written);
  written[0] = 0;
  assert.deepEqual(fs.export(), { "a.txt": bytes("a"), "empty/": new Uint8Array(), "b.txt": bytes("b") });
  assert.throws(
    () => memoryFs({ "../a": "x" }),
    (error) => isEmendError(error, "permission_denied"),
  );
});

test("directoryFs: a write that fails leaves the file as it was, and no new file", async () => {
  const handle = directoryHandle();
  const fs = directoryFs(handle);
  await fs.write("old.txt", bytes("old"));
  for (const path of ["old.txt", "new.txt"])
    await refuses("limit_reached", () => fs.write(path, bytes("too large")), path);
  assert.equal(text(await fs.read("old.txt")), "old");
  assert.equal(await fs.stat("new.txt"), null);
  assert.deepEqual(handle.log, [
    "create old.txt",
    "abort old.txt",
    "create new.txt",
    "abort new.txt",
    "remove new.txt",
  ]);
});

test("directoryFs: a missing permission says how to ask for it", async () => {
  const denied = async () => {
    throw Object.assign(new Error("no"), { name: "NotAllowedError" });
  };
  const error = await refuses("permission_denied", () =>
    directoryFs({ ...directoryHandle(), getFileHandle: denied }).read("a"),
  );
  assert.match(error.suggestions[0], /requestPermission/);
});

test("opfsFs says that there is no private file system, with the first call", async () => {
  await refuses("unsupported", () => opfsFs().list(""));
  for (const path of ["../x", "/x"])
    assert.throws(
      () => opfsFs(path),
      (error) => isEmendError(error, "permission_denied"),
    );
});

const onDisk = { skip: process.platform === "win32" && "symbolic links need a privilege" };

test("nodeFs: symbolic links that lead out of the root are refused, others are followed", onDisk, async (t) => {
  const outside = await directory(t);
  const root = join(outside, "project");
  await mkdir(join(root, "src"), { recursive: true });
  await writeFile(join(outside, "secret.txt"), "secret");
  await writeFile(join(root, "src/a.txt"), "a");
  await symlink(outside, join(root, "out"));
  await symlink("../secret.txt", join(root, "secret"));
  await symlink(join(outside, "new.txt"), join(root, "dangling"));
  await symlink(join(outside, "nowhere"), join(root, "nowhere"));
  await symlink("src", join(root, "in"));
  await symlink(join(root, "src/a.txt"), join(root, "a"));
  const fs = nodeFs(root);
  const calls = [
    () => fs.read("secret"),
    () => fs.read("out/secret.txt"),
    () => fs.list("out"),
    () => fs.stat("out/secret.txt"),
    () => fs.write("secret", bytes("x")),
    () => fs.write("out/secret.txt", bytes("x")),
    () => fs.write("out/new/deep.txt", bytes("x")),
    () => fs.write("dangling", bytes("x")),
    () => fs.write("nowhere/new.txt", bytes("x")),
    () => fs.remove("out/secret.txt"),
  ];
  for (const call of calls) await refuses("permission_denied", call, String(call));
  assert.deepEqual((await readdir(outside)).sort(), ["project", "secret.txt"]);
  assert.equal(await readFile(join(outside, "secret.txt"), "utf8"), "secret");
  // The agent resolves links itself, so they are told as links.
  assert.deepEqual(await fs.stat("secret"), { kind: "link", target: "../secret.txt" });
  assert.deepEqual(await fs.stat("a"), { kind: "link", target: join(root, "src/a.txt") });
  assert.deepEqual(
    (await fs.list("")).find(({ name }) => name === "in"),
    { name: "in", kind: "link", target: "src" },
  );
  assert.equal(text(await fs.read("in/a.txt")), "a");
  await fs.write("a", bytes("b"));
  assert.ok((await lstat(join(root, "a"))).isSymbolicLink());
  assert.equal(await readFile(join(root, "src/a.txt"), "utf8"), "b");
  await fs.remove("secret");
  assert.equal(await readFile(join(outside, "secret.txt"), "utf8"), "secret");
});

test("nodeFs: a root that is a symbolic link works, with absolute links below it", onDisk, async (t) => {
  const folder = await directory(t);
  await mkdir(join(folder, "real"));
  await symlink("real", join(folder, "root"));
  await writeFile(join(folder, "real/a.txt"), "a");
  await symlink(join(folder, "real/a.txt"), join(folder, "real/link"));
  const fs = nodeFs(join(folder, "root"));
  const agent = await Agent.create({ environment: fs });
  t.after(() => agent.close());
  assert.equal((await agent.files.read("link")).text, "a");
  assert.equal(fs.workingDirectory, join(folder, "root"));
});

test(
  "nodeFs: a directory that another program swaps for a link gives nothing away and takes nothing",
  onDisk,
  async (t) => {
    const folder = await directory(t);
    const [root, outside] = [join(folder, "root"), join(folder, "outside")];
    const [inside, aside] = [join(root, "d"), join(root, "aside")];
    await mkdir(inside, { recursive: true });
    await mkdir(outside);
    await writeFile(join(outside, "f"), "secret");
    await writeFile(join(inside, "f"), "mine");
    const fs = nodeFs(root);
    let over = false;
    const attempt = (work) => work.catch(() => {});
    const swapping = (async () => {
      while (!over) {
        await attempt(rename(inside, aside));
        await attempt(symlink(outside, inside));
        // A write may have made the directory in the meantime.
        await rm(inside, { recursive: true, force: true });
        await attempt(rename(aside, inside));
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    })();
    for (let i = 0; i < 300; i += 1) {
      const [read, wrote, list] = await Promise.allSettled([
        fs.read("d/f"),
        fs.write("d/g", bytes("mine")),
        fs.list("d"),
      ]);
      for (const { reason } of [read, wrote, list])
        assert.ok(reason === undefined || isEmendError(reason), String(reason));
      if (read.status === "fulfilled") assert.equal(text(read.value), "mine");
    }
    over = true;
    await swapping;
    assert.deepEqual(await readdir(outside), ["f"]);
    assert.equal(await readFile(join(outside, "f"), "utf8"), "secret");
  },
);

test("nodeFs: a write keeps the owner of a file, and its set-id bits only with the owner", onDisk, async (t) => {
  const root = await directory(t);
  const own = process.getuid?.() ?? 0;
  const place = join(root, "tool.sh");
  await writeFile(place, "old");
  // Only root can give a file away. Others see that the bits of their own file stay.
  const owner = own === 0 ? 65_534 : own;
  if (own === 0) await chown(place, owner, owner);
  await chmod(place, 0o4755);
  await nodeFs(root).write("tool.sh", bytes("new"));
  const after = await lstat(place);
  assert.deepEqual([after.uid, after.mode & 0o7777, await readFile(place, "utf8")], [owner, 0o4755, "new"]);
});

test("nodeFs: a write replaces the file at once, keeps its mode, and leaves no temporary file", onDisk, async (t) => {
  const root = await directory(t);
  const fs = nodeFs(root);
  await writeFile(join(root, "run.sh"), "old");
  await chmod(join(root, "run.sh"), 0o750);
  const before = await lstat(join(root, "run.sh"));
  await fs.write("run.sh", bytes("new"));
  const after = await lstat(join(root, "run.sh"));
  assert.equal(after.mode & 0o777, 0o750);
  assert.notEqual(after.ino, before.ino);
  await writeFile(join(root, "one"), "old");
  await link(join(root, "one"), join(root, "two"));
  await fs.write("one", bytes("n"));
  assert.equal(await readFile(join(root, "two"), "utf8"), "n");
  const controller = new AbortController();
  const writing = fs.write("run.sh", new Uint8Array(1_000_000), { signal: controller.signal });
  controller.abort();
  await refuses("aborted", () => writing);
  assert.equal(await readFile(join(root, "run.sh"), "utf8"), "new");
  assert.deepEqual((await readdir(root)).sort(), ["one", "run.sh", "two"]);
});

test("nodeFs: a root that does not exist is an error with the first call, and only then", async (t) => {
  const root = join(await directory(t), "later");
  const fs = nodeFs(root);
  await refuses("not_found", () => fs.list(""));
  await mkdir(root);
  assert.deepEqual(await fs.list(""), []);
});
