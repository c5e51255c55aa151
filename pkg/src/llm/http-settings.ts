/**
 * Checks the address, the key and the headers of a provider behind HTTP, so that they do not fail with the first request
 * only. Values may contain secrets, so a message quotes at most a base URL without its query.
 */

import { ConfigError } from "../errors.js";
import { requireOptions, shown } from "../validate.js";
import type { HttpProvider } from "./types.js";

/** The endpoints of the wire formats, which are appended to a base URL. */
const ENDPOINT = /(?:\/chat\/completions|\/completions|\/responses|\/messages|:(?:stream)?generateContent)(?=\/*$)/i;

/** Characters that a header's name consists of (RFC 9110, token). */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Characters that `fetch` rejects in a header's value. */
const NOT_IN_HEADER = /[^\t\x20-\x7e\x80-\xff]/;

/** @throws {ConfigError} if a setting cannot be part of a request. */
export function checkHttp({ apiKey, baseUrl, headers }: Partial<HttpProvider>): void {
  if (baseUrl !== undefined) checkBaseUrl(baseUrl);
  if (apiKey !== undefined) checkKey(apiKey, baseUrl !== undefined);
  if (headers === undefined) return;
  for (const [name, value] of Object.entries(requireOptions("`headers`", headers) as Record<string, unknown>)) {
    if (!HEADER_NAME.test(name)) throw wrong(`${JSON.stringify(name)} in \`headers\` cannot name a header`);
    if (typeof value !== "string") throw wrong(`\`headers\`: the value of ${name} is not a string`);
    if (NOT_IN_HEADER.test(value.trim()))
      throw wrong(`\`headers\`: the value of ${name} contains a character that a header cannot have`);
  }
}

function checkKey(key: unknown, maySkip: boolean): void {
  if (typeof key !== "string") throw wrong("`apiKey` is not a string");
  if (key.trim() === "" && !maySkip) throw wrong("`apiKey` is empty; pass a valid key");
  if (NOT_IN_HEADER.test(key.trim()))
    throw wrong("`apiKey` contains a character that a header cannot have, for example a line break");
}

function checkBaseUrl(given: unknown): void {
  if (typeof given !== "string") throw wrong("`baseUrl` is not a string");
  const url = parsed(given);
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    throw wrong(`\`baseUrl\`${quoted(given)} must be a URL that begins with https:// or http://`);
  if (url.username !== "" || url.password !== "")
    throw wrong("`baseUrl` contains a user name or a password, which `fetch` rejects; use `headers`");
  const endpoint = ENDPOINT.exec(url.pathname)?.[0];
  if (endpoint !== undefined)
    throw wrong(`\`baseUrl\` ends with the endpoint ${endpoint}, which is appended; leave it out`);
}

/** Returns the part of an address that contains no secret, for an error message. */
function quoted(given: string): string {
  const open = given.replace(/[?#].*$/s, "");
  return open.includes("@") ? "" : ` ${shown(open)}`;
}

/** Parses a URL. In a page, a path on the page's own server is one. */
function parsed(given: string): URL | undefined {
  const { location } = globalThis as { location?: { href: string } };
  try {
    return given.startsWith("/") && location !== undefined ? new URL(given, location.href) : new URL(given);
  } catch {
    return undefined;
  }
}

function wrong(problem: string): ConfigError {
  return new ConfigError("configuration", `the options are wrong: ${problem}`);
}
