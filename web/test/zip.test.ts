import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { crc32, zip } from "../src/zip.js";

test("the checksum is the one the format names", () => {
  assert.equal(crc32(new TextEncoder().encode("123456789")), 0xcbf43926);
});

test("another program reads the archive back", (t) => {
  const files = new Map([["a.txt", "one\r\n"], ["docs/grüße.md", "# Grüße\n"], ["empty", ""]]);
  const directory = mkdtempSync(join(tmpdir(), "emend-zip-"));
  const archive = join(directory, "x.zip");
  writeFileSync(archive, zip(files, new Date(2026, 10, 21, 12, 30, 58)));
  const script = `import json, sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
assert z.testzip() is None
print(json.dumps([[i.filename, z.read(i).decode(), i.date_time] for i in z.infolist()]))`;
  try {
    const output = execFileSync("python3", ["-c", script, archive], { encoding: "utf8" });
    const date = [2026, 11, 21, 12, 30, 58];
    assert.deepEqual(JSON.parse(output), [...files].map(([name, text]) => [name, text, date]));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    t.skip("no python3 to read it with");
  } finally {
    rmSync(directory, { recursive: true });
  }
});
