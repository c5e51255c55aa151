/** How a browser reads a module and pages of the web: CORS decides what of those a page may see. */

export function load(url: URL | string): Promise<Response> {
  return fetch(url);
}

export function publicFetch(url: string, options: RequestInit): Promise<Response> {
  return fetch(url, options);
}
