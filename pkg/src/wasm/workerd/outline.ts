/** The default sources of the grammars in workerd: compiled modules. */

import type { OutlineLanguage } from "../../outline/languages.js";

export const sources: Readonly<Record<OutlineLanguage, () => Promise<WebAssembly.Module>>> = {
  c: () => import("../../outline-c.wasm").then((file) => file.default),
  cpp: () => import("../../outline-cpp.wasm").then((file) => file.default),
  go: () => import("../../outline-go.wasm").then((file) => file.default),
  java: () => import("../../outline-java.wasm").then((file) => file.default),
  javascript: () => import("../../outline-javascript.wasm").then((file) => file.default),
  python: () => import("../../outline-python.wasm").then((file) => file.default),
  rust: () => import("../../outline-rust.wasm").then((file) => file.default),
  tsx: () => import("../../outline-tsx.wasm").then((file) => file.default),
  typescript: () => import("../../outline-typescript.wasm").then((file) => file.default),
};
