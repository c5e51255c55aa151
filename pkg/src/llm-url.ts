/** Where the module with the client, which `emend/llm` loads is. A file of its own, so that a bundler copies only what a program uses. */

/** Returns the address. Bundlers look for exactly this expression and copy the file. */
export function llmUrl(): URL {
  return new URL("./llm-core_bg.wasm", import.meta.url);
}
