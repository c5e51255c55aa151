/** The default source of the module of `emend/edit` in workerd: a compiled module. */

export const source = (): Promise<WebAssembly.Module> => import("../../edit-core_bg.wasm").then((file) => file.default);
