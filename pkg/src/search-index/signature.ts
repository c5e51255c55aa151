/**
 * Signatures: for each sequence of three bytes of a file one of its bits. A file whose signature lacks the bit of a sequence does
 * not contain it; a file that has the bit may.
 */

/** Bits of a signature for each different sequence: one in five other sequences then seems to be there. */
const BITS_PER_TRIGRAM = 4;

/** One bit for each of the 2^24 sequences of a text: where the text has them. Cleared after each use. */
let seen: Uint8Array | undefined;

/** Returns the signature of a content: a power of two of bytes. */
export function signatureOf(content: Uint8Array): Uint8Array {
  seen ??= new Uint8Array(2 ** 21);
  const different = new Uint32Array(Math.max(0, content.length - 2));
  let count = 0;
  let trigram = 0;
  for (let at = 0; at < content.length; at += 1) {
    let byte = content[at] as number;
    if (byte >= 0x41 && byte <= 0x5a) byte += 0x20;
    trigram = ((trigram << 8) | byte) & 0xff_ff_ff;
    if (at < 2) continue;
    const place = trigram >> 3;
    const bit = 1 << (trigram & 7);
    if (((seen[place] as number) & bit) !== 0) continue;
    seen[place] = (seen[place] as number) | bit;
    different[count] = trigram;
    count += 1;
  }
  const signature = new Uint8Array(sizeFor(count));
  for (let at = 0; at < count; at += 1) {
    const found = different[at] as number;
    seen[found >> 3] = 0;
    const bit = bitOf(found, signature.length);
    signature[bit >> 3] = (signature[bit >> 3] as number) | (1 << (bit & 7));
  }
  return signature;
}

/** Returns the sequences of a text, of which a file lacks none if it contains the text. */
export function trigramsOf(text: Uint8Array): number[] {
  const found: number[] = [];
  for (let at = 2; at < text.length; at += 1) {
    found.push(((text[at - 2] as number) << 16) | ((text[at - 1] as number) << 8) | (text[at] as number));
  }
  return found;
}

/** Returns whether a file with this signature may contain all sequences. */
export function mayContain(signature: Uint8Array, trigrams: readonly number[]): boolean {
  return trigrams.every((trigram) => {
    const bit = bitOf(trigram, signature.length);
    return ((signature[bit >> 3] as number) & (1 << (bit & 7))) !== 0;
  });
}

function sizeFor(count: number): number {
  let bytes = 8;
  while (bytes * 8 < count * BITS_PER_TRIGRAM) bytes *= 2;
  return bytes;
}

/** Returns the bit of a sequence in a signature. The multiplication spreads sequences that differ in one byte. */
function bitOf(trigram: number, bytes: number): number {
  return (Math.imul(trigram, 0x9e37_79b1) >>> 7) & (bytes * 8 - 1);
}
