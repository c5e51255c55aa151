/**
 * Prepares a picture for a message: finds its type from its bytes, scales it down if models do not take it as it is, and
 * makes the small copy that the page shows. Runs in the worker, because decoding takes time.
 */
import { newId } from "../ids.js";
import type { Picture } from "./protocol.js";

/** Workers have it, but the type definitions are those of a page. */
declare const FileReaderSync: new () => { readAsDataURL(blob: Blob): string };

/** Maximum number of bytes: models accept 5 MiB in base64. The engine has the same limit for files that a message mentions. */
export const BYTES_MAX = ((5 * 1_024 * 1_024) / 4) * 3;
/** Maximum number of pixels of a side that models accept. */
export const SIDE_MAX = 8_000;
/** Maximum number of bytes that are scaled down. Decoding more could take all memory of a phone. */
const SCALED_BYTES_MAX = 60_000_000;
/** Number of pixels of the longer side of the small copy. */
const THUMB_SIDE = 320;
/** The scale of each attempt after the first one, until the picture is small enough. */
const STEP = 0.7;
const ATTEMPTS_MAX = 8;

/** Returns the media type of a picture, from the bytes at its beginning; null for others than models accept. */
export function pictureType(bytes: Uint8Array): string | null {
  const starts = (...signature: readonly number[]): boolean => signature.every((byte, at) => bytes[at] === byte);
  if (starts(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return "image/png";
  if (starts(0xff, 0xd8, 0xff)) return "image/jpeg";
  const text = String.fromCharCode(...bytes.subarray(0, 12));
  if (/^GIF8[79]a/.test(text)) return "image/gif";
  return /^RIFF[\s\S]{4}WEBP/.test(text) ? "image/webp" : null;
}

/** Returns the size with this longer side, or the same size if it is not longer. */
export function fitted(width: number, height: number, side: number): readonly [width: number, height: number] {
  const scale = Math.min(1, side / Math.max(width, height));
  return [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
}

/** Reads a picture. Throws the reason if it cannot go with a message. */
export async function readPicture(file: File): Promise<{ picture: Picture; data: string }> {
  const name = file.name === "" ? "picture" : file.name;
  // A dropped folder has no bytes to read.
  const head = await file
    .slice(0, 12)
    .arrayBuffer()
    .catch(() => new ArrayBuffer(0));
  const type = pictureType(new Uint8Array(head));
  if (type === null) throw new Error(`${name} is not a PNG, JPEG, GIF or WebP picture`);
  if (file.size > SCALED_BYTES_MAX) throw new Error(`${name} is too large: at most 60 MB`);
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new Error(`${name} cannot be read as a picture`);
  });
  try {
    const { width, height } = bitmap;
    const isTooLarge = file.size > BYTES_MAX || Math.max(width, height) > SIDE_MAX;
    // One of its pictures would be all that is left of it.
    if (isTooLarge && type === "image/gif") {
      throw new Error(`${name} is too large: a GIF can have at most 3.9 MB and ${SIDE_MAX} pixels a side`);
    }
    const sent = isTooLarge ? await scaledDown(bitmap, type, name) : { blob: file as Blob, width, height };
    const thumb = await drawn(bitmap, fitted(width, height, THUMB_SIDE), "image/webp");
    const picture: Picture = {
      kind: "picture",
      id: newId(),
      name,
      mediaType: isTooLarge ? sent.blob.type : type,
      bytes: sent.blob.size,
      width: sent.width,
      height: sent.height,
      thumb: dataUrl(thumb),
      ...(isTooLarge && { scaled: true as const }),
    };
    return { picture, data: dataUrl(sent.blob).replace(/^[^,]*,/, "") };
  } finally {
    bitmap.close();
  }
}

async function scaledDown(bitmap: ImageBitmap, type: string, name: string) {
  let side = Math.min(SIDE_MAX, Math.max(bitmap.width, bitmap.height));
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const [width, height] = fitted(bitmap.width, bitmap.height, side);
    const blob = await drawn(bitmap, [width, height], type);
    if (blob.size <= BYTES_MAX) return { blob, width, height };
    side *= STEP;
  }
  throw new Error(`${name} is too large`);
}

/** Draws a picture in another size. A browser that cannot write `type` writes PNG. */
function drawn(bitmap: ImageBitmap, [width, height]: readonly [number, number], type: string): Promise<Blob> {
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser cannot draw pictures");
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, 0, 0, width, height);
  return canvas.convertToBlob({ type, quality: 0.85 });
}

/** Returns a `data:` URL, which ends with the bytes in base64. */
function dataUrl(blob: Blob): string {
  return new FileReaderSync().readAsDataURL(blob);
}
