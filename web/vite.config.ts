// Builds the app into dist/. The engine is the package in ../pkg, which must be built first.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

/** Writes the service worker with the list of all built files. */
function serviceWorker(): Plugin {
  const dist = fileURLToPath(new URL("dist/", import.meta.url));
  return {
    name: "service-worker",
    apply: "build",
    closeBundle() {
      const all = readdirSync(dist, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      const files = all
        .map((entry) => join(entry.parentPath, entry.name).slice(dist.length))
        .filter((file) => file !== "sw.js");
      const hash = createHash("sha256");
      for (const file of files.sort()) hash.update(file).update(readFileSync(join(dist, file)));
      const template = readFileSync(new URL("src/service-worker.js", import.meta.url), "utf8");
      const script = template
        .replace("[/* the build adds them */]", JSON.stringify(files.map((file) => file.replaceAll("\\", "/"))))
        .replace("VERSION", hash.digest("hex").slice(0, 12));
      writeFileSync(join(dist, "sw.js"), script);
    },
  };
}

/**
 * Gives `@codemirror/commands` the functions for languages late: their code is not needed for plain text
 * (`src/editor/late-language.ts`).
 */
function lateLanguage(): Plugin {
  const late = fileURLToPath(new URL("src/editor/late-language.ts", import.meta.url));
  return {
    name: "late-language",
    enforce: "pre",
    resolveId(source, importer) {
      const isUsed = source === "@codemirror/language" || source === "@lezer/common";
      return isUsed && importer?.includes("/@codemirror/commands/") ? late : null;
    },
  };
}

/** The graph of modules, as the bundler gives it to the function that names a chunk. */
interface Modules {
  getModuleInfo(id: string): { readonly importedIds: readonly string[] } | null;
}

/** The packages whose functions late modules use. An unused import of them is left out, but is still in the graph. */
const LATE = /@codemirror\/language|@lezer\//;

/** Returns whether a module comes with `root`, which imports it directly or through others. */
function comesWith(root: string): (id: string, modules: Modules) => boolean {
  const found = new Set<string>();
  const queue = [fileURLToPath(new URL(root, import.meta.url))];
  return (id, modules) => {
    // The graph is complete when the first module is asked for.
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      if (found.has(next) || LATE.test(next)) continue;
      found.add(next);
      queue.push(...(modules.getModuleInfo(next)?.importedIds ?? []));
    }
    return found.has(id);
  };
}

/** Returns a chunk with all modules that come with `root`. The same text in more chunks is larger after compression. */
function chunk(name: string, root: string, priority: number) {
  const isPart = comesWith(root);
  return { name: (id: string, modules: Modules) => (isPart(id, modules) ? name : null), debugName: name, priority };
}

export default defineConfig({
  // Relative URLs, so that the built page works under any path of a static host.
  base: "./",
  plugins: [lateLanguage(), serviceWorker()],
  // The development server would bundle its imports otherwise.
  optimizeDeps: { exclude: ["@codemirror/commands"] },
  resolve: {
    alias: [
      { find: /^emend$/, replacement: fileURLToPath(new URL("../pkg/dist/index.js", import.meta.url)) },
      { find: /^emend\/(.+)$/, replacement: `${fileURLToPath(new URL("../pkg/dist/", import.meta.url))}$1.js` },
    ],
  },
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      // The packages do not say so, and would be loaded for nothing.
      output: {
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [chunk("page", "src/main.tsx", 2), chunk("editor", "src/editor/controller.ts", 1)],
        },
      },
      treeshake: { moduleSideEffects: [{ test: /\/@lezer\//, sideEffects: false }] },
    },
  },
  // Several chunks, so that the worker loads archives and the offline model only when it needs them.
  worker: { format: "es" },
  server: { fs: { allow: [".."] } },
});
