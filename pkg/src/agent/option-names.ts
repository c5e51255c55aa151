/** Names of options in errors. The core knows only the options that it takes, and takes `quota` under other names. */

import { ConfigError, EmendError } from "../errors.js";

/** The names under which the core takes `quota`. */
const INTERNAL = /(?:, )?`quota(?:Bytes|Files)`/g;

/** Options that the core does not get. */
export const OWN_OPTIONS = [
  "files",
  "environment",
  "quota",
  "shell",
  "readOnly",
  "store",
  "fetch",
  "approve",
  "telemetry",
];

/** Returns the reason if an option has a name that only the core uses. */
export function internalName(name: string): string | undefined {
  return name === "quotaBytes" || name === "quotaFiles"
    ? `unknown field \`${name}\`; use \`quota: { bytes, files }\``
    : undefined;
}

/** Calls the core with options. An error about an unknown option lists the names of `own` too. */
export function withOwnNames<T>(own: readonly string[], work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof EmendError) || !/unknown field .*, expected one of .*`quotaBytes`/.test(error.message))
      throw error;
    const names = own.map((name) => `, \`${name}\``).join("");
    throw new ConfigError(error.code, error.message.replaceAll(INTERNAL, "") + names, { cause: error.cause });
  }
}
