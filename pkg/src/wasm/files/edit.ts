/** The default source of the module of `emend/edit`: the file beside the scripts of this package. */

// Bundlers recognise exactly this expression and copy the file.
export const source = (): URL => new URL("../../edit-core_bg.wasm", import.meta.url);
