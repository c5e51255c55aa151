/** The default source of the emulated shell in workerd: a compiled module. */

export const source = (): Promise<WebAssembly.Module> =>
  import("../../shell-core_bg.wasm").then((file) => file.default);
