// Measures edits of large files by an agent of the built package in Node. Prints one JSON object per line.
//
// A model written in JavaScript calls `edit_file`, once per response. Each figure is the best of several runs, because
// shared machines are noisy, and the first run compiles the module. The texts are compared with the expected ones.
import assert from "node:assert/strict";
import { Agent } from "../../../pkg/dist/index.js";

const ROUNDS = 5;

/** Returns numbered lines of about 45 bytes. */
const numbered = (count) => Array.from({ length: count }, (_, at) => `line ${at} of a file with some words in it\n`);

/** A model that makes these calls, one per response. */
function scripted(calls) {
  let at = 0;
  return {
    name: "scripted",
    async *stream() {
      const call = calls[at];
      at += 1;
      if (call === undefined) yield { type: "text_delta", delta: "Done." };
      else yield { type: "tool_call", id: `call_${at}`, name: "edit_file", arguments: JSON.stringify(call) };
      yield { type: "finish" };
    },
  };
}

/** Edits the lines with these numbers, one call each. Returns the time of the run in milliseconds. */
async function edit(lines, numbers) {
  const place = (at, word) => `${word} ${at} of a file`;
  const calls = numbers.map((at) => ({
    file_path: "a.txt",
    old_string: place(at, "line"),
    new_string: place(at, "LINE"),
  }));
  const changed = new Set(numbers);
  const expected = lines.map((line, at) => (changed.has(at) ? line.replace("line", "LINE") : line)).join("");
  const agent = await Agent.create({
    files: { "a.txt": lines.join("") },
    model: { provider: scripted(calls), model: "m" },
    maxTurns: calls.length + 2,
  });
  globalThis.gc?.();
  const begun = performance.now();
  for await (const event of agent.run("go")) assert.notEqual(event.kind, "ERROR");
  const taken = performance.now() - begun;
  assert.ok((await agent.files.read("a.txt")).text === expected);
  agent.close();
  return taken;
}

for (const [name, lines, numbers] of [
  ["200 edits of a file of 10,000 lines, wasm in Node", 10_000, Array.from({ length: 200 }, (_, at) => at * 50)],
  ["an edit of a file of 10 MB, wasm in Node", 222_000, [111_000]],
]) {
  const text = numbered(lines);
  let ours = Infinity;
  for (let round = 0; round < ROUNDS; round += 1) ours = Math.min(ours, await edit(text, numbers));
  console.log(JSON.stringify({ name, ours, unit: "ms" }));
}
