/** Loads a wasm module once, on first use, and starts a fresh instance after a panic. */

import { INSTANTIATES_AT_ONCE } from "#platform";
import { NotInitializedError } from "../errors.js";
import { compileWasm, type ModuleName, wrongModule } from "./compile.js";
import { type Glue, WasmInstance } from "./instance.js";
import type { InitOptions, WasmSource } from "./types.js";

/** The JavaScript that wasm-bindgen generates for a module, before the module is loaded. */
export interface LoadableGlue extends Glue {
  default(input: { module_or_path: WebAssembly.Module }): Promise<unknown>;
  initSync(input: { module: WebAssembly.Module }): unknown;
}

/** Returns the source of a module, or throws if it is unknown. */
export type Source = () => WasmSource | PromiseLike<WasmSource>;

/** A wasm module that is loaded when it is first needed. */
export class LazyModule {
  readonly #glue: LoadableGlue;
  readonly #name: ModuleName;
  /** The source if a caller names none. The entries of the package set that of the core. */
  source: Source | undefined;
  #loading: Promise<void> | undefined;
  #instance: WasmInstance | undefined;

  constructor(glue: LoadableGlue, name: ModuleName, source?: Source) {
    this.#glue = glue;
    this.#name = name;
    this.source = source;
  }

  /** Loads the module unless it is loaded or loading. After a failure it can be called again. */
  load(options: InitOptions = {}): Promise<void> {
    this.#loading ??= this.#load(options).catch((error: unknown) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  async #load(options: InitOptions): Promise<void> {
    const module = await compileWasm(this.#name, () => options.wasm ?? (this.source as Source)());
    try {
      if (INSTANTIATES_AT_ONCE) this.#glue.initSync({ module });
      else await this.#glue.default({ module_or_path: module });
    } catch (cause) {
      throw wrongModule(this.#name, "the given module", cause);
    }
    this.#instance = new WasmInstance(this.#glue);
  }

  /** Loads the module if necessary, then returns {@link live}. */
  async loaded(): Promise<WasmInstance> {
    await this.load();
    return this.live();
  }

  /**
   * Returns the current instance, or a fresh one if the current one has panicked.
   *
   * @throws {NotInitializedError} if the module was never loaded.
   */
  live(): WasmInstance {
    if (this.#instance === undefined) throw new NotInitializedError("not_initialized", "call `await load()` first");
    if (this.#instance.isDead) this.#instance = new WasmInstance(this.#glue);
    return this.#instance;
  }
}
