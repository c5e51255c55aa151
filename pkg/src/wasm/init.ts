/** Loads the core beforehand. */

import { core } from "./core-module.js";
import type { InitOptions } from "./types.js";

/**
 * Loads the core. Calling it is optional: {@link Agent.create} does it too.
 *
 * The first call that succeeds decides where the core comes from; later ones do nothing. After a failure it may be
 * called again.
 *
 * @throws {EmendError} with code `load_failed` if there is no core where it was looked for.
 */
export function init(options: InitOptions = {}): Promise<void> {
  return core.load(options);
}
