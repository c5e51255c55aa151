// Environments of a host: an agent over its files, its return values and exceptions, cancellation.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { Agent, ConfigError, isEmendError, toDirectory as toFolder } from "emend";
import { directoryFs, memoryFs } from "emend/fs";
import { nodeFs, toDirectory } from "emend/node";
import { directoryHandle } from "./directory-handles.mjs";
import { create, failure, mapped } from "./environments.mjs";
import { collect, hunkIds, results, SHOP, scripted } from "./support.mjs";

const bytes = (text) => new TextEncoder().encode(text);

/** The environment with promises that take a turn of the event loop. It lists entries one by one. */
function promised(environment) {
  const later =
    (method) =>
    async (...given) => {
      await new Promise((resolve) => setTimeout(resolve));
      return environment[method](...given);
    };
  async function* list(path) {
    for (const name of environment.list(path))
      yield { name, ...(await environment.stat(path === "" ? name : `${path}/${name}`)) };
  }
  const [read, write, remove, stat] = ["read", "write", "remove", "stat"].map(later);
  return { ...environment, read, write, remove, stat, list };
}

for (const [how, wrap] of [
  ["values", (environment) => environment],
  ["promises", promised],
]) {
  test(`an agent works on a host's files: ${how}`, async (t) => {
    const environment = mapped(SHOP);
    const agent = await create(t, wrap(environment));
    const events = await collect(agent.run("rename Price to Cost"));
    assert.ok(events.some((event) => event.kind === "TOOL_CALL_END"));
    assert.ok(events.every((event) => event.kind !== "TOOL_CALL_END" || event.data.ok));
    // Pending edits are not saved.
    assert.deepEqual(Object.fromEntries(environment.files), SHOP);
    assert.match((await agent.files.read("src/price.js")).text, /function Cost\(/);
    assert.match(await agent.files.diff(), /^-export function Price/m);
    await agent.accept(hunkIds(agent.review()));
    assert.equal(environment.text("src/price.js"), SHOP["src/price.js"].replace("function Price(", "function Cost("));
    assert.ok(environment.files.get("src/price.js") instanceof Uint8Array);
    assert.equal(environment.text("notes.md"), SHOP["notes.md"]);
    await agent.undo();
    assert.deepEqual(
      agent.review().files.map((file) => file.path),
      ["src/cart.js", "src/price.js"],
    );
    assert.deepEqual(
      (await agent.files.list()).map((file) => file.path),
      ["notes.md", "src/cart.js", "src/price.js"],
    );
    await agent.files.write("new/deep.txt", "mine\n");
    assert.equal(environment.text("new/deep.txt"), "mine\n");
    await agent.files.remove("new/deep.txt");
    assert.equal(environment.text("new/deep.txt"), undefined);
  });
}

/** Tool calls, one for each message: some succeed, some are rejected. */
const CALLS = [
  ["list_dir", { path: "." }],
  ["list_dir", { path: ".", depth: 3 }],
  ["list_dir", { path: "src/price.js" }],
  ["list_dir", { path: "scr" }],
  // Glob sorts by modification time, which is not deterministic here.
  ["glob", { pattern: "**/c*.js" }],
  ["glob", { pattern: "*.log", path: "src" }],
  ["glob", { pattern: "[" }],
  ["grep", { pattern: "price" }],
  ["grep", { pattern: "PRICE", case_insensitive: true, glob_filter: "*.js" }],
  ["grep", { pattern: "secret", path: "node_modules" }],
  ["grep", { pattern: "nothing like this" }],
  ["read_file", { file_path: "src/price.js" }],
  ["read_file", { file_path: "src/prise.js" }],
  ["read_file", { file_path: "src" }],
  ["read_file", { file_path: "src/price.js/below" }],
  ["read_file", { file_path: "../outside" }],
  ["read_file", { file_path: "/workspace/src/../notes.md" }],
  ["read_file", { file_path: "data.bin" }],
  ["write_file", { file_path: "made/here.md", content: "# Here\n" }],
  ["write_file", { file_path: "notes.md/below", content: "x" }],
  ["write_file", { file_path: "src", content: "x" }],
  ["write_file", { file_path: "src/cart.js", content: "x" }],
  ["edit_file", { file_path: "src/price.js", old_string: "cents", new_string: "euros" }],
  [
    "apply_patch",
    {
      patch:
        "*** Begin Patch\n*** Update File: notes.md\n@@\n-# Shop\n+# The shop\n*** Delete File: src/cart.js\n*** End Patch",
    },
  ],
  ["read_file", { file_path: "src/cart.js" }],
  ["grep", { pattern: "euros|# " }],
  ["list_dir", { path: ".", depth: 2 }],
];

/** The environments that the package has, with some files. */
const READY_MADE = {
  memoryFs: async (_t, files) => memoryFs(files),
  async directoryFs(_t, files) {
    const handle = directoryHandle();
    await toFolder(handle, files);
    return directoryFs(handle);
  },
  async nodeFs(t, files) {
    const root = await mkdtemp(join(tmpdir(), "emend-environment-"));
    t.after(() => rm(root, { recursive: true }));
    await toDirectory(root, files);
    // The paths and the platform are among what the tools return.
    return { ...nodeFs(root), workingDirectory: "/workspace", platform: "wasm" };
  },
};

test("every tool returns the same over a host's files and over files in memory", async (t) => {
  const files = {
    ...SHOP,
    ".gitignore": "node_modules\n*.log\n",
    "node_modules/a/index.js": "secret price\n",
    "debug.log": "price\n",
    ".env": "price\n",
    "data.bin": new Uint8Array([0, 1, 2]),
    "src/.gitignore": "!debug.log\n",
    "src/debug.log": "price kept\n",
  };
  for (const mode of ["staged", "direct"]) {
    const told = async (options) => {
      const { model, requests } = scripted(CALLS.map((call) => [call]));
      const agent = await Agent.create({ ...options, model, mode });
      t.after(() => agent.close());
      await agent.run("go").result;
      return { told: requests.slice(1).map(results), diff: await agent.files.diff(), list: await agent.files.list() };
    };
    const expected = await told({ files });
    assert.equal(expected.told.length, CALLS.length);
    const refused = expected.told.filter(([result]) => result.startsWith("error: ")).length;
    assert.ok(refused >= 8 && refused <= 12, `${refused}: ${JSON.stringify(expected.told)}`);
    assert.deepEqual(await told({ environment: mapped(files) }), expected);
    assert.deepEqual(await told({ environment: promised(mapped(files)) }), expected);
    for (const [name, make] of Object.entries(READY_MADE))
      assert.deepEqual(await told({ environment: await make(t, files) }), expected, `${name}, ${mode}`);
  }
});

test("missing or wrong parts of an environment are reported when the agent is created", async () => {
  const refused = async (options, reason) => {
    await assert.rejects(
      Agent.create(options),
      (error) => error instanceof ConfigError && reason.test(error.message),
      String(reason),
    );
  };
  await refused({ environment: {} }, /^the environment needs `read`, `write`, `remove`, `stat`, `list`$/);
  await refused({ environment: null }, /needs `read`/);
  await refused({ environment: "/home/me" }, /use `nodeFs\(path\)` of `emend\/node`$/);
  await refused({ environment: Promise.resolve(mapped({})) }, /put `await` before it$/);
  const good = mapped({});
  await refused({ environment: { ...good, stat: undefined, list: "no" } }, /needs `stat`, `list`$/);
  await refused({ environment: { ...good, exec: true } }, /`exec` must be a function/);
  await refused({ environment: { ...good, workingDirectory: "here" } }, /`workingDirectory`/);
  await refused({ environment: { ...good, platform: "beos" } }, /`platform`/);
  await refused({ environment: { ...good, osVersion: 3 } }, /`osVersion`/);
  await refused({ environment: good, files: {} }, /not both/);
  await refused({ environment: good, shell: true }, /`exec`/);
  await refused({ environment: { ...good, exec: () => ({ exitCode: 0 }) } }, /needs `mode: "direct"`/);
  const agent = await Agent.create({ environment: good });
  assert.throws(() => agent.configure({ environment: good }), ConfigError);
  agent.close();
});

test("an environment can be a class instance, and its methods get their `this`", async (t) => {
  class Host {
    #files = mapped(SHOP);
    workingDirectory = "/home/me/shop";
    read(path) {
      return this.#files.read(path);
    }
    write(path, content) {
      this.#files.write(path, content);
    }
    remove(path) {
      this.#files.remove(path);
    }
    stat(path) {
      return this.#files.stat(path);
    }
    list(path) {
      return this.#files.list(path);
    }
  }
  const agent = await create(t, new Host());
  assert.equal((await agent.files.read("/home/me/shop/src/../notes.md")).path, "notes.md");
});

test("the model is told the working directory and the platform", async (t) => {
  const { model, requests } = scripted(["ok"]);
  const agent = await create(
    t,
    mapped(SHOP, { workingDirectory: "/srv/shop", platform: "win32", osVersion: "Shop 7" }),
    { model },
  );
  await agent.run("hello").result;
  const system = JSON.stringify(requests[0].messages[0]);
  for (const told of ["/srv/shop", "windows", "Shop 7"]) assert.ok(system.includes(told), told);
});

test("exceptions of a method are mapped by their code or name", async (t) => {
  let thrown;
  const fails = () => {
    throw thrown;
  };
  const environment = mapped({ "a.txt": "a\n" });
  const agent = await create(t, environment);
  const check = async (method, error, code, message) => {
    thrown = error;
    const [good, work] = [
      environment[method],
      {
        read: () => agent.files.read("a.txt"),
        write: () => agent.files.write("a.txt", "b"),
        list: () => agent.files.list(),
      },
    ];
    environment[method] = fails;
    await assert.rejects(work[method](), (found) => {
      assert.deepEqual([found.code, found.message], [code, message], `${method}: ${error}`);
      return isEmendError(found);
    });
    environment[method] = good;
  };
  const dom = (name) => new DOMException("why", name);
  for (const [error, code, message] of [
    [failure("ENOENT"), "not_found", "a.txt does not exist"],
    [dom("NotFoundError"), "not_found", "a.txt does not exist"],
    [failure("FileNotFound"), "not_found", "a.txt does not exist"],
    [failure("EISDIR"), "invalid_argument", '"a.txt": it is a directory'],
    [dom("TypeMismatchError"), "invalid_argument", '"a.txt": it is a directory'],
    [failure("ENOTDIR"), "not_found", "a.txt does not exist"],
    [failure("ELOOP"), "invalid_argument", '"a.txt": too many symbolic links'],
    [failure("EACCES", "EACCES: not yours"), "permission_denied", "a.txt: EACCES: not yours"],
    [failure("EPERM"), "permission_denied", "a.txt: EPERM"],
    [dom("NotAllowedError"), "permission_denied", "a.txt: why"],
    [dom("SecurityError"), "permission_denied", "a.txt: why"],
    [failure("permission_denied", "not today"), "permission_denied", "a.txt: not today"],
    [failure("EIO", "the disk is on fire"), "io_error", "a.txt: the disk is on fire"],
    [new Error("no network"), "io_error", "a.txt: no network"],
    ["a text", "io_error", "a.txt: a text"],
    [undefined, "io_error", "a.txt: undefined"],
    [{ name: "Odd" }, "io_error", "a.txt: Odd"],
    [failure("constructor"), "io_error", "a.txt: constructor"],
  ]) {
    await check("read", error, code, message);
  }
  for (const [error, code, message] of [
    [failure("ENOSPC", "full"), "limit_reached", "a.txt: full"],
    [dom("QuotaExceededError"), "limit_reached", "a.txt: why"],
    [failure("EROFS"), "permission_denied", "a.txt: EROFS"],
    [dom("NoModificationAllowedError"), "permission_denied", "a.txt: why"],
    [failure("EEXIST"), "invalid_argument", '"a.txt": it exists already'],
    [failure("ENOTDIR"), "invalid_argument", '"a.txt": a parent directory of the path is a file'],
  ]) {
    await check("write", error, code, message);
  }
  await check("list", failure("ENOTDIR"), "invalid_argument", '"/workspace": it is not a directory');
  await check("list", dom("TypeMismatchError"), "invalid_argument", '"/workspace": it is not a directory');
  assert.equal(environment.text("a.txt"), "a\n");
});

test("wrong return values of a method are rejected with the expected type", async (t) => {
  const environment = mapped({ "a.txt": "a\n" });
  const agent = await create(t, environment);
  const check = async (method, given, expected) => {
    const good = environment[method];
    environment[method] = () => given;
    const work = method === "read" ? agent.files.read("a.txt") : agent.files.list();
    await assert.rejects(work, (error) => {
      assert.ok(
        error.code === "io_error" && error.message.includes(`\`${method}\` must return ${expected}`),
        error.message,
      );
      return true;
    });
    environment[method] = good;
  };
  await check("read", 3, "a Uint8Array, an ArrayBuffer, a string, or null; it returned 3");
  await check("read", { text: "a" }, 'a Uint8Array, an ArrayBuffer, a string, or null; it returned {"text":"a"}');
  await check("list", undefined, "an array or another iterable; it returned undefined");
  await check("list", "a.txt", 'an array or another iterable; it returned "a.txt"');
  await check("list", [7], "strings, or objects with a `name`; it returned 7");
  await check("list", [""], 'strings, or objects with a `name`; it returned ""');
  await check("list", ["src/a.txt"], "names of entries without their directory");
  await check("list", [".."], "names of entries without their directory");
  await check("list", [{ name: "a.txt", kind: "fifo" }], "a `kind` that is file, directory, link or other");
  await check("list", [{ name: "a.txt", kind: "file", size: -1 }], "the `size` of a file, in bytes");
  await check("stat", "file", 'a `kind` that is file, directory, link or other; it returned "file"');
  await check("stat", { kind: "file" }, "the `size` of a file, in bytes");
  await check("stat", { kind: "file", size: 1, modifiedMs: "now" }, "`modifiedMs` as a number");
  await check("stat", { kind: "link" }, "the `target` of a link");
  const circle = {};
  circle.self = circle;
  await check("read", circle, "a Uint8Array, an ArrayBuffer, a string, or null; it returned [object Object]");
  for (const content of ["ü\n", bytes("ü\n"), bytes("ü\n").buffer, Buffer.from("ü\n")]) {
    environment.read = () => content;
    assert.equal((await agent.files.read("a.txt")).text, "ü\n");
  }
  environment.read = () => null;
  await assert.rejects(agent.files.read("a.txt"), (error) => isEmendError(error, "not_found"));
});

test("the host gets clean paths, and links do not lead out of the root", async (t) => {
  const asked = new Set();
  const links = { out: "../../etc", inside: "src", again: "/workspace/inside/price.js", round: "round" };
  const plain = mapped(SHOP);
  const environment = Object.fromEntries(
    ["read", "write", "remove", "stat", "list"].map((method) => [
      method,
      (path, ...given) => {
        asked.add(path);
        if (method === "stat" && path in links) return { kind: "link", target: links[path] };
        const found = plain[method](path, ...given);
        return method === "list" && path === "" ? [...found, ...Object.keys(links)] : found;
      },
    ]),
  );
  const agent = await create(t, environment);
  assert.equal((await agent.files.read("./again")).path, "src/price.js");
  assert.equal((await agent.files.read("src//../inside/./cart.js")).path, "src/cart.js");
  for (const path of ["out/passwd", "out", "/etc/passwd", "../x", "src/../../x", "/workspace-2/x"]) {
    await assert.rejects(agent.files.read(path), (error) => isEmendError(error, "permission_denied"), path);
    await assert.rejects(agent.files.write(path, "x"), (error) => isEmendError(error, "permission_denied"), path);
  }
  await assert.rejects(agent.files.read("round"), (error) => isEmendError(error, "invalid_argument"));
  for (const path of asked) assert.ok(!/^\/|\\|(^|\/)\.{1,2}(\/|$)|\/\/|^out\/|passwd/.test(path), path);
  assert.deepEqual(
    (await agent.files.list()).map((file) => file.path),
    ["again", "notes.md", "src/cart.js", "src/price.js"],
  );
});

test("a file that the host changed meanwhile is neither lost nor silently overwritten", async (t) => {
  const text = "one\ntwo\nthree\nfour\nfive\n";
  const environment = mapped({ "a.txt": text });
  const { model, requests } = scripted([
    [["read_file", { file_path: "a.txt" }]],
    [["edit_file", { file_path: "a.txt", old_string: "one", new_string: "ONE" }]],
    () => {
      environment.files.set("a.txt", text.replace("five", "FIVE"));
      return [["write_file", { file_path: "a.txt", content: "all new\n" }]];
    },
    "Done.",
  ]);
  const agent = await create(t, environment, { model });
  await agent.run("go").result;
  assert.match(results(requests[3])[0], /^error: .*has changed since it was read/s);
  // The pending edit is merged with the host's later text.
  assert.equal((await agent.files.read("a.txt")).text, "ONE\ntwo\nthree\nfour\nFIVE\n");
  environment.files.set("a.txt", text.replace("five", "FIVE").replace("three", "3"));
  await agent.acceptAll();
  assert.equal(environment.text("a.txt"), "ONE\ntwo\n3\nfour\nFIVE\n");
});

test("a change by the host at any point of an edit is not lost", async (t) => {
  const text = "one\ntwo\nthree\nfour\nfive\n";
  for (const mode of ["staged", "direct"]) {
    let nReads = 0;
    for (let changedAt = 1; changedAt <= 12; changedAt += 1) {
      const environment = mapped({ "a.txt": text });
      const { read } = environment;
      let reads = 0;
      environment.read = (path) => {
        reads += 1;
        if (reads === changedAt) environment.files.set(path, text.replace("five", "FIVE"));
        return read(path);
      };
      const { model } = scripted([
        [["edit_file", { file_path: "a.txt", old_string: "one", new_string: "ONE" }]],
        "Done.",
      ]);
      const agent = await create(t, environment, { model, mode });
      await agent.run("go").result;
      // If the change prevents saving, the second attempt succeeds.
      for (const last of [false, true]) {
        await agent.acceptAll().catch((error) => assert.ok(isEmendError(error, "stale") && !last, String(error)));
      }
      nReads = Math.max(nReads, reads);
      if (reads >= changedAt)
        assert.match(environment.text("a.txt"), /FIVE/, `${mode}: changed at read ${changedAt} of ${reads}`);
    }
    // The change was made at each point: when an edit reads to plan, before it saves, and before it writes.
    assert.ok(nReads >= 3 && nReads < 12, `${nReads}`);
  }
});

test("a write that fails in the middle of several files loses nothing", async (t) => {
  for (const mode of ["staged", "direct"]) {
    const environment = mapped(SHOP);
    const { write, files } = environment;
    let room = 1;
    environment.write = (path, content) => {
      if (room-- > 0) return write(path, content);
      // Half of the content has been written.
      files.set(path, content.slice(0, 5));
      room = 10;
      throw failure("ENOSPC", "no space left");
    };
    const agent = await create(t, environment, { mode });
    const events = await collect(agent.run("rename Price to Cost"));
    const before = mode === "staged" ? await agent.files.diff() : undefined;
    if (mode === "staged") await assert.rejects(agent.acceptAll(), (error) => isEmendError(error, "limit_reached"));
    else
      assert.ok(
        events.some((event) => event.kind === "TOOL_CALL_END" && event.data.errorInfo?.code === "limit_reached"),
      );
    if (mode === "direct") continue;
    for (const [path, text] of Object.entries(SHOP)) assert.equal(environment.text(path), text, path);
    assert.equal(await agent.files.diff(), before);
    await agent.acceptAll();
    assert.match(environment.text("src/cart.js"), /Cost/);
    assert.match(environment.text("src/price.js"), /function Cost/);
  }
});

test("in direct mode, a failed write of a patch restores the other files", async (t) => {
  const patch =
    "*** Begin Patch\n*** Update File: notes.md\n@@\n-# Shop\n+# Store\n*** Add File: new.md\n+new\n*** Update File: src/price.js\n@@\n-  return item.cents;\n+  return item.euros;\n*** End Patch";
  const environment = mapped(SHOP);
  const { write, files } = environment;
  let broken = true;
  environment.write = (path, content) => {
    if (path !== "src/price.js" || !broken) return write(path, content);
    files.set(path, "");
    broken = false;
    throw new Error("the connection broke");
  };
  const { model, requests } = scripted([[["apply_patch", { patch }]], "Done."]);
  const agent = await create(t, environment, { model, mode: "direct" });
  await agent.run("go").result;
  assert.match(results(requests[1])[0], /^error: .*the connection broke/s);
  assert.deepEqual([...files.keys()].sort(), Object.keys(SHOP).sort());
  for (const [path, text] of Object.entries(SHOP)) assert.equal(environment.text(path), text, path);
});

test("a file that cannot be restored is reported", async (t) => {
  const environment = mapped({ "a.txt": "a\n", "b.txt": "a\n" });
  const agent = await create(t, environment);
  await agent.files.write("c.txt", "c\n");
  await agent.run('replace "a" with "x" in a.txt').result;
  await agent.run('replace "a" with "x" in b.txt').result;
  const { write } = environment;
  let writes = 0;
  environment.write = (path, content) => {
    if (++writes === 1) return write(path, content);
    throw failure("EIO", "it is gone");
  };
  await assert.rejects(agent.acceptAll(), (error) => {
    assert.match(error.message, /^a\.txt: could not be put back as it was, after: b\.txt: it is gone$/);
    return isEmendError(error, "io_error");
  });
});

test("a text that a failed write cut off is in the error, and comes back with the next call", async (t) => {
  const original = "alpha one\ntwo\nthree\n";
  for (const [call, after] of [
    ["acceptAll", "beta one\ntwo\nthree\n"],
    ["rejectAll", original],
  ]) {
    const environment = mapped({ "a.md": original, "b.md": original });
    const { write, files } = environment;
    const agent = await create(t, environment);
    await agent.run("rename alpha to beta").result;
    let full = true;
    environment.write = (path, content) => {
      if (!full || path !== "b.md") return write(path, content);
      files.set(path, "al");
      throw failure("ENOSPC", "no space left");
    };
    for (let attempt = 0; attempt < 2; attempt++) {
      await assert.rejects(agent.acceptAll(), (error) => {
        assert.deepEqual(error.data, { originals: { "b.md": original } });
        assert.ok(error.retryable && error.suggestions.length === 2);
        return isEmendError(error, "io_error");
      });
      assert.equal(environment.text("b.md"), "al");
      assert.equal(environment.text("a.md"), original);
      assert.equal((await agent.files.read("b.md")).text, "beta one\ntwo\nthree\n");
      assert.equal(await agent.files.readDisk("b.md"), original);
    }
    full = false;
    assert.deepEqual((await agent[call]()).files, []);
    for (const path of ["a.md", "b.md"]) assert.equal(environment.text(path), after, `${call} ${path}`);
  }
});

test("a text that another program wrote after a failed write is not replaced", async (t) => {
  const environment = mapped({ "a.md": "alpha\n" });
  const { write, files } = environment;
  const agent = await create(t, environment);
  await agent.run("rename alpha to beta").result;
  environment.write = (path) => {
    files.set(path, "al");
    throw failure("ENOSPC", "no space left");
  };
  await assert.rejects(agent.acceptAll());
  environment.write = write;
  files.set("a.md", "theirs\n");
  assert.equal(await agent.files.readDisk("a.md"), "theirs\n");
  assert.equal(environment.text("a.md"), "theirs\n");
});

test("an environment is initialized before the first run, and again after a failure", async (t) => {
  let n = 0;
  const initialize = () => {
    if (++n === 1) throw failure("EACCES", "no permission yet");
  };
  const agent = await create(t, mapped(SHOP, { initialize }));
  const first = await agent.run('replace "cents" with "pence" in notes.md').result;
  assert.equal(first.error.code, "permission_denied");
  const second = await agent.run('replace "cents" with "pence" in notes.md').result;
  assert.equal(second.reason, "natural");
  await agent.run("hello").result;
  assert.equal(n, 2);
});

test("every exception of a method is reported with its subject", async (t) => {
  const fails = () => {
    throw new Error("lost");
  };
  const silent = await create(t, mapped(SHOP, { initialize: fails }));
  const { error } = await silent.run("hello").result;
  assert.match(error.message, /`initialize` failed: lost$/);
  const listing = await create(t, mapped(SHOP, { list: fails }));
  await assert.rejects(listing.files.list(), /`list` failed: lost$/);
  const { read } = mapped(SHOP);
  const broken = (path) => (path === "src/cart.js" ? 5 : read(path));
  const reading = await create(t, mapped(SHOP, { read: broken }));
  await assert.rejects(reading.files.grep("cents"), /src\/cart\.js: `read` must return a Uint8Array.*; it returned 5/);
});

test("a host's own glob and grep are used, and their results are matched again", async (t) => {
  const asked = [];
  const finds =
    (name) =>
    (pattern, { signal, ...options }) => {
      asked.push([name, pattern, options]);
      assert.equal(signal.aborted, false);
      return name === "glob" ? ["src/price.js", "notes.md", "src/gone.js"] : [{ path: "src/price.js" }, "notes.md"];
    };
  const environment = mapped(SHOP, { glob: finds("glob"), grep: finds("grep") });
  environment.list = () => assert.fail("nothing has to be walked");
  const { model, requests } = scripted([
    [
      ["glob", { pattern: "**/*.js", path: "src" }],
      ["grep", { pattern: "CENTS", case_insensitive: true, glob_filter: "*.js" }],
    ],
    "Done.",
  ]);
  const agent = await create(t, environment, { model });
  await agent.run("go").result;
  const [globbed, grepped] = results(requests[1]);
  assert.match(globbed, /src\/price\.js/);
  assert.doesNotMatch(globbed, /notes|gone/);
  assert.match(grepped, /src\/price\.js.*item\.cents/s);
  assert.doesNotMatch(grepped, /notes/);
  // The calls ran concurrently.
  assert.deepEqual(
    asked.sort(([a], [b]) => (a < b ? -1 : 1)),
    [
      ["glob", "**/*.js", { path: "src" }],
      ["grep", "CENTS", { path: "", ignoreCase: true, glob: "*.js" }],
    ],
  );
});
