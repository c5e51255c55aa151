/** Loads the core before the first agent needs it. */

import { optionalFlag, optionsOf } from "../validate.js";
import { coreModule } from "./core.js";
import { regexSource } from "./regex-source.js";
import type { InitOptions } from "./types.js";

/** Options of {@link init}. */
export interface CoreInitOptions extends InitOptions {
  /**
   * Whether the offline model is loaded, too, and the regex engine that it searches with. They are otherwise loaded by its first
   * request, which then needs the network. Default false.
   */
  offline?: boolean | undefined;
  /**
   * Source of the regex engine, `emend/regex.wasm`, which the first search for a pattern other than plain text loads. Default: the
   * file beside this package's own files.
   */
  regex?: InitOptions["wasm"] | undefined;
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
  const { offline, regex, ...source } = optionsOf(options, ["wasm", "offline", "regex"]);
  const withOffline = optionalFlag("`offline`", offline);
  if (regex !== undefined) regexSource.given = () => regex;
  await coreModule.load(source);
  if (withOffline) {
    const [{ offlineModule }, { regexModule }] = await Promise.all([import("./offline.js"), import("./regex.js")]);
    await Promise.all([offlineModule.load(), regexModule.load()]);
  }
}
