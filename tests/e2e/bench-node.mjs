// The measurements of `bench.mjs` in Node: the same engine without a page, the start, and the decoder. Times are in milliseconds.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";

const PACKAGE = new URL("../../pkg/dist/", import.meta.url);

/** Returns the time and the processor time of `work`. */
async function timed(work) {
  const [begun, before] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(before);
  return { ms: performance.now() - begun, cpu: (user + system) / 1_000 };
}

/** Replaces a word in all of `files`, with the offline model as in the page. */
export async function renamedInNode(files) {
  const { Agent } = await import(`${PACKAGE}index.js`);
  const agent = await Agent.create({ files });
  await agent.run("hello").result;
  const taken = await timed(() => agent.run('replace "foo" with "bar"').result);
  assert.ok(agent.review().files.length === Object.keys(files).length);
  agent.close();
  return taken;
}

/** Edits one file of so many lines, one line a call, and returns the processor time of each quarter of the edits too. */
export async function edited(lines, edits, isFaulty) {
  const { Agent } = await import(`${PACKAGE}index.js`);
  const text = Array.from({ length: lines }, (_, at) => `line ${at} of a file with some words in it\n`).join("");
  const marks = [];
  const stream = async function* ({ messages }) {
    marks.push(process.cpuUsage());
    const edit = messages.filter(({ role }) => role === "tool").length;
    if (isFaulty) burn(edit * lines);
    if (edit === edits) {
      yield { type: "text_delta", text: "Done." };
    } else {
      const at = (edit * 7 * Math.floor(lines / edits)) % lines;
      const input = { file_path: "a.txt", old_string: `line ${at} of`, new_string: `LINE ${at} of` };
      yield { type: "tool_call", name: "edit_file", arguments: JSON.stringify(input) };
    }
    yield { type: "finish" };
  };
  const model = { provider: { name: "scripted", stream } };
  const agent = await Agent.create({ files: { "a.txt": text }, model, maxTurns: edits + 2 });
  const taken = await timed(() => agent.run("go").result);
  assert.ok((await agent.files.read("a.txt")).text.match(/LINE/g).length === edits);
  agent.close();
  const cpu = marks.map(({ user, system }) => (user + system) / 1_000);
  const quarters = [0, 1, 2, 3].map((at) => cpu[((at + 1) * edits) / 4] - cpu[(at * edits) / 4]);
  return { ...taken, quarters };
}

function burn(rounds) {
  for (let n = 0, x = 1; n < rounds; n++) x = (x * 1_103_515_245 + 12_345) % 2_147_483_648;
}

const TIMED = `
  const cpu = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
  const [begun, before] = [performance.now(), cpu()];
  let imported = before;`;
const PRINTED = `
  console.log(JSON.stringify({ ms: performance.now() - begun, cpu: cpu() - before, init: cpu() - imported }));
  process.exit();`;

/** Measures fresh processes in turn, and returns the least of each: with the package, and with its module alone. */
export async function initTimes(isFaulty) {
  const scripts = {
    ours: `${TIMED}
      const { init } = await import(${JSON.stringify(`${PACKAGE}index.js`)});
      imported = cpu();
      await init();
      ${isFaulty ? "for (let n = 0, x = 1; n < 5_000_000; n++) x = (x * 1_103_515_245 + 12_345) % 2_147_483_648;" : ""}
      ${PRINTED}`,
    bare: `import { readFile } from "node:fs/promises";
      ${TIMED}
      const module = await WebAssembly.compile(await readFile(new URL(${JSON.stringify(`${PACKAGE}core_bg.wasm`)})));
      const imports = {};
      for (const { module: from, name } of WebAssembly.Module.imports(module)) (imports[from] ??= {})[name] = () => {};
      await WebAssembly.instantiate(module, imports);
      ${PRINTED}`,
  };
  const least = {};
  for (let round = 0; round < 5; round++) {
    for (const [name, script] of Object.entries(scripts)) {
      const printed = execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
      const taken = JSON.parse(printed);
      least[name] ??= taken;
      for (const key of Object.keys(taken)) least[name][key] = Math.min(least[name][key], taken[key]);
    }
  }
  return least;
}

/** 10 MB of a response in Anthropic's format, in pieces as from a network. */
function transcript() {
  const event = (value) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: "m", type: "message", role: "assistant", model: "m", content: [], usage };
  const parts = [
    event({ type: "message_start", message }),
    event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
  ];
  for (let bytes = 0, index = 0; bytes < 10_000_000; index++) {
    const delta = { type: "text_delta", text: `word ${index} "and" more, ` };
    bytes += parts[parts.push(event({ type: "content_block_delta", index: 0, delta })) - 1].length;
  }
  parts.push(
    event({ type: "content_block_stop", index: 0 }),
    event({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } }),
    event({ type: "message_stop" }),
  );
  const whole = new TextEncoder().encode(parts.join(""));
  const size = 16 * 1_024;
  return Array.from({ length: Math.ceil(whole.length / size) }, (_, at) => whole.subarray(at * size, (at + 1) * size));
}

/** Decodes a response with the package and with the least code that can, in turn, and returns the least processor times. */
export async function decoded(isFaulty) {
  const { load } = await import(`${PACKAGE}llm.js`);
  const formats = await load();
  const pieces = transcript();
  const ours = () => {
    const decoder = formats.decoder("anthropic-messages");
    let text = "";
    const take = ({ events }) => {
      for (const event of events) if (event.type === "text_delta") text += event.delta;
    };
    for (const piece of pieces) take(decoder.push(piece));
    take(decoder.finish());
    return text;
  };
  const bare = () => {
    const decoder = new TextDecoder();
    let [text, rest] = ["", ""];
    for (const piece of pieces) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
      rest = lines.pop();
      for (const line of lines.filter((line) => line.startsWith("data: "))) {
        const event = JSON.parse(line.slice("data: ".length));
        if (event.type === "content_block_delta") text += event.delta.text;
      }
    }
    return text;
  };
  assert.equal(ours(), bare());
  const least = { ours: Infinity, bare: Infinity };
  for (let round = 0; round < 5; round++) {
    for (const [name, decode] of Object.entries({ ours: isFaulty ? () => ours() + ours() : ours, bare })) {
      least[name] = Math.min(least[name], (await timed(decode)).cpu);
    }
  }
  return least;
}
