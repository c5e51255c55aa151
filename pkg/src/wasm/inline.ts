/** The source of the core in `emend/inline`: its bytes are part of the script. */

import { DEFLATED_CORE } from "../inline-core.js";

/** Returns the core as a response. It is unpacked only when it is needed, and while it is compiled. */
export function source(): Response {
  const binary = atob(DEFLATED_CORE);
  const bytes = new Uint8Array(binary.length);
  // A loop: `Uint8Array.from` takes 20 times as long.
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = binary.charCodeAt(index);
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(unpacked, { headers: { "content-type": "application/wasm" } });
}
