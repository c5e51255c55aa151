// Files in memory: importing and searching ten thousand files, beside a loop over JavaScript strings and the file system
// of `just-bash`.
import assert from "node:assert/strict";
import { Bash } from "just-bash";

const N_FILES = 10_000;

/** Patterns, and whether the shell searches for them too: a pattern without a leading literal takes minutes there. */
const PATTERNS = [
  ["a literal", "needle_7777", true],
  ["a prefixed pattern", "fn needle_77[0-9]+", true],
  ["a pattern with a literal inside", "[a-z]+_77[0-9]+\\(\\)", false],
];

/** Returns files like those of a project: in a hundred directories, about forty distinct lines each. */
function project() {
  const line = (file, index) => `    let value_${index} = compute(${file}, ${index}, "text of line ${index}");\n`;
  const text = (file) =>
    `//! File ${file}.\n\nfn needle_${file}() {\n${Array.from({ length: 40 }, (_, index) => line(file, index)).join("")}}\n`;
  return Object.fromEntries(
    Array.from({ length: N_FILES }, (_, file) => [`src/part_${file % 100}/file_${file}.rs`, text(file)]),
  );
}

/** Returns the result of `files.grep`, computed by a loop over existing strings. */
function loop(list, pattern) {
  const found = [];
  for (const [path, text] of list) {
    const regex = new RegExp(pattern, "gm");
    const lines = [];
    let [number, start] = [1, 0];
    for (let match = regex.exec(text); match !== null; match = regex.exec(text)) {
      for (
        let next = text.indexOf("\n", start) + 1;
        next !== 0 && next <= match.index;
        next = text.indexOf("\n", start) + 1
      ) {
        number += 1;
        start = next;
      }
      const ending = text.indexOf("\n", match.index);
      const end = ending === -1 ? text.length : ending;
      lines.push({ line: number, text: text.slice(start, end), isMatch: true });
      regex.lastIndex = end + 1;
    }
    if (lines.length > 0) found.push({ path, lines });
  }
  return found;
}

/** Returns the best times of functions that run alternately, in milliseconds. */
async function best(runs, rounds) {
  const times = runs.map(() => Infinity);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, run] of runs.entries()) {
      const begun = performance.now();
      await run();
      times[index] = Math.min(times[index], performance.now() - begun);
    }
  }
  return times;
}

export async function searching(print, version) {
  const { Agent } = await import("../../../pkg/dist/index.js");
  const files = project();
  const justBash = `just-bash ${version("just-bash")}`;

  // Each side copies each file's bytes once; the shell reads all files once, because it may import them lazily.
  const take = async () => (await Agent.create({ files })).close();
  const theirs = async () => (await new Bash({ files, cwd: "/" }).exec("cat src/part_0/*.rs | wc -c")).stdout;
  const part = Object.entries(files).filter(([path]) => path.startsWith("src/part_0/"));
  assert.equal((await theirs()).trim(), String(part.reduce((sum, [, text]) => sum + text.length, 0)));
  print(`import of ${N_FILES} files, wasm in Node`, justBash, await best([take, theirs], 5));

  const agent = await Agent.create({ files });
  const fork = async () => (await Agent.create({ files: agent.files })).close();
  print(
    `a second agent over ${N_FILES} files, wasm in Node`,
    "one that takes them in again",
    await best([fork, take], 5),
  );
  const bash = new Bash({ files, cwd: "/" });
  const list = Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, pattern, inShell] of PATTERNS) {
    const ours = () => agent.files.grep(pattern);
    const found = await ours();
    assert.ok(found.length > 0);
    assert.deepEqual(found, loop(list, pattern));
    const title = `grep of ${name} over ${N_FILES} files, wasm in Node`;
    print(title, "a loop of RegExp over strings", await best([ours, () => loop(list, pattern)], 25));
    if (!inShell) continue;
    const shell = () => bash.exec(`grep -rnE '${pattern}' src`);
    const lines = found.flatMap(({ path, lines }) => lines.map(({ line, text }) => `${path}:${line}:${text}`));
    assert.deepEqual((await shell()).stdout.trimEnd().split("\n").sort(), lines.sort());
    print(title, justBash, await best([ours, shell], 3));
  }
  agent.close();
}
