/** The form of an index in a store: settled entries only, because what is recent is read again. */

import type { SignatureIndex } from "./index.js";

/** The first bytes: a name and the number of the format. */
const MAGIC = new TextEncoder().encode("emend-index-1\n");

const encoder = new TextEncoder();

/** Returns the index as bytes: after the name, the length of a list as JSON, the list, and the signatures. */
export function written(index: SignatureIndex): Uint8Array {
  const listed: [path: string, stamp: string, bytes: number][] = [];
  const signatures: Uint8Array[] = [];
  let length = 0;
  for (const { path, stamp, signature } of index.settled()) {
    listed.push([path, stamp, signature.length]);
    signatures.push(signature);
    length += signature.length;
  }
  const list = encoder.encode(JSON.stringify(listed));
  const bytes = new Uint8Array(MAGIC.length + 4 + list.length + length);
  bytes.set(MAGIC);
  new DataView(bytes.buffer).setUint32(MAGIC.length, list.length, true);
  bytes.set(list, MAGIC.length + 4);
  let at = MAGIC.length + 4 + list.length;
  for (const signature of signatures) {
    bytes.set(signature, at);
    at += signature.length;
  }
  return bytes;
}

/** Adds stored entries to an index. Bytes of another format or with damage are left alone. */
export function restore(index: SignatureIndex, bytes: Uint8Array): void {
  const start = MAGIC.length + 4;
  if (bytes.length < start || MAGIC.some((byte, at) => bytes[at] !== byte)) return;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const listEnd = start + view.getUint32(MAGIC.length, true);
  const listed = entriesIn(bytes.subarray(start, listEnd));
  const total = listed.reduce((sum, [, , length]) => sum + length, listEnd);
  if (total !== bytes.length) return;
  let at = listEnd;
  for (const [path, stamp, length] of listed) {
    index.restore(path, stamp, bytes.slice(at, at + length));
    at += length;
  }
}

function entriesIn(list: Uint8Array): [string, string, number][] {
  let found: unknown;
  try {
    found = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(list));
  } catch {
    return [];
  }
  const isEntry = (entry: unknown): entry is [string, string, number] => {
    if (!Array.isArray(entry)) return false;
    const [path, stamp, length] = entry as unknown[];
    const isSize = typeof length === "number" && length >= 8 && Number.isInteger(Math.log2(length));
    return typeof path === "string" && typeof stamp === "string" && isSize;
  };
  return Array.isArray(found) && found.every(isEntry) ? found : [];
}
