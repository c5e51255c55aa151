/** The default source of the regex engine in workerd: a compiled module. */

export const source = (): Promise<WebAssembly.Module> =>
  import("../../regex-core_bg.wasm").then((file) => file.default);
