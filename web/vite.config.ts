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

export default defineConfig({
  // Relative URLs, so that the built page works under any path of a static host.
  base: "./",
  plugins: [serviceWorker()],
  resolve: {
    alias: [
      { find: /^emend$/, replacement: fileURLToPath(new URL("../pkg/dist/index.js", import.meta.url)) },
      { find: /^emend\/(.+)$/, replacement: `${fileURLToPath(new URL("../pkg/dist/", import.meta.url))}$1.js` },
    ],
  },
  build: { target: "es2022", modulePreload: { polyfill: false }, chunkSizeWarningLimit: 700 },
  // Several chunks, so that the worker loads archives and the offline model only when it needs them.
  worker: { format: "es" },
  server: { fs: { allow: [".."] } },
});
