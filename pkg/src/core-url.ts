/** Where the core is. A file of its own, so that a bundler copies only what a program uses. */

/** Returns the address. Bundlers look for exactly this expression and copy the file. */
export function coreUrl(): URL {
  return new URL("./core_bg.wasm", import.meta.url);
}
