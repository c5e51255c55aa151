/**
 * Compiles patterns for the core, in the module of the regex engine. The first pattern that is not plain text loads it.
 *
 * The core and the engine share no memory. The engine copies each text that it searches.
 */

import { EmendError } from "../errors.js";
import { messageOf, textOf } from "../exceptions.js";
import type { PatternHandle } from "../regex-core.js";
import type { WasmInstance } from "../wasm/instance.js";

/** Time limit for the loading of the module in milliseconds: a tool call must end. */
const LOAD_MS = 60_000;

/** A compiled pattern, as the core calls it. */
class LoadedPattern {
  readonly #engine: WasmInstance;
  readonly #handle: PatternHandle;

  constructor(engine: WasmInstance, handle: PatternHandle) {
    this.#engine = engine;
    this.#handle = handle;
  }

  /** `content` is a view of the core's memory. */
  matchStarts(content: Uint8Array, max: number): Uint32Array {
    return forCore(() => this.#engine.call(() => this.#handle.matchStarts(content, max)));
  }

  free(): void {
    this.#engine.release(this.#handle);
  }
}

/** Compiles a pattern. Rejects with the error as JSON text. */
export async function loadPattern(pattern: string, ignoreCase: boolean): Promise<LoadedPattern> {
  const { glue, engine } = await inTime(loaded()).catch((thrown: unknown) => {
    throw described(thrown);
  });
  return forCore(() => {
    const handle = engine.call(() => new glue.PatternHandle(pattern, ignoreCase));
    return new LoadedPattern(engine, handle);
  });
}

async function loaded() {
  const { glue, regexModule } = await import("../wasm/regex.js");
  return { glue, engine: await regexModule.loaded() };
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = "the regex engine has not been loaded in time; search for plain text, or try again";
    timer = setTimeout(() => reject(new EmendError("timeout", message)), LOAD_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function forCore<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw described(thrown);
  }
}

/** Encodes an exception for the core. */
function described(thrown: unknown): string {
  return JSON.stringify({ message: messageOf(thrown), code: textOf(thrown, "code") });
}
