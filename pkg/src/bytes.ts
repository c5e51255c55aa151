/** Bytes of a caller on their way into wasm. */

const TYPED_ARRAY = Object.getPrototypeOf(Uint8Array.prototype) as object;

/** Returns the value of an accessor of typed arrays, which the class or the object of a caller cannot override. */
function own(bytes: unknown, name: keyof Uint8Array | typeof Symbol.toStringTag): unknown {
  return Object.getOwnPropertyDescriptor(TYPED_ARRAY, name)?.get?.call(bytes);
}

/**
 * Returns a plain view of the bytes of `value`, or `undefined` if `value` is not a `Uint8Array`.
 *
 * A subclass or an own property may override an accessor, and a proxy has none. In wasm, an exception of an accessor is
 * a panic.
 */
export function bytesOf(value: unknown): Uint8Array | undefined {
  if (own(value, Symbol.toStringTag) !== "Uint8Array") return undefined;
  return new Uint8Array(
    own(value, "buffer") as ArrayBuffer,
    own(value, "byteOffset") as number,
    own(value, "byteLength") as number,
  );
}

/** Returns whether two contents are equal. */
export function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
