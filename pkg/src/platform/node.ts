/**
 * The platform functions for Node.
 *
 * They read wasm modules from files, because Node's `fetch` does not. They read web pages from public addresses only; a
 * browser has CORS for that purpose.
 */

import { readFile } from "node:fs/promises";

type PublicFetch = typeof import("./node-public-fetch.js").publicFetch;

/**
 * Whether a compiled module is instantiated at once. The other way of the glue names `Request` and `Response`, and the first use
 * of these names loads Node's HTTP client, which takes longer than the instance. Browsers do not allow it for large modules.
 */
export const INSTANTIATES_AT_ONCE = true;

/** Reads a wasm module from a `file:` URL or from the network. */
export async function load(url: URL | string): Promise<Response | ArrayBufferView> {
  const address = new URL(url);
  return address.protocol === "file:" ? readFile(address) : fetch(address);
}

/** Fetches a web page: {@link PublicFetch}. */
export async function publicFetch(...given: Parameters<PublicFetch>): Promise<Response> {
  return (await import("./node-public-fetch.js")).publicFetch(...given);
}
