// The bytes that the page loads after brotli. `bench.mjs` and the test `9-size.mjs` check their limits, and `sizes.mjs` lists
// what they consist of.
import { brotliCompressSync, constants } from "node:zlib";

/** Of the start view: the HTML with all that it loads at once. */
export const START_BYTES_MAX = 48 * 1_024;
/** Of all that is loaded until a file without highlighting can be edited. Modules of wasm are not counted. */
export const APP_BYTES_MAX = 150 * 1_024;

/** Time in milliseconds without a request after which the page loads nothing more by itself. */
const QUIET_MS = 2_000;

export function brotli(bytes) {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 };
  return brotliCompressSync(bytes, { params }).length;
}

/**
 * Opens the page at `url`, and a file in it. Returns the size of each script, style sheet and HTML file by its path: those of
 * the start view, and all that were requested until the page was quiet. `onStart` is called when the start view can be used.
 */
export async function loadedBytes(page, url, onStart = () => undefined) {
  const requested = new Set();
  let last = performance.now();
  page.on("request", (request) => {
    last = performance.now();
    if (request.url().startsWith(url)) requested.add(request.url().slice(url.length) || "index.html");
  });
  await page.goto(url);
  await page.waitForFunction(() => document.activeElement?.textContent.startsWith("Open a folder"));
  onStart();
  const file = { name: "plain.txt", mimeType: "text/plain", buffer: Buffer.from("text\n") };
  await page.getByLabel("Files to open").first().setInputFiles([file]);
  await page.locator(".cm-line", { hasText: "text" }).waitFor();
  // A part that is loaded by a timer would not be seen otherwise.
  while (performance.now() - last < QUIET_MS) await page.waitForTimeout(100);

  const texts = new Map();
  const read = async (path) => {
    if (!texts.has(path)) texts.set(path, await (await fetch(url + path)).text());
    return texts.get(path);
  };
  const paths = [...requested].filter((path) => /\.(js|css|html)$/.test(path) && path !== "sw.js");
  // All are read before the first is compressed: the server closes a connection that is idle for seconds.
  for (const path of paths) await read(path);
  const start = await partsOfStart(read);
  const app = new Map();
  for (const path of paths) app.set(path, brotli(await read(path)));
  return { start: new Map([...app].filter(([path]) => start.has(path))), app };
}

/** Returns the paths of the HTML, the scripts and style sheets that it names, and the modules that these import. */
async function partsOfStart(read) {
  const found = new Set(["index.html"]);
  for (const path of found) {
    const text = await read(path);
    const isHtml = path.endsWith(".html");
    const names = isHtml ? text.matchAll(/(?:src|href)="\.\/([^"]+\.(?:js|css))"/g) : text.matchAll(STATIC_IMPORT);
    for (const [, name] of names) found.add(isHtml ? name : `assets/${name}`);
  }
  return found;
}

/** Matches an import of a minified module. A dynamic one has a parenthesis. */
const STATIC_IMPORT = /(?:\bimport|\bfrom)\s*["'`]\.\/([^"'`]+\.js)["'`]/g;

export function total(sizes) {
  return [...sizes.values()].reduce((sum, size) => sum + size, 0);
}

/** Returns a line for each file, the largest first. */
export function listed(sizes) {
  const rows = [...sizes].sort(([, a], [, b]) => b - a);
  return rows.map(([path, size]) => `${String(size).padStart(7)} ${path}`).join("\n");
}
