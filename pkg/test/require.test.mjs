// CommonJS callers get the same package: Node loads it with `require` because it has no top-level await.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import test from "node:test";

test("require gives the same module", async () => {
  const required = createRequire(import.meta.url)("emend");
  assert.equal(required.Agent, (await import("emend")).Agent);
  const agent = await required.Agent.create({ files: { "a.txt": "hello\n" } });
  assert.deepEqual(
    (await agent.files.list()).map((file) => file.path),
    ["a.txt"],
  );
  agent.close();
});
