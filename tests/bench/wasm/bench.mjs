// Measures the built package in Node beside packages from npm. Prints one JSON object per line.
//
// The results of both are compared for equality before timing. Shared machines are noisy, so each figure is the best of
// several alternating runs. `node bench.mjs editing` measures one section and needs only its module.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { applyPatch, structuredPatch } from "diff";
import { createParser } from "eventsource-parser";
import { texts } from "./texts.mjs";

const version = (name) =>
  JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), "utf8")).version;

/** Returns the best times of two functions that run alternately, in milliseconds. A short function is called several times. */
function best(ours, peer, rounds, calls = 1) {
  const times = [Infinity, Infinity];
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, run] of [ours, peer].entries()) {
      const begun = performance.now();
      for (let call = 0; call < calls; call += 1) run();
      times[index] = Math.min(times[index], (performance.now() - begun) / calls);
    }
  }
  return times;
}

function print(name, peerName, [ours, peer]) {
  console.error(`  wasm: ${name}`);
  console.log(JSON.stringify({ name, ours, peer_name: peerName, peer, ratio: ours / peer, unit: "ms" }));
}

/** A hunk in the format of `diff`. */
const asTheirs = ({ lines, ...hunk }) => {
  const marker = { context: " ", removed: "-", added: "+" };
  return { ...hunk, lines: lines.map((line) => marker[line.kind] + line.text.replace(/\n$/, "")) };
};

async function editing() {
  const { load } = await import("../../../pkg/dist/edit.js");
  const edit = await load();
  const peer = `diff ${version("diff")}`;
  for (const [lines, rounds] of [
    [1_000, 200],
    [10_000, 60],
    [100_000, 6],
  ]) {
    const { before, after } = texts(lines);
    const ours = () => edit.diff(before, after);
    const theirs = () => structuredPatch("a", "b", before, after, "", "", { context: 3 });
    assert.deepEqual(ours().map(asTheirs), theirs().hunks);
    print(`diff of ${lines} lines, wasm in Node`, peer, best(ours, theirs, rounds));

    patching(edit, peer, { lines, rounds, before, after });
  }
}

/** Number of different patches per text, because users do not apply one patch repeatedly. */
const PATCHES = 8;

/**
 * Patches one text from string to string, then as a text inside the module. The peer supports strings only. A text that is
 * edited several times is also measured from string to string.
 */
function patching(edit, peer, { lines, rounds, before, after }) {
  const afters = Array.from({ length: PATCHES }, (_, index) => texts(lines, 15 + 10 * index).after);
  const patches = afters.map((after) => ({ format: "unified", text: edit.unifiedDiff(before, after) }));
  const calls = Math.max(1, 10_000 / lines);
  /** Cycles through the patches, one per call. */
  const inTurn = (apply) => {
    let turn = 0;
    return () => apply(patches[turn++ % PATCHES]);
  };
  const theirs = inTurn(({ text }) => applyPatch(before, text));
  const strings = inTurn((patch) => edit.editText(before, patch).text);
  for (const after of afters) {
    assert.equal(theirs(), after);
    assert.equal(strings(), after);
  }
  print(`apply to ${lines} lines, string to string, wasm in Node`, peer, best(strings, theirs, rounds, calls));

  const held = edit.openText(before);
  patches.forEach((patch, index) => {
    const made = held.apply(patch).text;
    assert.equal(made.toString(), afters[index]);
    made.close();
  });
  const onHeld = inTurn((patch) => held.apply(patch).text.close());
  print(`apply to ${lines} lines, held text, wasm in Node`, peer, best(onHeld, theirs, rounds, calls));
  held.close();

  const text = edit.unifiedDiff(before, after);
  const back = edit.unifiedDiff(after, before);
  const turns = Array.from({ length: TURNS }, (_, index) => (index % 2 === 0 ? text : back));
  const ourTurns = () => {
    let current = edit.openText(before);
    for (const text of turns) {
      const next = current.apply({ format: "unified", text }).text;
      current.close();
      current = next;
    }
    const result = current.toString();
    current.close();
    return result;
  };
  const theirTurns = () => turns.reduce((current, patch) => applyPatch(current, patch), before);
  assert.equal(ourTurns(), before);
  assert.equal(theirTurns(), before);
  const few = Math.max(3, Math.ceil(rounds / TURNS));
  print(`${TURNS} patches one after another, ${lines} lines, string to string`, peer, best(ourTurns, theirTurns, few));
}

/** Number of patches applied to one text in sequence. */
const TURNS = 10;

/** 10 MB of a response in Anthropic's format, in chunks as from a network. */
function transcript() {
  const event = (value) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
  const delta = (index) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text: `word ${index} "and" more, ` },
  });
  const message = {
    id: "m",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  const parts = [
    event({ type: "message_start", message }),
    event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
  ];
  for (let bytes = 0, index = 0; bytes < 10_000_000; index += 1)
    bytes += parts[parts.push(event(delta(index))) - 1].length;
  parts.push(
    event({ type: "content_block_stop", index: 0 }),
    event({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } }),
    event({ type: "message_stop" }),
  );
  const whole = new TextEncoder().encode(parts.join(""));
  const size = 16 * 1024;
  return Array.from({ length: Math.ceil(whole.length / size) }, (_, index) =>
    whole.subarray(index * size, (index + 1) * size),
  );
}

async function streaming() {
  const { load } = await import("../../../pkg/dist/llm.js");
  const formats = await load();
  const chunks = transcript();
  const ours = () => {
    const decoder = formats.decoder("anthropic-messages");
    let text = "";
    const take = ({ events }) => {
      for (const event of events) if (event.type === "text_delta") text += event.delta;
    };
    for (const chunk of chunks) take(decoder.push(chunk));
    take(decoder.finish());
    return text;
  };
  const theirs = () => {
    const decoder = new TextDecoder();
    let text = "";
    const onEvent = ({ data }) => {
      const event = JSON.parse(data);
      if (event.type === "content_block_delta") text += event.delta.text;
    };
    const parser = createParser({ onEvent });
    for (const chunk of chunks) parser.feed(decoder.decode(chunk, { stream: true }));
    return text;
  };
  assert.equal(ours(), theirs());
  const peer = `eventsource-parser ${version("eventsource-parser")} + JSON.parse`;
  print("10 MB of events decoded, wasm in Node", peer, best(ours, theirs, 5));
}

/** Measures a fresh process from the import to the end of the first call. */
const START = {
  ours: `const { load } = await import(new URL("../../../pkg/dist/edit.js", BASE)); (await load()).hash("x")`,
  core: `const { init } = await import(new URL("../../../pkg/dist/index.js", BASE)); await init()`,
  "@automerge/automerge": `const automerge = await import("@automerge/automerge"); automerge.from({ x: 1 })`,
  "oxc-parser": `const oxc = await import("oxc-parser"); oxc.parseSync("a.js", "x")`,
};

function start(what) {
  const script = `const BASE = ${JSON.stringify(import.meta.url)}; const begun = performance.now(); ${START[what]}; console.log(performance.now() - begun); process.exit()`;
  const cwd = new URL(".", import.meta.url);
  let least = Infinity;
  for (let round = 0; round < 7; round += 1) {
    least = Math.min(
      least,
      Number(execFileSync(process.execPath, ["--input-type=module", "-e", script], { cwd, encoding: "utf8" })),
    );
  }
  return least;
}

function starting() {
  const [edit, core] = [start("ours"), start("core")];
  for (const peer of ["@automerge/automerge", "oxc-parser"]) {
    const theirs = start(peer);
    print("init of emend/edit in Node", `${peer} ${version(peer)}`, [edit, theirs]);
    print("init of emend in Node", `${peer} ${version(peer)}`, [core, theirs]);
  }
}

const sections = {
  editing,
  streaming,
  starting,
  searching: async () => (await import("./files.mjs")).searching(print, version),
};
for (const name of process.argv.length > 2 ? process.argv.slice(2) : Object.keys(sections)) await sections[name]();
