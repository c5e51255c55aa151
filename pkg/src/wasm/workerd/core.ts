/** The default source of the core in workerd: a compiled module. */

export const source = (): Promise<WebAssembly.Module> => import("../../core_bg.wasm").then((file) => file.default);
