/** The default source of the core: the file beside the scripts of this package. */

// Bundlers recognise exactly this expression and copy the file.
export const source = (): URL => new URL("../../core_bg.wasm", import.meta.url);
