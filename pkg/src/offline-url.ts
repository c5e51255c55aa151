/** Where the stand-in model's module is. A file of its own, so that a bundler copies only what a program uses. */

/** Returns the address. Bundlers look for exactly this expression and copy the file. */
export function offlineUrl(): URL {
  return new URL("./offline-core_bg.wasm", import.meta.url);
}
