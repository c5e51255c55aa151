// Measures searches with and without `emend/index`, on a disk in Node and in the private file system of Chromium, and prints one row
// of JSON a line: `node index-bench.mjs [FILES…]`, by default 1,000, 2,000, 5,000 and 10,000 files of 3.7 kB.
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Agent } from "../../pkg/dist/index.js";
import { nodeFs } from "../../pkg/dist/node.js";
import { indexed } from "../../pkg/dist/search-index.js";
import { launch, servePackage } from "./browser.mjs";

const counts = process.argv.slice(2).map(Number);
const ROUNDS = 5;

/** Returns texts of random words, the same in each run. One file in 500 has a word of its own. In a page it is made anew. */
function projectOf(n) {
  let state = n;
  const next = () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
  const words = Array.from({ length: 3_000 }, (_, at) => {
    const length = 3 + (at % 8);
    return Array.from({ length }, () => String.fromCharCode(97 + Math.floor(next() * 26))).join("");
  });
  const files = {};
  for (let at = 0; at < n; at += 1) {
    const lines = Array.from({ length: 40 + Math.floor(next() * 120) }, () =>
      Array.from({ length: 3 + Math.floor(next() * 6) }, () => words[Math.floor(next() * next() * 3_000)]).join(" "),
    );
    if (at % 500 === 7) lines.push("the needleword is here");
    files[`src/m${Math.floor(at / 50)}/f${at}.ts`] = `${lines.join("\n")}\n`;
  }
  return files;
}

/** Returns the figures of one environment. Also runs in a page, so it uses only its arguments. */
async function measured(agent, environment, rounds, change) {
  const search = async (pattern) => {
    const began = performance.now();
    const found = await agent.files.grep(pattern);
    return { ms: performance.now() - began, n: found.length };
  };
  const all = async (pattern) => {
    const times = [];
    let n = 0;
    for (let at = 0; at < rounds; at += 1) {
      const { ms, n: found } = await search(pattern);
      times.push(ms);
      n = found;
    }
    times.sort((a, b) => a - b);
    return { p50: times[Math.floor(rounds / 2)], p95: times[rounds - 1], n };
  };
  const began = performance.now();
  await agent.files.glob("**/*.ts");
  const walk = performance.now() - began;
  const first = (await search("needleword")).ms;
  // Files of today are trusted after they have been as they are for some seconds.
  await new Promise((done) => setTimeout(done, 3_000));
  await search("needleword");
  const plain = await all("needleword");
  const regex = await all("needle[a-z]+rd");
  await change();
  const changed = (await search("needleword")).ms;
  return { walk, first, plain, regex, changed, size: environment.indexSize?.() ?? null };
}

function rows(where, n, { walk, first, plain, regex, changed, size }) {
  const round = (ms) => Math.round(ms);
  const row = { where, files: n, index: size !== null, walk_ms: round(walk), first_ms: round(first) };
  Object.assign(row, { plain_p50_ms: round(plain.p50), plain_p95_ms: round(plain.p95), found: plain.n });
  Object.assign(row, {
    regex_p50_ms: round(regex.p50),
    regex_p95_ms: round(regex.p95),
    after_100_changes_ms: round(changed),
  });
  console.log(JSON.stringify({ ...row, signature_bytes: size?.bytes ?? 0 }));
}

async function onDisk(n) {
  const files = projectOf(n);
  const root = mkdtempSync(join(tmpdir(), "emend-index-bench-"));
  const old = new Date(Date.now() - 3 * 24 * 3_600_000);
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
      utimesSync(join(root, path), old, old);
    }
    const memory = await Agent.create({ files });
    rows("memory", n, await measured(memory, {}, ROUNDS, async () => {}));
    memory.close();
    const change = async () => {
      for (const path of Object.keys(files).slice(0, 100)) writeFileSync(join(root, path), `${files[path]}more\n`);
    };
    for (const environment of [nodeFs(root), indexed(nodeFs(root), { filesMin: 1 })]) {
      const agent = await Agent.create({ environment });
      rows("nodeFs", n, await measured(agent, environment, ROUNDS, change));
      agent.close();
    }
  } finally {
    rmSync(root, { recursive: true });
  }
}

async function inPage(browser, url, n) {
  const page = await browser.newPage();
  await page.goto(url);
  for (const hasIndex of [false, true]) {
    const found = await page.evaluate(
      async ([n, hasIndex, rounds, measuring, making]) => {
        const { Agent } = await import("emend");
        const { opfsFs } = await import("emend/fs");
        const { indexed } = await import("emend/index");
        const run = (text) =>
          import(URL.createObjectURL(new Blob([`export default ${text}`], { type: "text/javascript" })));
        const [{ default: measured }, { default: projectOf }] = [await run(measuring), await run(making)];
        const files = projectOf(n);
        const fs = opfsFs(`bench-${n}`);
        const bytes = (text) => new TextEncoder().encode(text);
        if (!hasIndex) {
          const paths = Object.keys(files);
          for (let at = 0; at < n; at += 50) {
            await Promise.all(paths.slice(at, at + 50).map((path) => fs.write(path, bytes(files[path]))));
          }
        }
        const environment = hasIndex ? indexed(fs, { filesMin: 1 }) : fs;
        const agent = await Agent.create({ environment });
        const change = async () => {
          for (const path of Object.keys(files).slice(0, 100)) await fs.write(path, bytes(`${files[path]}more\n`));
        };
        const found = await measured(agent, environment, rounds, change);
        agent.close();
        return found;
      },
      [n, hasIndex, ROUNDS, measured.toString(), projectOf.toString()],
    );
    rows("opfsFs", n, found);
  }
  await page.close();
}

const served = await servePackage();
const browser = await launch();
try {
  for (const n of counts.length > 0 ? counts : [1_000, 2_000, 5_000, 10_000]) {
    await onDisk(n);
    await inPage(browser, served.url, n);
  }
} finally {
  await browser.close();
  await served.close();
}
