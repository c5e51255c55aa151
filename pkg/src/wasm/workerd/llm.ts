/** The default source of the module of `emend/llm` in workerd: a compiled module. */

export const source = (): Promise<WebAssembly.Module> => import("../../llm-core_bg.wasm").then((file) => file.default);
