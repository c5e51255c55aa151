// Builds the app into dist/. The engine is the package in ../pkg, which must be built first.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  // Relative URLs, so that the built page works under any path of a static host.
  base: "./",
  resolve: { alias: { emend: fileURLToPath(new URL("../pkg/dist/index.js", import.meta.url)) } },
  build: { target: "es2022", modulePreload: { polyfill: false }, chunkSizeWarningLimit: 700 },
  // Several chunks, so that the worker loads archives and the offline model only when it needs them.
  worker: { format: "es" },
  server: { fs: { allow: [".."] } },
});
