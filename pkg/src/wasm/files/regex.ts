/** The default source of the regex engine: the file beside the scripts of this package. */

// Bundlers recognise exactly this expression and copy the file.
export const source = (): URL => new URL("../../regex-core_bg.wasm", import.meta.url);
