/** The sources of the core and of its regex engine in `emend/inline`: their bytes are parts of the script. */

import { DEFLATED_CORE } from "../inline-core.js";
import { DEFLATED_REGEX } from "../inline-regex.js";

/** Returns the core as a response. It is unpacked only when it is needed, and while it is compiled. */
export const source = (): Response => unpacked(DEFLATED_CORE);

/** Returns the regex engine in the same way. */
export const sourceOfRegex = (): Response => unpacked(DEFLATED_REGEX);

function unpacked(text: string): Response {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  // A loop: `Uint8Array.from` takes 20 times as long.
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = binary.charCodeAt(index);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream, { headers: { "content-type": "application/wasm" } });
}
