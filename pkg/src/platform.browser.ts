/** How a browser reads a module. */

export function load(url: URL | string): Promise<Response> {
  return fetch(url);
}
