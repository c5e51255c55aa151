// Measures `emend run` with 2,000 edits in 40 files beside `git apply`, which applies the same edits one at a time.
// Prints one JSON object. `node run.mjs EMEND FOLDER`: the program, and a folder that is created anew.
//
// A local server plays the model: each response calls `edit_file` ten times. Both programs start from the same files, and
// their results are compared. They run several times in turns; the best times count.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const [emend, folder] = process.argv.slice(2);
const [FILES, LINES, EDITS_OF_FILE, ROUNDS] = [40, 500, 50, 3];
const CALLS_OF_RESPONSE = 10;
const STEP = LINES / EDITS_OF_FILE;

const name = (file) => `src/file${file}.txt`;
const line = (file, at, word = "line") => `${word} ${at} of file ${file} with some words\n`;
const edits = Array.from({ length: FILES * EDITS_OF_FILE }, (_, edit) => ({
  file: edit % FILES,
  at: Math.floor(edit / FILES) * STEP + 1,
}));

function prepare(project) {
  mkdirSync(join(project, "src"), { recursive: true });
  for (let file = 0; file < FILES; file += 1) {
    const lines = Array.from({ length: LINES }, (_, at) => line(file, at));
    writeFileSync(join(project, name(file)), lines.join(""));
  }
  execFileSync("git", ["init", "--quiet"], { cwd: project });
}

/** Answers each request with calls for the next edits. */
async function model() {
  let next = 0;
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const calls = edits.slice(next, next + CALLS_OF_RESPONSE).map(({ file, at }, index) => {
        const place = (word) => line(file, at, word).trimEnd();
        const input = { file_path: name(file), old_string: place("line"), new_string: place("LINE") };
        return { index, id: `call_${next + index}`, function: { name: "edit_file", arguments: JSON.stringify(input) } };
      });
      next += calls.length;
      const choice =
        calls.length > 0
          ? { delta: { tool_calls: calls }, finish_reason: "tool_calls" }
          : { delta: { content: "Done." }, finish_reason: "stop" };
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\ndata: [DONE]\n\n`);
    });
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return { server, url: `http://127.0.0.1:${server.address().port}` };
}

async function run(here) {
  const { server, url } = await model();
  const places = { XDG_STATE_HOME: join(here, "state"), XDG_CONFIG_HOME: join(here, "config") };
  const env = { ...process.env, ...places, OPENAI_COMPATIBLE_BASE_URL: url };
  const words = ["run", "go", "--model", "openai_compatible:m", "--max-turns", `${edits.length + 2}`];
  const begun = performance.now();
  const child = spawn(emend, words, { cwd: join(here, "ours"), env, stdio: "ignore" });
  const status = await new Promise((ended) => child.on("exit", ended));
  const taken = performance.now() - begun;
  assert.equal(status, 0);
  server.close();
  return taken;
}

function apply(here) {
  // A loop of the shell starts programs faster than Node does.
  const script = 'for patch in ../patches/*; do git apply "$patch" || exit 1; done';
  const begun = performance.now();
  execFileSync("sh", ["-c", script], { cwd: join(here, "theirs") });
  return performance.now() - begun;
}

function writePatches(here) {
  mkdirSync(join(here, "patches"));
  edits.forEach(({ file, at }, number) => {
    const [head, hunk] = [`--- a/${name(file)}\n+++ b/${name(file)}\n`, `@@ -${at},3 +${at},3 @@\n`];
    const [above, below] = [` ${line(file, at - 1)}`, ` ${line(file, at + 1)}`];
    const body = `${above}-${line(file, at)}+${line(file, at, "LINE")}${below}`;
    writeFileSync(join(here, "patches", String(number).padStart(5, "0")), head + hunk + body);
  });
}

const best = [Infinity, Infinity];
for (let round = 0; round < ROUNDS; round += 1) {
  rmSync(folder, { recursive: true, force: true });
  for (const side of ["ours", "theirs"]) prepare(join(folder, side));
  writePatches(folder);
  const taken = [await run(folder), apply(folder)];
  for (let file = 0; file < FILES; file += 1) {
    const texts = ["ours", "theirs"].map((side) => readFileSync(join(folder, side, name(file)), "utf8"));
    assert.ok(texts[0] === texts[1] && texts[0].split("LINE").length === EDITS_OF_FILE + 1);
  }
  taken.forEach((time, side) => {
    best[side] = Math.min(best[side], time);
  });
}
const version = execFileSync("git", ["--version"], { encoding: "utf8" }).trim().replace("git version", "git");
const [ours, peer] = best;
const title = `${edits.length} edits in ${FILES} files`;
console.log(JSON.stringify({ name: title, ours, peer_name: `${version} apply`, peer, ratio: ours / peer, unit: "ms" }));
