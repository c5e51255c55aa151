/** The default source of the offline model: the file beside the scripts of this package. */

// Bundlers recognise exactly this expression and copy the file.
export const source = (): URL => new URL("../../offline-core_bg.wasm", import.meta.url);
