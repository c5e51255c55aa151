// Shared by the tests and the demo: a server for the built page, and Chromium.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

// Without sandbox and background services.
const CHROMIUM_FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json",
  ".wasm": "application/wasm",
};

/** Starts Chromium, with further `flags`. The variable `CHROMIUM` overrides the path of Debian's. */
export function launch(flags = []) {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  return chromium.launch({ executablePath, args: [...CHROMIUM_FLAGS, ...flags] });
}

/** Serves `directory` on a free local port, and `pages`, a record of HTML by path. */
export async function serve(directory, pages = {}) {
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://127.0.0.1").pathname);
    if (Object.hasOwn(pages, path)) return response.writeHead(200, { "content-type": TYPES[".html"] }).end(pages[path]);
    const file = normalize(join(directory, path.endsWith("/") ? `${path}index.html` : path));
    if (!file.startsWith(directory + sep)) return response.writeHead(403).end();
    try {
      const body = await readFile(file);
      response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" }).end(body);
    } catch {
      response.writeHead(404).end("not found");
    }
  });
  return { url: `${await listen(server)}/`, close: () => closed(server) };
}

/** Serves the npm package with its tests. The page at `url` is empty and can import them. */
export async function servePackage() {
  const imports = {
    "#platform": "/dist/platform/browser.js",
    "#wasm/": "/dist/wasm/files/",
    emend: "/dist/index.js",
  };
  imports["emend/index"] = "/dist/search-index.js";
  for (const name of ["bind", "codemirror", "elements", "fs", "llm", "outline", "service"])
    imports[`emend/${name}`] = `/dist/${name}.js`;
  for (const name of ["commands", "language", "state", "streamparser", "view"]) {
    imports[`@codemirror/${name}`] = `/node_modules/@codemirror/${name}/dist/index.js`;
  }
  for (const name of ["common", "highlight"]) imports[`@lezer/${name}`] = `/node_modules/@lezer/${name}/dist/index.js`;
  imports["@marijn/find-cluster-break"] = "/node_modules/@marijn/find-cluster-break/src/index.js";
  imports["style-mod"] = "/node_modules/style-mod/src/style-mod.js";
  for (const name of ["w3c-keyname", "crelt"]) imports[name] = `/node_modules/${name}/index.js`;
  const html = `<!doctype html><script type="importmap">${JSON.stringify({ imports })}</script>`;
  const served = await serve(fileURLToPath(new URL("../../pkg", import.meta.url)), { "/page.html": html });
  return { ...served, url: `${served.url}page.html` };
}

/** Stops a server, and closes the connections that a browser keeps open. */
export function closed(server) {
  server.closeAllConnections();
  return new Promise((done) => server.close(done));
}

/** Makes `server` listen on a free local port. Resolves to its URL. */
export async function listen(server) {
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return `http://127.0.0.1:${server.address().port}`;
}
