/** The default sources of the grammars: the files beside the scripts of this package. */

import type { OutlineLanguage } from "../../outline/languages.js";

// Bundlers recognise exactly these expressions and copy the files.
export const sources: Readonly<Record<OutlineLanguage, () => URL>> = {
  c: () => new URL("../../outline-c.wasm", import.meta.url),
  cpp: () => new URL("../../outline-cpp.wasm", import.meta.url),
  go: () => new URL("../../outline-go.wasm", import.meta.url),
  java: () => new URL("../../outline-java.wasm", import.meta.url),
  javascript: () => new URL("../../outline-javascript.wasm", import.meta.url),
  python: () => new URL("../../outline-python.wasm", import.meta.url),
  rust: () => new URL("../../outline-rust.wasm", import.meta.url),
  tsx: () => new URL("../../outline-tsx.wasm", import.meta.url),
  typescript: () => new URL("../../outline-typescript.wasm", import.meta.url),
};
