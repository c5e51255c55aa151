/**
 * Packs text files into one archive, for saving several files where the browser cannot write to a folder.
 *
 * ZIP with stored (uncompressed) entries and UTF-8 names, per APPNOTE.TXT 6.3.3; no ZIP64, so under 4 GB in all.
 */

const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END_OF_CENTRAL = 0x06054b50;
const VERSION = 20;
const UTF8_NAMES = 0x0800;

/** The archive's bytes; entries carry `modified`, to two seconds and in local time as the format has it. */
export function zip(files: ReadonlyMap<string, string>, modified: Date): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const parts: Uint8Array[] = [];
  const central: Uint8Array[] = [];
  let offset = 0;
  for (const [path, text] of files) {
    const name = encoder.encode(path);
    const data = encoder.encode(text);
    // The fields both headers share, in their order.
    const shared = record([
      [2, VERSION],
      [2, UTF8_NAMES],
      [2, 0],
      [2, dosTime(modified)],
      [2, dosDate(modified)],
      [4, crc32(data)],
      [4, data.length],
      [4, data.length],
      [2, name.length],
      [2, 0],
    ]);
    const local = [record([[4, LOCAL_HEADER]]), shared, name, data];
    // Comment length, disk, internal attributes, external attributes, then where the local header is.
    const tail = record([[2, 0], [2, 0], [2, 0], [4, 0], [4, offset]]);
    central.push(record([[4, CENTRAL_HEADER], [2, VERSION]]), shared, tail, name);
    parts.push(...local);
    offset += sum(local);
  }
  const end = record([
    [4, END_OF_CENTRAL],
    [2, 0],
    [2, 0],
    [2, files.size],
    [2, files.size],
    [4, sum(central)],
    [4, offset],
    [2, 0],
  ]);
  return concat([...parts, ...central, end]);
}

function record(fields: readonly (readonly [2 | 4, number])[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(fields.reduce((total, [width]) => total + width, 0)));
  let at = 0;
  for (const [width, value] of fields) {
    if (width === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value >>> 0, true);
    at += width;
  }
  return new Uint8Array(view.buffer);
}

function dosTime(date: Date): number {
  return (date.getHours() << 11) | (date.getMinutes() << 5) | (date.getSeconds() >> 1);
}

function dosDate(date: Date): number {
  return ((date.getFullYear() - 1980) << 9) | ((date.getMonth() + 1) << 5) | date.getDate();
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/** CRC-32 as ZIP and PNG use it (reflected polynomial 0xEDB88320). */
export function crc32(data: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of data) crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ byte) & 0xff] ?? 0);
  return (crc ^ 0xffffffff) >>> 0;
}

function sum(parts: readonly Uint8Array[]): number {
  return parts.reduce((total, part) => total + part.length, 0);
}

function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(sum(parts));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
