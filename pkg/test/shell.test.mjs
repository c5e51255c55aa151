// Commands: an emulated shell over the agent's files, in a module that the first command loads.

import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import test from "node:test";
import { Agent, ConfigError, isEmendError } from "emend";
import { collect } from "./support.mjs";

/** Number of times that the shell's module was compiled. */
let nCompiled = 0;
const { size } = await stat(new URL(import.meta.resolve("emend/shell.wasm")));
const compile = WebAssembly.compile;
WebAssembly.compile = (bytes) => {
  if (bytes.byteLength === size) nCompiled += 1;
  return compile.call(WebAssembly, bytes);
};

/** A timeout that no test reaches. */
const LONG_MS = 600_000;

/** Creates an agent whose model sends one command after the other, and then repeats the last result. */
async function create(t, commands, options = {}) {
  const told = [];
  const offered = [];
  const provider = {
    name: "mine",
    async *stream(request) {
      offered.push(...(request.tools ?? []).map((tool) => tool.name));
      const last = request.messages.at(-1);
      if (last.role === "tool") told.push(last.content[0].content);
      const command = commands[told.length];
      if (command === undefined) yield { type: "text_delta", delta: "Done." };
      else
        yield {
          type: "tool_call",
          name: "shell",
          arguments: typeof command === "string" ? { command, timeout_ms: LONG_MS } : command,
        };
      yield { type: "finish" };
    },
  };
  const agent = await Agent.create({ model: { provider, model: "m" }, shell: true, mode: "direct", ...options });
  t.after(() => agent.close());
  return { agent, told, offered };
}

/** Runs commands over these files and returns their results without durations. */
async function run(t, commands, options) {
  const { agent, told } = await create(t, commands, options);
  await agent.run("go").result;
  return told.map((text) => text.replace(/ after \d+ ms/, ""));
}

test("the module is loaded by the first command and not before", async (t) => {
  const { agent, told, offered } = await create(t, ["echo hi > a.txt && cat a.txt | wc -c"]);
  assert.equal(nCompiled, 0);
  await agent.run("go").result;
  assert.equal(nCompiled, 1);
  assert.ok(offered.includes("shell"));
  assert.match(told[0], /^\s*3\n\[changed: a\.txt\]\n\[exit code 0 after \d+ ms\]$/);
  assert.equal(await agent.files.readDisk("a.txt"), "hi\n");

  const without = await create(t, [], { shell: false });
  await without.agent.run("go").result;
  assert.ok(!without.offered.includes("shell"));
  assert.equal(nCompiled, 1);
});

test("commands behave as in bash", async (t) => {
  const files = { "a.txt": "one\ntwo\nthree\n", "src/b.js": "let x = 1;\n" };
  const told = await run(
    t,
    [
      "grep -n t a.txt | sort -r",
      "sed -i 's/two/2/' a.txt && awk '{ print NR \": \" $1 }' a.txt",
      "for i in 1 2 3; do echo line $i; done > loop.txt; cat loop.txt; ls",
      "echo to the other >&2; false",
      "no-such-command",
      "cat missing.txt",
      { command: "cat b.js; pwd", working_dir: "src", timeout_ms: LONG_MS },
      "mv src lib; find . -name '*.js'; printf 'schön 文' > ü.txt; wc -c < ü.txt; rm loop.txt",
      "if then",
    ],
    { files },
  );
  assert.deepEqual(told.slice(0, 4), [
    "3:three\n2:two\n[exit code 0]",
    "1: one\n2: 2\n3: three\n[changed: a.txt]\n[exit code 0]",
    "line 1\nline 2\nline 3\na.txt\nloop.txt\nsrc\n[changed: loop.txt]\n[exit code 0]",
    "to the other\n[exit code 1]",
  ]);
  assert.match(told[4], /no-such-command.*not found[^]*\[exit code 127\]$/);
  assert.match(told[5], /missing\.txt[^]*\[exit code 1\]$/);
  assert.equal(told[6], "let x = 1;\n/workspace/src\n[exit code 0]");
  assert.match(
    told[7],
    /^\.\/lib\/b\.js\n\s*10\n\[changed: lib\/b\.js, loop\.txt, src\/b\.js, ü\.txt\]\n\[exit code 0\]$/,
  );
  assert.match(told[8], /\[exit code 2\]$/);
});

test("in staged mode, the changes of a command are hunks and are not saved", async (t) => {
  const files = { "a.txt": "one\ntwo\n", "b.txt": "bee\n" };
  const { agent, told } = await create(
    t,
    ["sed -i s/two/2/ a.txt; rm b.txt; echo new > c.txt", "cat a.txt c.txt; ls"],
    { files, mode: "staged" },
  );
  await agent.run("go").result;
  assert.match(told[1], /^one\n2\nnew\na\.txt\nc\.txt\n/, "it sees what is pending");
  assert.deepEqual(
    agent.review().files.map((file) => [file.path, file.operation, file.hunks.length]),
    [
      ["a.txt", "update", 1],
      ["b.txt", "delete", 1],
      ["c.txt", "create", 1],
    ],
  );
  assert.deepEqual([await agent.files.readDisk("a.txt"), await agent.files.readDisk("c.txt")], ["one\ntwo\n", null]);
  await agent.acceptAll();
  assert.deepEqual([await agent.files.readDisk("a.txt"), await agent.files.readDisk("b.txt")], ["one\n2\n", null]);
});

test("a command that never waits times out, and so does one that waits too long", async (t) => {
  const told = await run(t, [
    "echo begun; while :; do :; done",
    { command: "echo begun; sleep 600", timeout_ms: 50 },
    "echo still here",
  ]);
  assert.match(told[0], /begun\n[^]*stopped: maximum[^]*Command timed out after 600000ms/);
  assert.match(told[1], /begun\n[^]*Command timed out after 50ms/);
  assert.match(told[2], /still here/);
});

test("cancelling ends a waiting command, and its output is shown before", async (t) => {
  const { agent } = await create(t, ["echo begun > a.txt; echo shown; sleep 600"]);
  const running = agent.run("go");
  const events = [];
  for await (const event of running) {
    events.push(event);
    if (event.kind === "TOOL_CALL_OUTPUT_DELTA") running.cancel();
  }
  assert.equal(events.find((event) => event.kind === "TOOL_CALL_OUTPUT_DELTA").data.delta, "shown\n");
  assert.equal((await running.result).reason, "aborted");
  assert.equal(await agent.files.readDisk("a.txt"), "begun\n");
});

test("closing the agent ends a command too, and leaves nothing that keeps Node waiting", async (t) => {
  const { agent } = await create(t, ["echo begun; sleep 600"]);
  const running = agent.run("go");
  await assert.rejects(
    collect(
      (async function* () {
        for await (const event of running) {
          if (event.kind === "TOOL_CALL_OUTPUT_DELTA") agent.close();
          yield event;
        }
      })(),
    ),
    (error) => isEmendError(error, "closed"),
  );
});

test("large output is truncated", async (t) => {
  const { agent } = await create(t, ["cat big.txt; wc -c < big.txt"], { files: { "big.txt": "x".repeat(3_000_000) } });
  const events = await collect(agent.run("go"));
  const end = events.find((event) => event.kind === "TOOL_CALL_END").data;
  const text = JSON.stringify(end);
  assert.ok(text.length < 3_000_000, String(text.length));
  assert.match(text, /3000000/);
});

test("a wrong option is reported by name", async (t) => {
  await assert.rejects(
    Agent.create({ shell: "bash" }),
    (error) => error instanceof ConfigError && /`shell`/.test(error.message),
  );
  const { agent } = await create(t, []);
  assert.throws(() => agent.configure({ shell: false }), ConfigError);
});

test("the source of the module can be passed", async (t) => {
  const path = new URL(import.meta.resolve("emend/shell.wasm"));
  const told = await run(t, ["echo given"], { shell: { wasm: await readFile(path) } });
  assert.equal(told[0], "given\n[exit code 0]");
});
