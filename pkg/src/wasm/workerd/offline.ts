/** The default source of the offline model in workerd: a compiled module. */

export const source = (): Promise<WebAssembly.Module> =>
  import("../../offline-core_bg.wasm").then((file) => file.default);
