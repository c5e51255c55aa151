// `nodeFs` beside other programs: their saves, killed writes, many calls at the same time, and names that are not UTF-8.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { Agent, ConflictError, isEmendError } from "emend";
import { fromDirectory, nodeFs } from "emend/node";
import { WorkerAgent } from "emend/worker";
import { results, scripted } from "./support.mjs";

const bytes = (text) => new TextEncoder().encode(text);
const text = (content) => new TextDecoder().decode(content);
const onDisk = { skip: process.platform === "win32" && "the system has neither these names nor these signals" };
const onLinux = { skip: process.platform !== "linux" && "the start of a process is known on Linux only" };

async function directory(t) {
  const made = await realpath(await mkdtemp(join(tmpdir(), "emend-node-fs-")));
  t.after(() => rm(made, { recursive: true, force: true }));
  return made;
}

/** Waits until a condition holds for the names in a directory. */
async function until(root, holds) {
  const end = Date.now() + 60_000;
  while (!holds(await readdir(root))) {
    if (Date.now() >= end) throw new Error("it did not come about within a minute");
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

const isTemporary = (name) => name.startsWith(".emend-");

/** Waits until a write has its temporary file, which is after its first look at the file. */
const whileWriting = (root) => until(root, (names) => names.some(isTemporary));

/** Starts a program, and returns it with its first output. */
async function program(t, script, ...args) {
  const child = spawn(process.execPath, ["--input-type=module", "-e", script, ...args], {
    cwd: import.meta.dirname,
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  const [said] = await once(child.stdout, "data");
  return { child, said: String(said).trim() };
}

test("nodeFs: a save of another program during a write is a conflict, and stays", onDisk, async (t) => {
  const root = await directory(t);
  const fs = nodeFs(root);
  const large = new Uint8Array(64_000_000);
  const saves = {
    "a.txt": () => writeFile(join(root, "a.txt"), "theirs"),
    "new.txt": () => writeFile(join(root, "new.txt"), "theirs"),
    "gone.txt": () => rm(join(root, "gone.txt")),
  };
  for (const [path, save] of Object.entries(saves)) {
    if (path !== "new.txt") await writeFile(join(root, path), "old");
    const writing = fs.write(path, large).then(
      () => assert.fail("the write succeeded"),
      (error) => error,
    );
    await whileWriting(root);
    await save();
    const error = await writing;
    assert.ok(error instanceof ConflictError && isEmendError(error, "stale"), String(error));
    assert.deepEqual([error.data, error.retryable], [{ path }, true]);
    const now = await readFile(join(root, path), "utf8").catch(({ code }) => code);
    assert.equal(now, path === "gone.txt" ? "ENOENT" : "theirs");
    await rm(join(root, path), { force: true });
  }
  assert.deepEqual(await readdir(root), []);
});

test("nodeFs: a removal and a write in place also keep a text that they do not expect", onDisk, async (t) => {
  const root = await directory(t);
  const fs = nodeFs(root);
  await writeFile(join(root, "one"), "theirs");
  await link(join(root, "one"), join(root, "two"));
  for (const replaces of [bytes("before"), bytes("longer than theirs"), null]) {
    await assert.rejects(fs.write("one", bytes("mine"), { replaces }), ConflictError);
    await assert.rejects(fs.remove("one", { replaces }), ConflictError);
  }
  assert.equal(await readFile(join(root, "two"), "utf8"), "theirs");
  await fs.write("one", bytes("mine"), { replaces: bytes("theirs") });
  assert.equal(await readFile(join(root, "two"), "utf8"), "mine");
  await fs.remove("one", { replaces: bytes("mine") });
  assert.deepEqual(await readdir(root), ["two"]);
});

test("nodeFs: writes of one file at the same time are no conflict, and the last one stays", async (t) => {
  const root = await directory(t);
  // The links are other paths and other environments of the same file.
  await mkdir(join(root, "d"));
  await symlink("d", join(root, "link"), "junction");
  const [one, other] = [nodeFs(root), nodeFs(root)];
  const writes = Array.from({ length: 40 }, (_, n) =>
    (n % 2 ? one : other).write(n % 3 ? "d/f" : "link/f", bytes(`${n} `.repeat(1_000))),
  );
  await Promise.all(writes);
  const now = await readFile(join(root, "d/f"), "utf8");
  assert.equal(now, `${Number.parseInt(now, 10)} `.repeat(1_000));
  await one.write("d/f", bytes("last"));
  assert.deepEqual([await readFile(join(root, "d/f"), "utf8"), await readdir(join(root, "d"))], ["last", ["f"]]);
});

test("nodeFs: many more writes and reads at the same time than open files succeed", async (t) => {
  const root = await directory(t);
  const few = `
    import { nodeFs } from "emend/node";
    const fs = nodeFs(process.argv[1]);
    const paths = Array.from({ length: 1_500 }, (_, n) => "d" + (n % 7) + "/" + n);
    await Promise.all(paths.map((path) => fs.write(path, Buffer.from(path))));
    const read = await Promise.all(paths.map((path) => fs.read(path)));
    console.log(read.every((bytes, n) => Buffer.from(bytes).toString() === paths[n]));`;
  // Few open files, as many systems allow.
  const shell = process.platform === "win32" ? [] : ["sh", "-c", 'ulimit -n 160; exec "$@"', "sh"];
  const [command, ...args] = [...shell, process.execPath, "--input-type=module", "-e", few, root];
  const child = spawn(command, args, { cwd: import.meta.dirname, stdio: ["ignore", "pipe", "pipe"] });
  const said = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => said.push(String(data)));
  await once(child, "close");
  assert.equal(said.join(""), "true\n");
});

test(
  "nodeFs: the temporary file of a killed process is not listed, and the next write removes it",
  onDisk,
  async (t) => {
    const root = await directory(t);
    await writeFile(join(root, "f"), "old");
    const { child } = await program(
      t,
      `import { nodeFs } from "emend/node";
    console.log("begun");
    nodeFs(process.argv[1]).write("f", new Uint8Array(400_000_000));`,
      root,
    );
    await whileWriting(root);
    const left = (await readdir(root)).find((name) => name !== "f");
    const fs = nodeFs(root);
    const names = async () => (await fs.list("")).map(({ name }) => name).sort();
    assert.deepEqual(await names(), ["f"]);
    // The process lives.
    await fs.write("other", bytes("x"));
    assert.ok((await readdir(root)).includes(left));
    child.kill("SIGKILL");
    await once(child, "exit");
    assert.deepEqual(await names(), ["f", "other"]);
    assert.deepEqual(Object.keys(await fromDirectory(root)).sort(), ["f", "other"]);
    assert.equal(await readFile(join(root, "f"), "utf8"), "old");
    // In another process, because this one has looked at the directory a moment ago.
    await program(
      t,
      `import { nodeFs } from "emend/node";
    await nodeFs(process.argv[1]).write("third", Buffer.from("x"));
    console.log("written");`,
      root,
    );
    assert.deepEqual((await readdir(root)).sort(), ["f", "other", "third"]);
  },
);

test("nodeFs: only temporary files of dead processes are removed", onLinux, async (t) => {
  const root = await directory(t);
  const { said } = await program(
    t,
    `import { nodeFs } from "emend/node";
    import { readdirSync } from "node:fs";
    nodeFs(process.argv[1]).write("f", new Uint8Array(400_000_000));
    const timer = setInterval(() => {
      const name = readdirSync(process.argv[1]).find((name) => name.startsWith(".emend-"));
      if (name) console.log(name), clearInterval(timer), setTimeout(() => {}, 60_000);
    }, 1);`,
    root,
  );
  await until(root, (names) => !names.some(isTemporary));
  const [, , system, pid, start] = /^(\.emend-)([0-9a-f]+)-(\d+)-(\d+)-/.exec(said);
  const name = (...parts) => `.emend-${parts.join("-")}-0123456789abcdef.tmp`;
  const dead = 2 ** 22 + 1;
  const [kept, removed] = [
    [
      name(system, pid, start),
      name(system, process.pid, 0),
      name("0123456789ab", dead, 1),
      ".emend-notes.tmp",
      `.emend-${crypto.randomUUID()}.tmp`,
      `${name(system, dead, 1)}.txt`,
    ],
    // The second one is of a process whose number another one has now; the last one of another system, two days ago.
    [name(system, dead, 1), name(system, process.pid, 1), name("ba9876543210", dead, 1)],
  ];
  for (const each of [...kept, ...removed]) await writeFile(join(root, each), "x");
  const before = new Date(Date.now() - 2 * 24 * 60 * 60 * 1_000);
  await utimes(join(root, removed[2]), before, before);
  await mkdir(join(root, name(system, dead, 2)));
  await nodeFs(root).write("mine", bytes("x"));
  assert.deepEqual((await readdir(root)).sort(), [...kept, "f", "mine", name(system, dead, 2)].sort());
  const listed = (await nodeFs(root).list("")).map((entry) => entry.name).sort();
  assert.deepEqual(listed, [...kept.slice(3), "f", "mine", name(system, dead, 2)].sort());
  await assert.rejects(nodeFs(root).write(name(system, dead, 1), bytes("x")), (error) =>
    isEmendError(error, "invalid_argument"),
  );
});

test("nodeFs: a private file stays private while it is written", onDisk, async (t) => {
  const root = await directory(t);
  await writeFile(join(root, "key"), "old", { mode: 0o600 });
  const modes = new Set();
  const writing = nodeFs(root).write("key", new Uint8Array(32_000_000));
  let over = false;
  writing.finally(() => (over = true));
  while (!over) {
    for (const name of await readdir(root)) {
      const found = await lstat(join(root, name)).catch(() => undefined);
      if (found) modes.add(found.mode & 0o777);
    }
  }
  await writing;
  assert.deepEqual([...modes], [0o600]);
});

test("nodeFs: the root is the directory to which a link led at the creation", onDisk, async (t) => {
  const folder = await directory(t);
  for (const name of ["one", "two"]) {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, "f"), name);
  }
  await symlink("one", join(folder, "root"));
  const fs = nodeFs(`${join(folder, "root")}/`);
  await rm(join(folder, "root"));
  await symlink("two", join(folder, "root"));
  assert.equal(text(await fs.read("f")), "one");
  assert.deepEqual(await fs.stat(""), { kind: "directory" });
  assert.deepEqual(
    (await fs.list("")).map(({ name }) => name),
    ["f"],
  );
  await fs.write("g", bytes("x"));
  await fs.remove("f");
  assert.deepEqual([await readdir(join(folder, "one")), await readdir(join(folder, "two"))], [["g"], ["f"]]);
  assert.equal(await readlink(join(folder, "root")), "two");
  assert.throws(
    () => nodeFs(`${folder}/\ud800`),
    (error) => isEmendError(error, "invalid_argument"),
  );
});

test("nodeFs: a name that is not UTF-8 is left out, and stands for no other file", onLinux, async (t) => {
  const root = await directory(t);
  const place = (name) => Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, "latin1")]);
  await writeFile(place("a\xff"), "not UTF-8");
  await writeFile(join(root, "a\ufffd"), "replacement character");
  await symlink(Buffer.from("a\xff", "latin1"), join(root, "link"));
  const fs = nodeFs(root);
  const listed = (await fs.list("")).map(({ name, kind }) => [name, kind]).sort();
  assert.deepEqual(listed, [
    ["a\ufffd", "file"],
    ["link", "other"],
  ]);
  assert.equal(text(await fs.read("a\ufffd")), "replacement character");
});

test(
  "nodeFs: a file that is too large for Node is an error of its own, and a search leaves it out",
  onDisk,
  async (t) => {
    const root = await directory(t);
    await writeFile(join(root, "large.bin"), "");
    // The file has no blocks.
    await truncate(join(root, "large.bin"), 2 ** 31 + 1);
    await writeFile(join(root, "small.txt"), "needle\n");
    const fs = nodeFs(root);
    await assert.rejects(fs.read("large.bin"), (error) => isEmendError(error, "limit_reached"));
    const agent = await Agent.create({ environment: fs });
    t.after(() => agent.close());
    const found = await agent.files.grep("needle");
    assert.deepEqual(
      found.map(({ path }) => path),
      ["small.txt"],
    );
  },
);

test("nodeFs: an agent reports a save of another program as a conflict, and keeps it", async (t) => {
  const changes = {
    write: (agent) => agent.files.write("a.txt", "mine\n"),
    accept: (agent) => agent.acceptAll(),
    create: (agent) => agent.files.write("new.txt", "mine\n"),
    remove: (agent) => agent.files.remove("a.txt"),
  };
  for (const [kind, change] of Object.entries(changes)) {
    const root = await directory(t);
    await writeFile(join(root, "a.txt"), "one Price\n");
    const inner = nodeFs(root);
    let isOnce = false;
    const save = async (path) => {
      if (isOnce) await writeFile(join(root, path), "theirs\n");
      isOnce = false;
    };
    const environment = {
      ...inner,
      write: async (path, ...more) => (await save(path), inner.write(path, ...more)),
      remove: async (path, ...more) => (await save(path), inner.remove(path, ...more)),
    };
    const agent = await Agent.create({ environment });
    t.after(() => agent.close());
    if (kind === "accept") await agent.run("rename Price to Cost").result;
    isOnce = true;
    const error = await change(agent).then(
      () => assert.fail(`${kind} succeeded`),
      (thrown) => thrown,
    );
    assert.ok(error instanceof ConflictError && isEmendError(error, "stale"), `${kind}: ${error}`);
    const path = kind === "create" ? "new.txt" : "a.txt";
    assert.equal(await readFile(join(root, path), "utf8"), "theirs\n", kind);
    // The text before is written if the user writes it.
    await agent.files.write(path, "one Price\n");
    assert.equal(await readFile(join(root, path), "utf8"), "one Price\n", kind);
  }
});

test("nodeFs: a model in direct mode is told of the conflict, and the other text stays", async (t) => {
  const root = await directory(t);
  await writeFile(join(root, "a.txt"), "one\n");
  const inner = nodeFs(root);
  let isOnce = true;
  const environment = {
    ...inner,
    async write(path, ...more) {
      if (isOnce) await writeFile(join(root, path), "theirs\n");
      isOnce = false;
      return inner.write(path, ...more);
    },
  };
  const edit = (from, to) => [["edit_file", { file_path: "a.txt", old_string: from, new_string: to }]];
  const look = [["read_file", { file_path: "a.txt" }]];
  const { model, requests } = scripted([look, edit("one", "two"), look, edit("theirs", "both"), "Done."]);
  for (const kind of [Agent, WorkerAgent]) {
    isOnce = true;
    requests.length = 0;
    await writeFile(join(root, "a.txt"), "one\n");
    const agent = await kind.create({ environment, model, mode: "direct", approve: () => "allow" });
    t.after(() => agent.close());
    await agent.run("go").result;
    assert.match(results(requests[2])[0], /^error: .*another program has changed the file meanwhile/, kind.name);
    assert.match(results(requests[3])[0], /theirs/, kind.name);
    assert.equal(await readFile(join(root, "a.txt"), "utf8"), "both\n", kind.name);
  }
});

/** An agent with pending edits of some names of one file. */
async function namesOfOneFile(t, instructions, wrap = (environment) => environment) {
  const root = await directory(t);
  const at = (name) => join(root, name);
  await writeFile(at("a.txt"), "colour one\nx\ny\nz\nw\ncolour two\n");
  for (const name of ["b.txt", "c.txt"]) await link(at("a.txt"), at(name));
  const agent = await Agent.create({ environment: wrap(nodeFs(root)) });
  t.after(() => agent.close());
  for (const instruction of instructions) await agent.run(instruction).result;
  return { agent, at, read: async () => text(await readFile(at("c.txt"))) };
}

test("nodeFs: equal edits of several names of one file are accepted and undone together", onDisk, async (t) => {
  const { agent, at, read } = await namesOfOneFile(t, ["rename colour to color"]);
  assert.equal(agent.review().files.length, 3);
  await agent.acceptAll();
  assert.equal(await read(), "color one\nx\ny\nz\nw\ncolor two\n");
  assert.equal((await lstat(at("a.txt"))).nlink, 3);
  assert.deepEqual(agent.review().files, []);
  assert.equal((await agent.files.read("b.txt")).text, "color one\nx\ny\nz\nw\ncolor two\n");
  await agent.undo();
  assert.equal(await read(), "colour one\nx\ny\nz\nw\ncolour two\n");
  assert.equal(agent.review().files.length, 3);
  await agent.redo();
  assert.equal(await read(), "color one\nx\ny\nz\nw\ncolor two\n");
  assert.equal(await agent.files.diff(), "");
});

test(
  "nodeFs: different edits of two names of one file are a conflict, and one after another none",
  onDisk,
  async (t) => {
    const { agent, read } = await namesOfOneFile(t, [
      'replace "one" with "1" in a.txt',
      'replace "two" with "2" in b.txt',
    ]);
    await assert.rejects(agent.acceptAll(), (error) => error instanceof ConflictError && error.code === "stale");
    assert.equal(await read(), "colour one\nx\ny\nz\nw\ncolour two\n");
    assert.equal(agent.review().files.length, 2);
    await agent.acceptAll("a.txt");
    await agent.acceptAll("b.txt");
    assert.equal(await read(), "colour 1\nx\ny\nz\nw\ncolour 2\n");
  },
);

test("nodeFs: a failed write after those of several names of one file restores it", onDisk, async (t) => {
  const writes = [];
  const fails = (environment) => ({
    ...environment,
    write(path, ...given) {
      writes.push(path);
      if (path === "d.txt" && writes.length > 1) throw new Error("no");
      return environment.write(path, ...given);
    },
  });
  const { agent, read } = await namesOfOneFile(t, ["rename colour to color"], fails);
  await agent.files.write("d.txt", "colour\n");
  await agent.run("rename colour to color in d.txt").result;
  assert.equal(agent.review().files.length, 4);
  await assert.rejects(agent.acceptAll(), (error) => isEmendError(error, "io_error") && error.data === undefined);
  assert.deepEqual(writes, ["d.txt", "a.txt", "d.txt", "c.txt"]);
  assert.equal(await read(), "colour one\nx\ny\nz\nw\ncolour two\n");
  assert.equal(agent.review().files.length, 4);
  await agent.acceptAll("c.txt");
  assert.equal(await read(), "color one\nx\ny\nz\nw\ncolor two\n");
});

test("nodeFs: an error about the root names it", async (t) => {
  const root = await directory(t);
  await writeFile(join(root, "a.txt"), "a\n");
  for (const [name, code, message] of [
    ["none", "not_found", "does not exist"],
    ["a.txt", "invalid_argument", "it is not a directory"],
  ]) {
    const environment = nodeFs(join(root, name));
    const agent = await Agent.create({ environment });
    t.after(() => agent.close());
    await assert.rejects(agent.files.list(), (error) => {
      assert.ok(error.message.startsWith(JSON.stringify(environment.workingDirectory)), error.message);
      return isEmendError(error, code) && error.message.endsWith(message);
    });
  }
});
