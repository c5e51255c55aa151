// Measures the built page in Chromium, and the package in Node. `cargo xtask bench web` runs it and prints its rows of JSON.
//
// `node bench.mjs --gates` prints a line for each limit of `gates.mjs` that holds on a busy computer, and the totals: the step
// `bench-web` of `cargo xtask test`. `--faults` plants faults, with which each of these limits must be exceeded. `ONLY=edits` runs one
// section: start, edits, node, keys, scroll or package.
import { fileURLToPath } from "node:url";
import { openApp } from "./app.mjs";
import { decoded, edited, initTimes, renamedInNode } from "./bench-node.mjs";
import { launch, serve } from "./browser.mjs";
import { loadedBytes, total } from "./bytes.mjs";
import { GATES, judge } from "./gates.mjs";
import { Clock, cpuBetween, cpuPerFrame, percentile, slowness, traced } from "./measure.mjs";
import { startProvider } from "./provider.mjs";

const DIST = fileURLToPath(new URL("../../web/dist/", import.meta.url));
const isGate = process.argv.includes("--gates") || process.argv.includes("--faults");
const isFaulty = process.argv.includes("--faults");

const figures = new Map();
const isChosen = (section) => (process.env.ONLY ?? section) === section;

function row(name, ours, unit, peer) {
  figures.set(name, ours);
  const beside = peer === undefined ? {} : { peer_name: peer.name, peer: peer.value, ratio: ours / peer.value };
  if (!isGate) console.log(JSON.stringify({ name, ours, unit, ...beside }));
}

const served = await serve(DIST.replace(/\/$/, ""));
const browser = await launch();

/** Runs `work` in a fresh profile. */
async function inPage(work) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, serviceWorkers: "block" });
  context.setDefaultTimeout(60_000);
  try {
    if (isFaulty) await context.addInitScript(plantFaults);
    const page = await context.newPage();
    await work(page, await Clock.of(page));
  } finally {
    await context.close();
  }
}

/** The faults of a page: long tasks, needless requests, and a list that is drawn whole. The tasks begin with `window.plant()`. */
function plantFaults() {
  const block = (rounds) => {
    for (let n = 0, x = 1; n < rounds; n++) x = (x * 1_103_515_245 + 12_345) % 2_147_483_648;
  };
  // Between the tasks there is time for all else.
  window.plant = (gap) => {
    block(5_500_000);
    setTimeout(window.plant, gap, gap);
  };
  const drawAll = ({ target }) => {
    if (!target.classList?.contains("review-list")) return;
    removeEventListener("scroll", drawAll, true);
    for (let at = 0; at < 13_000; at++) target.append(document.createElement("i"));
  };
  addEventListener("scroll", drawAll, true);
  addEventListener("DOMContentLoaded", () => {
    for (let at = 0; at < 30; at++) fetch(`./icon.svg?${at}`);
    block(7_000_000);
  });
}

/** Begins the long tasks with `gap` milliseconds between them, if faults are planted. */
function plant(page, gap = 200) {
  return page.evaluate((ms) => void window.plant?.(ms), gap);
}

const file = (name, text) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });

async function openFiles(page, files) {
  await page.getByLabel("Files to open").first().setInputFiles(files);
  await page.locator(`.tree-row[data-path="${files[0].name}"]`).waitFor();
}

/** Marks each key, and the end of the frame after it. Keeps the times between them. */
function watchKeys(page) {
  return page.evaluate(() => {
    window.times = [];
    addEventListener(
      "keydown",
      (event) => {
        // Also the time for which the key waited.
        performance.mark("key", { startTime: event.timeStamp });
        // A message after the frame is handled when the frame is drawn.
        requestAnimationFrame(() => {
          const { port1, port2 } = new MessageChannel();
          port1.onmessage = () => {
            performance.mark("painted");
            window.times.push(performance.now() - event.timeStamp);
          };
          port2.postMessage(0);
        });
      },
      { capture: true },
    );
  });
}

/** Types letters, and reports the times from each key to the frame after it. Returns their median. */
async function typeKeys(page, clock, name, count, peer) {
  await watchKeys(page);
  await plant(page);
  const trace = await traced(browser, page, async () => {
    for (let at = 0; at < count; at++) {
      await page.keyboard.press("x");
      await page.waitForTimeout(15);
    }
    await page.waitForFunction((wanted) => window.times.length >= wanted, count);
  });
  const times = await page.evaluate(() => window.times);
  const unit = await clock.unit(page);
  const median = percentile(times, 0.5);
  row(`page: key to frame ${name}, p50`, median, "ms", peer);
  row(`page: key to frame ${name}, p95`, percentile(times, 0.95), "ms");
  const cpu = cpuBetween(trace, "key", "painted");
  row(`page: key to frame ${name}, main thread, p50`, percentile(cpu, 0.5) / unit, "units");
  row(`page: key to frame ${name}, main thread, p95`, percentile(cpu, 0.95) / unit, "units");
  return median;
}

// Faults make all of it slow, and are as easy to see with fewer files.
const N_FILES = isFaulty ? 8 : 40;
/** Edits of each of these files. */
const N_EDITS = 50;
const renamed = Array.from({ length: N_FILES }, (_, at) =>
  file(
    `f${String(at).padStart(2, "0")}.txt`,
    Array.from({ length: N_EDITS }, (_, line) => `foo ${line}\na\nb\n`).join(""),
  ),
);

// The start, and the bytes of the app.
async function start(page, clock) {
  let requests = 0;
  let started;
  page.on("request", () => {
    requests += 1;
  });
  const before = await clock.read();
  const onStart = () => {
    started ??= { requests, cpu: clock.read(), ms: page.evaluate(() => performance.now()) };
  };
  const loaded = await loadedBytes(page, served.url, onStart);
  row("page: start view can be used, after the navigation", await started.ms, "ms");
  row("page: requests until the start view can be used", started.requests, "requests");
  const cpu = (await started.cpu).thread - before.thread;
  row("page: main thread until the start view can be used", cpu / (await clock.unit(page)), "units");
  row("page: start view after brotli", total(loaded.start), "bytes");
  row("page: app without wasm and languages after brotli", total(loaded.app), "bytes");
}

// 2,000 edits in 40 files, in the page and in Node.
const inNode = () => renamedInNode(Object.fromEntries(renamed.map(({ name, buffer }) => [name, buffer.toString()])));
async function edits(page, clock) {
  const firstInNode = await inNode();
  await page.addInitScript(() => {
    window.messages = 0;
    const Native = Worker;
    window.Worker = class extends Native {
      constructor(...given) {
        super(...given);
        this.addEventListener("message", () => {
          window.messages += 1;
        });
      }
    };
  });
  const app = await openApp(page, served.url);
  await openFiles(page, renamed);
  await app.chooseModel({ pace: "instant" });
  await app.askAndWait("hello");
  // The limit of the time has a second for the driver, which looks for the end of the run.
  const slow = isGate ? 1 : await slowness(page);
  const [before, messages] = [await clock.read(), await page.evaluate(() => window.messages)];
  await plant(page, 2_000);
  let after;
  let ms;
  const { tasks } = await traced(browser, page, async () => {
    const begun = performance.now();
    await app.ask('replace "foo" with "bar"');
    await app.finished(120_000);
    ms = performance.now() - begun;
    after = await clock.read();
  });
  const inNodeAgain = isGate ? firstInNode : await inNode();
  const least = (key) => Math.min(firstInNode[key], inNodeAgain[key]);
  const peer = (value) => ({ name: "the same engine in Node", value });
  row("page: 2,000 edits in 40 files", ms, "ms", peer(least("ms")));
  row("page: 2,000 edits beside Node", (ms - 1_000 * slow) / least("ms"), "times");
  const cpu = after.process - before.process;
  row("page: 2,000 edits in 40 files, processor time", cpu, "ms", peer(least("cpu")));
  row("page: processor time of 2,000 edits beside Node's", cpu / least("cpu"), "times");
  row(
    "page: longest task during 2,000 edits",
    Math.max(...tasks.map((task) => task.cpu)) / (await clock.unit(page)),
    "units",
  );
  const sent = (await page.evaluate(() => window.messages)) - messages;
  row("page: messages of the worker for an edit", sent / (N_FILES * N_EDITS), "messages");
}

// 200 edits of one file in Node.
async function oneFile() {
  const large = await edited(10_000, 200, isFaulty);
  const short = await edited(1_000, 200, isFaulty);
  row("Node: 200 edits of a file of 10,000 lines", large.ms, "ms");
  row("Node: 200 edits of a file of 10,000 lines, processor time", large.cpu, "ms");
  row("Node: last quarter of 200 edits beside the first", large.quarters[3] / large.quarters[0], "times");
  row("Node: 200 edits of 10,000 lines beside 1,000 lines", large.cpu / short.cpu, "times");
}

// Keys in a small file, in a file of 10,000 lines with 200 changes, and while the assistant edits other files.
const N_KEYS = isGate ? 40 : 60;
let small;
async function keysInSmallFile(page, clock) {
  const app = await openApp(page, served.url);
  await openFiles(page, [file("small.txt", "text\n")]);
  await app.editor.click();
  small = await typeKeys(page, clock, "in a small file", N_KEYS);
}

async function keysWithChanges(page, clock) {
  const app = await openApp(page, served.url);
  const lines = Array.from({ length: 10_000 }, (_, at) => (at % 50 === 0 ? "foo" : `line ${at}`));
  await openFiles(page, [file("large.txt", `${lines.join("\n")}\n`)]);
  await app.chooseModel({ pace: "instant" });
  await app.askAndWait("rename foo to bar");
  await page.locator(".cm-line", { hasText: "line 1" }).first().click();
  const median = await typeKeys(page, clock, "with 200 changes", N_KEYS, { name: "a small file", value: small });
  // A frame has 16 ms, so that a faster one in a small file does not matter.
  row("page: key to frame with 200 changes beside a small file", median / Math.max(small, 16), "times");
}

async function keysMeanwhile(page, clock) {
  const app = await openApp(page, served.url);
  await openFiles(page, [file("mine.txt", "text\n"), ...renamed]);
  await app.chooseModel({ pace: "instant" });
  await app.askAndWait("hello");
  await app.openFile("mine.txt");
  await app.ask('replace "foo" with "bar"');
  await app.editor.click();
  await page.waitForFunction(() => /[1-9]/.test(document.querySelector(".review-button")?.textContent));
  await typeKeys(page, clock, "while the assistant edits", N_KEYS, { name: "a small file", value: small });
  const [done] = /[\d,]+/.exec(await app.changes());
  row(
    "page: edits that the assistant still had to do after the keys",
    N_FILES * N_EDITS - done.replace(",", ""),
    "edits",
  );
  await page
    .getByRole("button", { name: "Stop" })
    .click({ timeout: 5_000 })
    .catch(() => undefined);
}

// 10,000 changes, scrolled.
async function scroll(page, clock) {
  const app = await openApp(page, served.url);
  const text = (word) => Array.from({ length: 250 }, (_, at) => `value ${at} ${word}\na\nb\nc\n`).join("");
  const files = Array.from({ length: N_FILES }, (_, at) => file(`g${at}.txt`, text("foo")));
  await openFiles(page, files);
  const replies = files.flatMap(({ name }) => [
    { name: "Read", input: { file_path: name } },
    { name: "Write", input: { file_path: name, content: text("bar") } },
  ]);
  const provider = await startProvider("bench", replies);
  try {
    await app.chooseModel({ apiKey: "bench", baseUrl: provider.url });
    await app.ask("change all");
    await app.finished(120_000);
  } finally {
    await provider.close();
  }
  const begun = performance.now();
  await app.showReview();
  await app.cards.first().waitFor();
  row("page: review of 10,000 changes shown", performance.now() - begun, "ms");
  await plant(page);
  let frames;
  let nodes;
  const trace = await traced(browser, page, async () => {
    ({ frames, nodes } = await page.evaluate(async () => {
      const list = document.querySelector(".review-list");
      const frames = [];
      let nodes = 0;
      let last = performance.now();
      for (let at = 0; at < 240; at++) {
        list.scrollTop += 600;
        const now = await new Promise(requestAnimationFrame);
        performance.mark("frame");
        frames.push(now - last);
        last = now;
        nodes = Math.max(nodes, document.getElementsByTagName("*").length);
      }
      return { frames: frames.slice(1), nodes };
    }));
  });
  row("page: frame while scrolling 10,000 changes, p50", percentile(frames, 0.5), "ms");
  row("page: frame while scrolling 10,000 changes, p95", percentile(frames, 0.95), "ms");
  const cpu = cpuPerFrame(trace, "frame");
  const unit = await clock.unit(page);
  row("page: frame while scrolling 10,000 changes, main thread, p50", percentile(cpu, 0.5) / unit, "units");
  row("page: frame while scrolling 10,000 changes, main thread, p95", percentile(cpu, 0.95) / unit, "units");
  row("page: elements while scrolling 10,000 changes", nodes, "elements");
}

// The package in Node.
async function ofPackage() {
  const init = await initTimes(isFaulty);
  row("Node: import and init", init.ours.ms, "ms");
  row("Node: import and init, processor time", init.ours.cpu, "ms", {
    name: "read, compile and instantiate",
    value: init.bare.cpu,
  });
  row("Node: init beside the bare module", init.ours.init / init.bare.cpu, "times");
  const events = await decoded(isFaulty);
  row("Node: 10 MB of events decoded", events.ours, "ms", { name: "split lines + JSON.parse", value: events.bare });
  row("Node: 10 MB of events beside JSON.parse", events.ours / events.bare, "times");
}

if (isChosen("start")) await inPage(start);
if (isChosen("edits")) await inPage(edits);
if (isChosen("node")) await oneFile();
if (isChosen("keys")) for (const section of [keysInSmallFile, keysWithChanges, keysMeanwhile]) await inPage(section);
if (isChosen("scroll")) await inPage(scroll);
await browser.close();
await served.close();
if (isChosen("package")) await ofPackage();

const isOfRun = (figure) => process.env.ONLY === undefined || figures.has(figure);
const judged = GATES.filter(
  ({ figure, alone, fault }) => isOfRun(figure) && !(isGate && alone) && !(isFaulty && !fault),
);
const results = judge(figures, judged);
if (isGate) {
  // With faults, a gate has to fail.
  const lines = results.map(({ isMet, text }) => ({ isRight: isMet !== isFaulty, text }));
  for (const [at, { isRight, text }] of lines.entries()) console.log(`${isRight ? "ok" : "not ok"} ${at + 1} ${text}`);
  const wrong = lines.filter(({ isRight }) => !isRight).length;
  console.log(`${lines.length - wrong} passed, ${wrong} failed, 0 skipped`);
  process.exitCode = wrong === 0 ? 0 : 1;
} else {
  for (const { isMet, text } of results) if (!isMet) console.error(`gate: ${text}`);
  process.exitCode = results.every(({ isMet }) => isMet) ? 0 : 1;
}
