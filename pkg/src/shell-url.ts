/** Where the module with the shell is. A file of its own, so that a bundler copies only what a program uses. */

/** Returns the address. Bundlers look for exactly this expression and copy the file. */
export function shellUrl(): URL {
  return new URL("./shell-core_bg.wasm", import.meta.url);
}
