/** Loads the core before the first agent needs it. */

import { optionsOf } from "../validate.js";
import { coreModule } from "./core.js";
import type { InitOptions } from "./types.js";

/**
 * Loads the core. The call is optional: {@link Agent.create} loads it too.
 *
 * The first successful call decides which source is used; later calls do nothing. After a failure it can be called
 * again.
 *
 * @throws {EmendError} with code `load_failed` if the source does not hold the core.
 */
export async function init(options: InitOptions = {}): Promise<void> {
  await coreModule.load(optionsOf(options, ["wasm"]));
}
