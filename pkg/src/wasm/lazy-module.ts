/** Loads a wasm module once, and starts it again after it has panicked. */

import { NotInitializedError } from "./errors.js";
import { Core, type Glue } from "./instance.js";
import { compile } from "./module.js";
import type { InitOptions } from "./types.js";

/** The glue of a module before it is loaded. */
export interface LoadableGlue extends Glue {
  default(input: { module_or_path: WebAssembly.Module }): Promise<unknown>;
}

/** A module that is loaded when it is first needed. */
export class Loader {
  readonly #glue: LoadableGlue;
  readonly #url: () => URL;
  #loading: Promise<void> | undefined;
  #living: Core | undefined;

  constructor(glue: LoadableGlue, url: () => URL) {
    this.#glue = glue;
    this.#url = url;
  }

  /** Loads the module, if that has not happened yet. After a failure it may be called again. */
  load(options: InitOptions = {}): Promise<void> {
    this.#loading ??= this.#load(options).catch((error: unknown) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  async #load(options: InitOptions): Promise<void> {
    const module = await compile(options.wasm ?? this.#url());
    await this.#glue.default({ module_or_path: module });
    this.#living = new Core(this.#glue);
  }

  /** As {@link live}, but loads the module first. */
  async loaded(): Promise<Core> {
    await this.load();
    return this.live();
  }

  /** Returns a module that lives: the present one, or a fresh one if that has panicked. */
  live(): Core {
    if (this.#living === undefined) throw new NotInitializedError("not_initialized", "call `await load()` first");
    if (this.#living.isDead) this.#living = new Core(this.#glue);
    return this.#living;
  }
}
