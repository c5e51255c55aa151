/** How Node reads a module. Its `fetch` reads no files. */

import { readFile } from "node:fs/promises";

export async function load(url: URL | string): Promise<Response | ArrayBufferView> {
  const address = new URL(url);
  return address.protocol === "file:" ? readFile(address) : fetch(address);
}
