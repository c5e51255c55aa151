// Numbers in LEB128, the encoding of sizes and positions in wasm modules.

/** Reads a number of `bytes`; returns it and the position behind it. */
export function readNumber(bytes, at) {
  let [value, scale] = [0, 1];
  for (; ; scale *= 128) {
    const byte = bytes[at++];
    value += (byte & 127) * scale;
    if (byte < 128) return [value, at];
  }
}
