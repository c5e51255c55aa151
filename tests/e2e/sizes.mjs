// Lists the bytes that the page loads until a file can be edited: by file, by package and by source file.
//
// `node sizes.mjs [COUNT]` builds the page with source maps into a temporary folder, and prints the COUNT largest source files.
// The share of a source file in its chunk is that of its characters, so compressible text seems larger than it is.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch, serve } from "./browser.mjs";
import { listed, loadedBytes, total } from "./bytes.mjs";

const WEB = fileURLToPath(new URL("../../web", import.meta.url));
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const dist = mkdtempSync(join(tmpdir(), "emend-sizes-"));
const options = ["vite", "build", "--sourcemap", "hidden", "--outDir", dist, "--emptyOutDir", "--logLevel", "warn"];
execFileSync("npx", options, { cwd: WEB, stdio: ["ignore", "ignore", "inherit"] });
const served = await serve(dist);
const browser = await launch();
try {
  const context = await browser.newContext({ serviceWorkers: "block" });
  const { start, app } = await loadedBytes(await context.newPage(), served.url);
  const sources = new Map();
  const packages = new Map();
  for (const [path, size] of app) {
    for (const [source, share] of sharesOf(path)) {
      add(sources, source, share * size);
      add(packages, packageOf(source), share * size);
    }
  }
  console.log(`${listed(app)}\n${total(app)} bytes, ${total(start)} of them in the start view\n`);
  console.log(`${listed(rounded(packages))}\n`);
  console.log(
    listed(rounded(sources))
      .split("\n")
      .slice(0, Number(process.argv[2] ?? 60))
      .join("\n"),
  );
} finally {
  await browser.close();
  await served.close();
  rmSync(dist, { recursive: true });
}

/** Returns the share of each source file in a chunk. A file without a map is its own source. */
function sharesOf(path) {
  if (!existsSync(join(dist, `${path}.map`))) return [[path, 1]];
  const text = readFileSync(join(dist, path), "utf8");
  const map = JSON.parse(readFileSync(join(dist, `${path}.map`), "utf8"));
  const lines = text.split("\n");
  const counts = new Map();
  let source = 0;
  for (const [at, line] of map.mappings.split(";").entries()) {
    let column = 0;
    const segments = (line === "" ? [] : line.split(",")).map((segment) => {
      const [step, sourceStep] = numbers(segment);
      column += step;
      source += sourceStep ?? 0;
      return [column, sourceStep === undefined ? path : shortName(map.sources[source])];
    });
    for (const [index, [from, name]] of segments.entries()) {
      const end = segments[index + 1]?.[0] ?? lines[at]?.length ?? from;
      add(counts, name, (end - from) / text.length);
    }
  }
  return counts;
}

/** Returns the numbers of a segment of a source map: base 64 with a bit for "more" in each digit, and the sign last. */
function numbers(segment) {
  const found = [];
  let [value, shift] = [0, 0];
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value |= (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    found.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return found;
}

/** Returns the path below `node_modules` or the repository. */
function shortName(source) {
  return source.replace(/^.*node_modules\//, "").replace(/^.*(?=pkg\/dist\/|web\/src\/)|^(\.\.\/)*(?=src\/)/, "");
}

function packageOf(source) {
  if (source.startsWith("pkg/")) return "emend";
  const names = source.split("/");
  if (/^(web\/)?src\//.test(source)) return `page: ${names.slice(names.indexOf("src") + 1, -1).join("/") || "src"}`;
  return names.slice(0, source.startsWith("@") ? 2 : 1).join("/");
}

function add(counts, name, count) {
  counts.set(name, (counts.get(name) ?? 0) + count);
}

function rounded(sizes) {
  return new Map([...sizes].map(([name, size]) => [name, Math.round(size)]));
}
