/** Public types for loading the wasm modules. */

/** A compiled module. The type is `never` where the program's libraries do not declare `WebAssembly`. */
export type CompiledModule = typeof globalThis extends {
  WebAssembly: { Module: abstract new (...bytes: never[]) => infer M };
}
  ? M
  : never;

/**
 * A source from which a wasm module can be loaded: a URL (also as a string), a response, its bytes, or a compiled
 * module.
 */
export type WasmSource = URL | string | Response | ArrayBuffer | ArrayBufferView | CompiledModule;

/** Options of the functions that load a wasm module. */
export interface InitOptions {
  /** The source of the module. Default: the file beside this package's own files. */
  wasm?: WasmSource | PromiseLike<WasmSource> | undefined;
}
