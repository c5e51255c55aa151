// Runs a task set in Chromium, on the built npm package, with the responses of recordings.
//
// `node eval.mjs RECORDINGS TASKS OUT`: RECORDINGS is a directory that `emend eval --record` wrote, TASKS the output of
// `emend eval --list --output jsonl`. OUT gets the runs, one JSON object per line, for `emend eval --judge OUT`. Nothing is
// scored here: each request is kept, and the judge compares it with its recording.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { launch, servePackage } from "./browser.mjs";

const [recordings, tasksFile, out] = process.argv.slice(2);
const tasks = (await readFile(tasksFile, "utf8"))
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));
const served = await servePackage();
const browser = await launch();
const page = await browser.newPage();
await page.goto(served.url);
const lines = [];
for (const file of (await readdir(recordings)).filter((name) => name.endsWith(".json")).sort()) {
  const { model, edits, chunks, tasks: recorded } = JSON.parse(await readFile(join(recordings, file), "utf8"));
  for (const task of tasks) {
    const { messages, cassette } = recorded[task.id];
    const responses = cassette.exchanges.map(({ answer: { response } }) => ({
      status: response.status,
      headers: response.headers,
      body: response.chunks.map((index) => chunks[index]).join(""),
    }));
    const attempts = await page.evaluate(runTask, { task, model, messages, responses });
    lines.push(JSON.stringify({ model, edits, task: task.id, attempts }));
  }
}
await browser.close();
await served.close();
await writeFile(out, lines.map((line) => `${line}\n`).join(""));
console.log(`${lines.length} runs in Chromium`);

/** Runs in the page: sends the recorded messages to an agent, and returns all that happened. */
async function runTask({ task, model, messages, responses }) {
  const { Agent } = await import("emend");
  const queue = [...responses];
  let requests = [];
  const fetch = async (url, { body }) => {
    requests.push({ url, body: new TextDecoder().decode(body) });
    const response = queue.shift();
    if (response === undefined) throw new TypeError("the recording has no response to this request");
    return new Response(response.body, { status: response.status, headers: response.headers });
  };
  // The judge reads the names of the core. Those inside of arguments belong to the task.
  const ofCore = (record) =>
    Object.fromEntries(
      Object.entries(record).map(([name, value]) => [
        name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        value,
      ]),
    );
  const agent = await Agent.create({
    model: { provider: "anthropic", model, apiKey: "none" },
    profile: "none",
    mode: "direct",
    questions: true,
    files: task.files,
    fetch,
  });
  const attempts = [];
  let isEdited = false;
  for (const message of messages) {
    requests = [];
    const events = [];
    const started = new Map();
    for await (const event of agent.run(message)) {
      const { kind, data } = event;
      if (kind.endsWith("_DELTA")) continue;
      events.push({ kind, data: { ...ofCore(data), ...(data.usage && { usage: ofCore(data.usage) }) } });
      if (kind === "TOOL_CALL_START") started.set(data.callId, JSON.stringify(data.arguments));
      const edit = task.user_edit;
      if (kind === "TOOL_CALL_END" && edit !== null && !isEdited && started.get(data.callId)?.includes(edit.path)) {
        await agent.files.write(edit.path, edit.text, { base: task.files[edit.path] });
        isEdited = true;
      }
    }
    const saved = Object.entries(await agent.files.export());
    const files = Object.fromEntries(saved.map(([path, bytes]) => [path, new TextDecoder().decode(bytes)]));
    attempts.push({ message, events, files, user_edit_made: isEdited, requests });
  }
  agent.close();
  return attempts;
}
