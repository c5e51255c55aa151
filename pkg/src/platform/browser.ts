/** The platform functions for browsers. CORS decides which web pages can be read. */

export const INSTANTIATES_AT_ONCE = false;

/** Reads a wasm module from the network. */
export function load(url: URL | string): Promise<Response> {
  return fetch(url);
}

/** Fetches a web page. */
export function publicFetch(url: string, options: RequestInit): Promise<Response> {
  return fetch(url, options);
}
