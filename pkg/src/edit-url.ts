/** Where the module with the editing engines, which `emend/edit` loads is. A file of its own, so that a bundler copies only what a program uses. */

/** Returns the address. Bundlers look for exactly this expression and copy the file. */
export function editUrl(): URL {
  return new URL("./edit-core_bg.wasm", import.meta.url);
}
