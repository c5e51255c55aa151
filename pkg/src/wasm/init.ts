/** Loads the core before the first agent needs it. */

import { optionalFlag, optionsOf } from "../validate.js";
import { coreModule } from "./core.js";
import type { InitOptions } from "./types.js";

/** Options of {@link init}. */
export interface CoreInitOptions extends InitOptions {
  /**
   * Whether the offline model is loaded, too. It is otherwise loaded by its first request, which then needs the network.
   * Default false.
   */
  offline?: boolean | undefined;
}

/**
 * Loads the core. The call is optional: {@link Agent.create} loads it too.
 *
 * The first successful call decides which source is used; later calls do nothing. After a failure it can be called
 * again.
 *
 * @throws {EmendError} with code `load_failed` if the source does not hold the core.
 */
export async function init(options: CoreInitOptions = {}): Promise<void> {
  const { offline, ...source } = optionsOf(options, ["wasm", "offline"]);
  const withOffline = optionalFlag("`offline`", offline);
  await coreModule.load(source);
  if (withOffline) await (await import("./offline.js")).offlineModule.load();
}
