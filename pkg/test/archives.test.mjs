// Import and export of zip archives and folders, and the inputs that they reject.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { access, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { Agent, fromDirectory, fromZip, isEmendError, toDirectory, toZip } from "emend";
import * as node from "emend/node";
import { deflateSync, unzipSync, zipSync } from "fflate";

const utf8 = (text) => new TextEncoder().encode(text);
const FILES = {
  "a.txt": utf8("hello\n"),
  "empty/": new Uint8Array(),
  "nested/deep/b.bin": new Uint8Array([0, 1, 255]),
  "nested/long.txt": utf8("a line that repeats\n".repeat(5_000)),
  "ümlaut/日本語.md": utf8("# Ü\n"),
  zero: new Uint8Array(),
};
const sorted = (record) => Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));

/**
 * Writes a malformed archive. An entry is `{ path, bytes }` and the wrong values in its headers: `flags`, `method`, `packed`,
 * `size`, `crc`, `mode`.
 */
function forge(entries) {
  const [locals, centrals] = [[], []];
  let offset = 0;
  for (const {
    path,
    bytes = utf8("x"),
    packed = bytes,
    method = 0,
    flags = 0x800,
    size = bytes.length,
    crc = crc32(bytes),
    mode,
  } of entries) {
    const name = typeof path === "string" ? utf8(path) : path;
    const about = Buffer.alloc(26);
    about.writeUInt16LE(20, 0);
    about.writeUInt16LE(flags, 2);
    about.writeUInt16LE(method, 4);
    about.writeUInt32LE(crc, 10);
    about.writeUInt32LE(packed.length, 14);
    about.writeUInt32LE(size, 18);
    about.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), about, name, packed]);
    const rest = Buffer.alloc(14);
    if (mode !== undefined) rest.writeUInt32LE((mode << 16) >>> 0, 6);
    rest.writeUInt32LE(offset, 10);
    centrals.push(Buffer.from("PK\x01\x02"), Buffer.from([20, mode === undefined ? 0 : 3]), about, rest, name);
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(centrals);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return new Uint8Array(Buffer.concat([...locals, directory, end]));
}

function crc32(bytes) {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

async function refuses(work, code, message) {
  await assert.rejects(work, (error) => {
    assert.ok(isEmendError(error, code), `${error.code}, not ${code}: ${error.message}`);
    assert.match(error.message, message);
    assert.ok(error.suggestions.length > 0, "it says what to do");
    return true;
  });
}

test("archives are written and read by this package and by others alike", async () => {
  for (const level of [0, 6, 9]) {
    const archive = await toZip(FILES, { level });
    assert.deepEqual(sorted(await fromZip(archive)), sorted(FILES));
    assert.deepEqual(sorted(unzipSync(archive)), sorted(FILES));
  }
  const theirs = zipSync(Object.fromEntries(Object.entries(FILES)), { level: 6 });
  assert.deepEqual(sorted(await fromZip(theirs)), sorted(FILES));
  assert.deepEqual(sorted(await fromZip(theirs.slice().buffer)), sorted(FILES));
  const buffer = Buffer.from(theirs);
  const copied = await fromZip(buffer);
  buffer.fill(0);
  assert.deepEqual(sorted(copied), sorted(FILES));
  assert.deepEqual(sorted(await fromZip(new Blob([theirs]))), sorted(FILES));
  assert.deepEqual(sorted(await fromZip(new Response(theirs))), sorted(FILES));
  assert.deepEqual(await fromZip(await toZip({})), {});
});

test("the same files and time make the same archive", async () => {
  const modified = new Date(2026, 1, 3, 4, 5, 6);
  const backwards = Object.fromEntries(Object.entries(FILES).reverse());
  assert.deepEqual(await toZip(FILES, { modified }), await toZip(backwards, { modified }));
  assert.ok((await toZip(FILES)).length < FILES["nested/long.txt"].length / 10);
});

test("Python reads an archive: contents, times, file modes", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "emend-zip-"));
  t.after(() => rm(directory, { recursive: true }));
  const archive = join(directory, "x.zip");
  const files = { "a.txt": "one\r\n", "docs/grüße.md": "# Grüße\n", empty: "", "folder/": "" };
  await writeFile(archive, await toZip(files, { modified: new Date(2026, 10, 21, 12, 30, 58) }));
  const script = `import json, sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
assert z.testzip() is None
print(json.dumps([[i.filename, z.read(i).decode(), i.date_time, i.external_attr >> 16, i.is_dir()] for i in z.infolist()]))`;
  let output;
  try {
    output = execFileSync("python3", ["-c", script, archive], { encoding: "utf8" });
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    return t.skip("no python3 to read it with");
  }
  const date = [2026, 11, 21, 12, 30, 58];
  const expected = Object.entries(files).map(([name, text]) =>
    name.endsWith("/") ? [name, text, date, 0o040755, true] : [name, text, date, 0o100644, false],
  );
  assert.deepEqual(JSON.parse(output), expected);
});

test("times outside the range of the format become the nearest valid time", async () => {
  const year = (archive) => 1980 + (new DataView(archive.buffer).getUint16(12, true) >> 9);
  assert.equal(year(await toZip({ a: "x" }, { modified: new Date(0) })), 1980);
  assert.equal(year(await toZip({ a: "x" }, { modified: new Date(2024, 0, 1) })), 2024);
  assert.equal(year(await toZip({ a: "x" }, { modified: new Date(2500, 0, 1) })), 2099);
});

test("a file that the archive writer cannot keep is rejected", async () => {
  const files = Object.fromEntries([["__proto__", "x"]]);
  await assert.rejects(
    toZip(files),
    (error) => isEmendError(error, "invalid_argument") && /`__proto__`/.test(error.message),
  );
  assert.deepEqual(await fromZip(await toZip({ "a/__proto__": "x" })), { "a/__proto__": utf8("x") });
});

test("an agent's files go through an archive", async (t) => {
  const agent = await Agent.create({ files: await fromZip(await toZip(FILES)) });
  t.after(() => agent.close());
  assert.deepEqual(sorted(await agent.files.export()), sorted(FILES));
  assert.equal((await agent.files.read("ümlaut/日本語.md")).text, "# Ü\n");
});

test("paths that lead out of the folder are rejected on import and export", async () => {
  for (const [path, why] of [
    ["../evil", /leads out/],
    ["a/../../evil", /leads out/],
    ["a/..", /leads out/],
    ["/etc/passwd", /absolute/],
    ["C:/windows", /absolute/],
    ["c:evil", /absolute/],
    ["..\\evil", /backslash/],
    ["a\\b", /backslash/],
    ["a\0b", /NUL character/],
  ]) {
    await refuses(() => fromZip(forge([{ path }])), "permission_denied", why);
    await refuses(() => toZip({ [path]: "x" }), "permission_denied", why);
  }
  const kept = await fromZip(forge([{ path: "./a//b/./c" }, { path: "..a/b..c" }, { path: "__proto__/x" }]));
  assert.deepEqual(Object.keys(kept), ["a/b/c", "..a/b..c", "__proto__/x"]);
  const odd = await fromZip(forge([{ path: "__proto__" }]));
  assert.deepEqual(Object.keys(odd), ["__proto__"]);
  assert.equal(Object.getPrototypeOf(odd), Object.prototype);
});

test("names that another system cannot have are rejected on import and export", async () => {
  const bytes = utf8("x");
  for (const [path, reason] of [
    ["CON", /device/],
    ["aux.txt", /device/],
    ["src/Nul.", /device|dot/],
    ["a/com1.tar.gz/b", /device/],
    ["LPT\u00b9", /device/],
    ["a/trailing.", /dot or a blank/],
    ["trailing /a", /dot or a blank/],
    ["a?b", /Windows does not allow/],
    ["tab\there", /Windows does not allow/],
    ["src/a:b", /Windows does not allow/],
    ["safe\u202egpj.exe", /direction/],
    ["a\u2066b", /direction/],
  ]) {
    await refuses(() => fromZip(forge([{ path, bytes }])), "invalid_argument", reason);
    await refuses(() => toZip({ [path]: bytes }), "invalid_argument", reason);
  }
  for (const paths of [
    ["README.md", "readme.md"],
    ["src/a", "Src/b"],
    ["\u00fc.txt", "u\u0308.txt"],
    ["stra\u00dfe", "STRASSE"],
  ]) {
    await refuses(() => fromZip(forge(paths.map((path) => ({ path, bytes })))), "already_exists", /same name/);
    await refuses(() => toZip(Object.fromEntries(paths.map((path) => [path, bytes]))), "already_exists", /same name/);
  }
  const fine = [
    "auxiliary.txt",
    "console/com.md",
    "a.b.c",
    ".env",
    "com10",
    "nul_.txt",
    "u\u0308.md",
    "a b",
    "\u05d0.txt",
  ];
  const archive = await toZip(Object.fromEntries(fine.map((path) => [path, bytes])));
  assert.deepEqual(Object.keys(await fromZip(archive)).sort(), [...fine].sort());
  const others = { filter: (path) => path !== "CON" };
  assert.deepEqual(
    Object.keys(
      await fromZip(
        forge([
          { path: "CON", bytes },
          { path: "a", bytes },
        ]),
        others,
      ),
    ),
    ["a"],
  );
});

test("a duplicate path, or a file that is also a directory, is rejected", async () => {
  for (const paths of [
    ["a", "a"],
    ["a", "./a"],
    ["a", "a/b"],
    ["a/b", "a"],
    ["a/", "a"],
    ["a", "a/"],
  ]) {
    await refuses(
      () => fromZip(forge(paths.map((path) => ({ path, bytes: new Uint8Array() })))),
      "already_exists",
      /twice/,
    );
  }
  const twice = await fromZip(
    forge(["a/", "a/", "a/b", "a/", "c/", "c/"].map((path) => ({ path, bytes: new Uint8Array() }))),
  );
  assert.deepEqual(Object.keys(twice), ["a/b", "c/"]);
});

test("links, devices, encrypted entries and unknown methods are rejected unless a filter excludes them", async () => {
  for (const [entry, why] of [
    [{ mode: 0o120777, bytes: utf8("/etc/passwd") }, /is a symbolic link/],
    [{ mode: 0o010644 }, /not a regular file/],
    [{ flags: 0x801 }, /encrypted/],
    [{ method: 12 }, /method 12/],
    [{ size: 0xffffffff }, /ZIP64/],
    [{ path: new Uint8Array([0x66, 0xff]), flags: 0 }, /not UTF-8/],
  ]) {
    const archive = forge([
      { path: "good", mode: 0o100644 },
      { path: "bad", ...entry },
    ]);
    await refuses(() => fromZip(archive), "unsupported", why);
    if (entry.path === undefined)
      assert.deepEqual(Object.keys(await fromZip(archive, { filter: (path) => path !== "bad" })), ["good"]);
  }
});

test("limits apply to the inflated sizes, not to the headers", async () => {
  const zeros = new Uint8Array(10_000_000);
  const packed = deflateSync(zeros, { level: 9 });
  assert.ok(packed.length < 12_000);
  const bomb = { path: "bomb", bytes: new Uint8Array(), packed, method: 8 };
  await refuses(
    () => fromZip(forge([{ ...bomb, size: zeros.length }]), { maxBytes: 1_000_000 }),
    "limit_reached",
    /maxBytes/,
  );
  await refuses(
    () => fromZip(forge([{ ...bomb, size: 1_000 }]), { maxBytes: 1_000_000 }),
    "invalid_argument",
    /larger than stated/,
  );
  // The same excess with input that is inflated in pieces.
  let state = 7;
  const noise = Uint8Array.from(
    { length: 300_000 },
    () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) >>> 24,
  );
  const long = { path: "long", bytes: noise, packed: deflateSync(noise, { level: 1 }), method: 8 };
  assert.ok(long.packed.length > 100_000);
  assert.deepEqual((await fromZip(forge([long]))).long, noise);
  await refuses(() => fromZip(forge([{ ...long, size: 200_000 }])), "invalid_argument", /larger than stated/);
  await refuses(
    () => fromZip(forge([{ ...long, packed: long.packed.subarray(0, 90_000) }])),
    "invalid_argument",
    /inflated|checksum/,
  );
  // Several files that fit one by one but not together.
  const parts = Array.from({ length: 5 }, (_, index) => ({ path: `part_${index}`, bytes: new Uint8Array(300) }));
  await refuses(() => fromZip(forge(parts), { maxBytes: 1_000 }), "limit_reached", /part_3/);
  assert.equal(Object.keys(await fromZip(forge(parts), { maxBytes: 1_500 })).length, 5);
  await refuses(() => fromZip(forge(parts), { maxFiles: 4 }), "limit_reached", /maxFiles/);
  assert.equal(Object.keys(await fromZip(forge(parts), { maxFiles: 5 })).length, 5);
  await assert.rejects(
    () => fromZip(forge(parts), { maxFiles: -1 }),
    (error) => isEmendError(error, "invalid_argument"),
  );
});

test("a truncated or damaged archive is rejected as a whole", async () => {
  const archive = await toZip(
    { "a.txt": "some text ".repeat(20), "b/c.txt": "more" },
    { modified: new Date(2026, 0, 1) },
  );
  for (let length = 0; length < archive.length; length += 1) {
    await refuses(() => fromZip(archive.subarray(0, length)), "invalid_argument", /cannot be read/);
  }
  await refuses(() => fromZip(forge([{ path: "a", crc: 1 }])), "invalid_argument", /checksum/);
  await refuses(
    () => fromZip(forge([{ path: "a", method: 8, packed: utf8("not deflated"), size: 5 }])),
    "invalid_argument",
    /inflated/,
  );
  await assert.rejects(
    () => fromZip("text"),
    (error) => isEmendError(error, "invalid_argument"),
  );
  // Inverting any byte results in the same files, other names, or an error of this package.
  for (let at = 0; at < archive.length; at += 1) {
    const changed = archive.slice();
    changed[at] ^= 0xff;
    await fromZip(changed).then(
      (files) =>
        Object.values(files).forEach((bytes) =>
          assert.match(new TextDecoder().decode(bytes), /^(some text )+$|^more$|^$/),
        ),
      (error) => assert.ok(isEmendError(error), String(error)),
    );
  }
});

/** An in-memory folder with the handles of the File System API. */
function memoryDirectory(name = "root") {
  const entries = new Map();
  const missing = (what) => Object.assign(new Error(what), { name: "NotFoundError" });
  return {
    kind: "directory",
    name,
    async *entries() {
      yield* entries;
    },
    async getDirectoryHandle(below, { create }) {
      if (!entries.has(below) && create) entries.set(below, memoryDirectory(below));
      if (entries.get(below)?.kind !== "directory") throw missing(below);
      return entries.get(below);
    },
    async getFileHandle(below, { create }) {
      if (!entries.has(below) && create) entries.set(below, memoryFile(below));
      if (entries.get(below)?.kind !== "file") throw missing(below);
      return entries.get(below);
    },
  };
}

function memoryFile(name) {
  let bytes = new Uint8Array();
  return {
    kind: "file",
    name,
    getFile: async () => new File([bytes], name),
    createWritable: async () => {
      const parts = [];
      return {
        write: async (part) => void parts.push(part.slice()),
        close: async () => void (bytes = Buffer.concat(parts)),
      };
    },
  };
}

test("a page's folder is imported and exported", async () => {
  const folder = memoryDirectory();
  await toDirectory(folder, FILES);
  assert.deepEqual(sorted(await fromDirectory(folder)), sorted(FILES));
  await toDirectory(folder, { "a.txt": "changed" });
  assert.deepEqual((await fromDirectory(folder))["a.txt"], utf8("changed"));

  const asked = [];
  const filter = (path) => asked.push(path) > 0 && path !== "nested/";
  assert.deepEqual(
    Object.keys(await fromDirectory(folder, { filter })).sort(),
    ["a.txt", "empty/", "zero", "ümlaut/日本語.md"].sort(),
  );
  assert.ok(!asked.some((path) => path.startsWith("nested/d")));
  await refuses(() => fromDirectory(folder, { maxBytes: 100 }), "limit_reached", /maxBytes/);
  await refuses(() => fromDirectory(folder, { maxFiles: 3 }), "limit_reached", /maxFiles/);
  await refuses(() => toDirectory(folder, { "../x": "x" }), "permission_denied", /leads out/);
  await assert.rejects(
    () => toDirectory(folder, { "a.txt/below": "x" }),
    (error) => isEmendError(error, "not_found"),
  );
  await assert.rejects(
    () => fromDirectory({}),
    (error) => isEmendError(error, "invalid_argument"),
  );
});

test("the files of a picked folder are imported without the folder's name", async () => {
  const picked = ["shop/a.js", "shop/node_modules/x/index.js", "shop/src/b.js"].map((path) =>
    Object.defineProperty(new File([path], path.split("/").at(-1)), "webkitRelativePath", { value: path }),
  );
  const files = await fromDirectory(picked, { filter: (path) => path !== "node_modules/" });
  assert.deepEqual(files, { "a.js": utf8("shop/a.js"), "src/b.js": utf8("shop/src/b.js") });
});

async function folder(t) {
  const path = await mkdtemp(join(tmpdir(), "emend-files-"));
  t.after(() => rm(path, { recursive: true }));
  return path;
}

test("a folder on disk is imported and exported", async (t) => {
  const path = join(await folder(t), "new/project");
  await node.toDirectory(path, FILES);
  assert.deepEqual(sorted(await node.fromDirectory(path)), sorted(FILES));
  assert.deepEqual(await readFile(join(path, "nested/deep/b.bin")), Buffer.from([0, 1, 255]));
  await node.toDirectory(path, { "a.txt": "shorter" });
  assert.equal(await readFile(join(path, "a.txt"), "utf8"), "shorter");

  const filter = (below) => !["nested/", "zero"].includes(below);
  assert.deepEqual(
    Object.keys(await node.fromDirectory(path, { filter })).sort(),
    ["a.txt", "empty/", "ümlaut/日本語.md"].sort(),
  );
  await refuses(() => node.fromDirectory(path, { maxBytes: 1_000 }), "limit_reached", /maxBytes/);
  await refuses(() => node.fromDirectory(path, { maxFiles: 2 }), "limit_reached", /maxFiles/);
  await assert.rejects(
    () => node.fromDirectory(join(path, "missing")),
    (error) => isEmendError(error, "not_found"),
  );
});

test("an exception of a filter reaches the caller as it is, from every source", async (t) => {
  const path = await folder(t);
  await node.toDirectory(path, FILES);
  const picked = Object.defineProperty(new File(["x"], "a.js"), "webkitRelativePath", { value: "shop/a.js" });
  const archive = await toZip(FILES);
  // An error code of Node does not make it an error of the folder.
  for (const thrown of [new Error("mine"), Object.assign(new Error("mine"), { code: "ENOENT" }), undefined, "text"]) {
    const filter = () => {
      throw thrown;
    };
    for (const work of [
      () => node.fromDirectory(path, { filter }),
      () => fromDirectory([picked], { filter }),
      () => fromZip(archive, { filter }),
    ]) {
      const caught = await work().then(assert.fail, (error) => ({ error }));
      assert.ok(Object.is(caught.error, thrown), String(caught.error));
    }
  }
});

test("links on disk are neither followed nor written through", async (t) => {
  const outside = await folder(t);
  await writeFile(join(outside, "secret"), "secret");
  const path = await folder(t);
  await symlink(outside, join(path, "linked"));
  await symlink(join(outside, "secret"), join(path, "file"));
  await symlink(join(outside, "made"), join(path, "dangling"));
  await mkdir(join(path, "real"));
  await writeFile(join(path, "real/a"), "a");
  assert.deepEqual(await node.fromDirectory(path), { "real/a": utf8("a") });
  for (const below of ["linked/x", "linked/", "file", "dangling", "real/a/b"]) {
    await assert.rejects(
      () => node.toDirectory(path, { [below]: below.endsWith("/") ? "" : "new" }),
      (error) => isEmendError(error, "permission_denied"),
      below,
    );
  }
  assert.equal(await readFile(join(outside, "secret"), "utf8"), "secret");
  for (const name of ["x", "made"]) await assert.rejects(access(join(outside, name)));
  for (const below of ["../x", "/x", "a\\..\\x"]) {
    await refuses(() => node.toDirectory(path, { [below]: "x" }), "permission_denied", /the path/);
  }
});
