/** The default source of the module of `emend/service` in workerd: a compiled module. */

export const source = (): Promise<WebAssembly.Module> =>
  import("../../service-core_bg.wasm").then((file) => file.default);
