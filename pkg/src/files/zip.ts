/**
 * Reads and writes zip archives. `fflate`, which is loaded when first needed, inflates, deflates and writes.
 *
 * Archives are parsed here, by their central directory, because `fflate` exposes neither symbolic links nor encryption.
 * No header is trusted: sizes are counted while inflating, and checksums and paths are verified.
 */

import { EmendError } from "../errors.js";
import { invalid, optionsOf } from "../validate.js";
import { PortableNames } from "./portable-names.js";
import { cleanPath, contentsOf, Gathered } from "./project-files.js";
import type { BlobLike, Bytes, FilesIn, ImportOptions, ZipOptions } from "./types.js";

type Fflate = typeof import("fflate");
type Zippable = import("fflate").Zippable;

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const LOCAL_BYTES = 30;
const CENTRAL_BYTES = 46;
const END_BYTES = 22;
const [COMMENT_BYTES_MAX, NAME_BYTES_MAX] = [0xffff, 0xffff];
/** Values of 16-bit and 32-bit fields that mean: the number is in the ZIP64 extension. */
const [ZIP64_16, ZIP64_32] = [0xffff, 0xffffffff];

const ENCRYPTED = 1 << 0;
const [STORED, DEFLATED] = [0, 8];
/** Systems whose entries carry Unix file modes, and the file types of those modes. */
const [UNIX, MAC] = [3, 19];
const [TYPE, DIRECTORY, REGULAR, LINK] = [0o170000, 0o040000, 0o100000, 0o120000];
/** MS-DOS attribute of a directory. */
const DOS_DIRECTORY = 0x10;

/**
 * Size of the pieces in which large input is inflated. Deflate expands at most about a thousandfold, so excess is
 * noticed within 8 MiB.
 */
const PIECE_BYTES = 8 * 1024;
/** Size up to which input is inflated in one piece, which takes a fraction of the time. Most files are small. */
const AT_ONCE_BYTES = 64 * 1024;

/**
 * Reads a zip archive into a record of files for `Agent.create`.
 *
 * @throws {EmendError} with code `limit_reached` past `maxBytes` or `maxFiles`, `permission_denied` for a path that
 *   leads out of the archive, `already_exists` for a duplicate path or one that is the same on some system, `unsupported`
 *   for encrypted entries and symbolic links, and `invalid_argument` for damaged data, data that is not an archive, and
 *   names that some system cannot have, such as `aux.txt`.
 */
export async function fromZip(
  archive: Uint8Array | ArrayBuffer | BlobLike,
  options: ImportOptions = {},
): Promise<Record<string, Bytes>> {
  const gathered = new Gathered(options);
  const names = new PortableNames();
  const bytes = await bytesOf(archive);
  const fflate = await load();
  for (const entry of entries(bytes)) {
    if (!gathered.wants(entry.path)) continue;
    const path = cleanPath(entry.path);
    if (path === "") continue;
    names.check(path);
    gathered.add(path, path.endsWith("/") ? new Uint8Array() : content(fflate, bytes, entry, gathered));
  }
  return gathered.files();
}

/**
 * Returns a zip archive of files in the form that `files.export()` returns. The same files and time give the same
 * bytes.
 *
 * @throws {EmendError} with code `invalid_argument` for a level that an archive cannot have and for names that some system
 *   cannot have, `already_exists` for names that are the same on some system, `permission_denied` for a path that leads out of the archive, and `limit_reached` past 65,534 files or 4 GiB.
 */
export async function toZip(files: FilesIn, options: ZipOptions = {}): Promise<Bytes> {
  const { level = 6, modified = new Date() } = optionsOf(options, ["level", "modified"]);
  if (Object.prototype.toString.call(modified) !== "[object Date]" || Number.isNaN(modified.getTime()))
    throw invalid("`modified` must be a valid Date");
  if (!(Number.isInteger(level) && level >= 0 && level <= 9))
    throw invalid("`level` must be a whole number from 0 to 9");
  const contents = contentsOf(files);
  if (contents.length >= ZIP64_16) throw tooLarge();
  const entries: Zippable = {};
  const names = new PortableNames();
  for (const [path, bytes] of contents) {
    names.check(path);
    if (new TextEncoder().encode(path).length > NAME_BYTES_MAX)
      throw invalid(`the path ${path.slice(0, 40)}… is too long for a zip archive`);
    // `fflate` uses paths as keys of plain objects.
    if (path === "__proto__") throw invalid("a file named `__proto__` cannot be put into a zip archive");
    const mode = path.endsWith("/") ? DIRECTORY | 0o755 : REGULAR | 0o644;
    const attrs = ((mode << 16) | (path.endsWith("/") ? DOS_DIRECTORY : 0)) >>> 0;
    entries[path] = [bytes, { level: (bytes.length === 0 ? 0 : level) as 6, attrs }];
  }
  const { zipSync } = await load();
  const archive = zipSync(entries, { mtime: zipTime(modified), os: UNIX });
  if (archive.length >= ZIP64_32) throw tooLarge();
  return archive as Bytes;
}

/** Returns the nearest time that the format can express. Its years are 1980 to 2099 in `fflate`. */
function zipTime(time: Date): Date {
  const near = new Date(time);
  near.setFullYear(Math.min(Math.max(time.getFullYear(), 1980), 2099));
  return near;
}

function tooLarge(): EmendError {
  return new EmendError("limit_reached", "a zip archive holds fewer than 65,535 files and less than 4 GiB", {
    suggestions: ["make several archives, each of some of the files"],
  });
}

async function bytesOf(archive: unknown): Promise<Uint8Array> {
  // A plain Uint8Array: `slice` of Node's Buffer returns a view instead of a copy.
  if (archive instanceof Uint8Array) return new Uint8Array(archive.buffer, archive.byteOffset, archive.byteLength);
  if (archive instanceof ArrayBuffer) return new Uint8Array(archive);
  const { arrayBuffer } = Object(archive) as Partial<BlobLike>;
  if (typeof arrayBuffer !== "function") throw invalid("the archive must be a Uint8Array, an ArrayBuffer or a Blob");
  return new Uint8Array(await (archive as BlobLike).arrayBuffer());
}

async function load(): Promise<Fflate> {
  try {
    return await import("fflate");
  } catch (cause) {
    throw new EmendError(
      "load_failed",
      "the package `fflate`, which reads and writes zip archives, could not be loaded",
      {
        cause,
        retryable: true,
        suggestions: ["install it; on a page without a bundler, add it to the import map"],
      },
    );
  }
}

/** One entry of the central directory. */
interface Entry {
  path: string;
  method: number;
  crc: number;
  packedSize: number;
  size: number;
  offset: number;
  flags: number;
  /** Unix file type, 0 if the entry does not have one. */
  type: number;
}

/** Reads the central directory, which is authoritative for the content of an archive. */
function* entries(bytes: Uint8Array): Generator<Entry> {
  const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = findEnd(data);
  const [count, size, start] = [
    data.getUint16(end + 10, true),
    data.getUint32(end + 12, true),
    data.getUint32(end + 16, true),
  ];
  if (count === ZIP64_16 || size === ZIP64_32 || start === ZIP64_32) throw unsupported("it uses the ZIP64 format");
  if (start + size > end) throw damaged("its directory is truncated");
  for (let index = 0, at = start; index < count; index += 1) {
    if (at + CENTRAL_BYTES > end || data.getUint32(at, true) !== CENTRAL) throw damaged("its directory is truncated");
    const nameBytes = data.getUint16(at + 28, true);
    const next = at + CENTRAL_BYTES + nameBytes + data.getUint16(at + 30, true) + data.getUint16(at + 32, true);
    if (next > end) throw damaged("its directory is truncated");
    const madeBy = data.getUint8(at + 5);
    yield {
      path: decodeName(bytes.subarray(at + CENTRAL_BYTES, at + CENTRAL_BYTES + nameBytes)),
      flags: data.getUint16(at + 8, true),
      method: data.getUint16(at + 10, true),
      crc: data.getUint32(at + 16, true),
      packedSize: data.getUint32(at + 20, true),
      size: data.getUint32(at + 24, true),
      offset: data.getUint32(at + 42, true),
      type: madeBy === UNIX || madeBy === MAC ? (data.getUint32(at + 38, true) >>> 16) & TYPE : 0,
    };
    at = next;
  }
}

/** Returns the offset of the end record. The comment after it must reach to the last byte. */
function findEnd(data: DataView): number {
  const last = data.byteLength - END_BYTES;
  for (let at = last; at >= 0 && at >= last - COMMENT_BYTES_MAX; at -= 1) {
    if (data.getUint32(at, true) === END && at + END_BYTES + data.getUint16(at + 20, true) === data.byteLength)
      return at;
  }
  throw damaged("it is not a zip archive, or its end is missing");
}

function decodeName(name: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(name);
  } catch {
    throw unsupported("it has names that are not UTF-8");
  }
}

/** Returns the bytes of an entry. Throws unless it is a file within the limits with the right checksum. */
function content(fflate: Fflate, bytes: Uint8Array, entry: Entry, gathered: Gathered): Bytes {
  const { path, method, offset, packedSize, size } = entry;
  const name = JSON.stringify(path);
  if ((entry.flags & ENCRYPTED) !== 0) throw unsupported(`${name} is encrypted`);
  if (entry.type === LINK) throw unsupported(`${name} is a symbolic link`);
  if (entry.type !== 0 && entry.type !== REGULAR) throw unsupported(`${name} is not a regular file`);
  if (method !== STORED && method !== DEFLATED) throw unsupported(`${name} uses compression method ${method}`);
  if ([packedSize, size, offset].includes(ZIP64_32)) throw unsupported(`${name} uses the ZIP64 format`);
  const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (offset + LOCAL_BYTES > bytes.length || data.getUint32(offset, true) !== LOCAL)
    throw damaged(`${name} is not at the stated position`);
  const start = offset + LOCAL_BYTES + data.getUint16(offset + 26, true) + data.getUint16(offset + 28, true);
  if (start + packedSize > bytes.length) throw damaged(`${name} is truncated`);
  gathered.reserve(path, size);
  const packed = bytes.subarray(start, start + packedSize);
  const found = method === STORED ? packed.slice() : inflate(fflate, packed, size, name);
  if (found.length !== size || crc32(found) !== entry.crc) throw damaged(`${name} does not match its checksum`);
  return found;
}

/** Inflates `packed`. Throws if the result is larger than `size`, which was checked against the limits. */
function inflate(fflate: Fflate, packed: Uint8Array, size: number, name: string): Bytes {
  const chunks: Bytes[] = [];
  let n = 0;
  const take = (chunk: Uint8Array): void => {
    n += chunk.length;
    if (n > size) throw damaged(`${name} is larger than stated`);
    chunks.push(chunk as Bytes);
  };
  try {
    if (packed.length <= AT_ONCE_BYTES) {
      // `fflate` drops output that does not fit. One spare byte is enough to detect an excess.
      take(fflate.inflateSync(packed, { out: new Uint8Array(size + 1) }));
      return chunks[0] as Bytes;
    }
    const stream = new fflate.Inflate(take);
    let at = 0;
    do {
      const next = Math.min(at + PIECE_BYTES, packed.length);
      stream.push(packed.subarray(at, next), next === packed.length);
      at = next;
    } while (at < packed.length);
  } catch (cause) {
    if (cause instanceof EmendError) throw cause;
    throw damaged(`${name} cannot be inflated`, cause);
  }
  return chunks.length === 1 ? (chunks[0] as Bytes) : joined(chunks);
}

function joined(parts: readonly Uint8Array[]): Bytes {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

let table: Uint32Array | undefined;

function crc32(bytes: Uint8Array): number {
  table ??= Uint32Array.from({ length: 256 }, (_, byte) => {
    let crc = byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    return crc;
  });
  let crc = -1;
  for (const byte of bytes) crc = (table[(crc ^ byte) & 0xff] as number) ^ (crc >>> 8);
  return ~crc >>> 0;
}

function damaged(why: string, cause?: unknown): EmendError {
  const details = { suggestions: ["download or create the archive again"] };
  return new EmendError(
    "invalid_argument",
    `the archive cannot be read: ${why}`,
    cause === undefined ? details : { ...details, cause },
  );
}

function unsupported(why: string): EmendError {
  return new EmendError("unsupported", `the archive cannot be imported: ${why}`, {
    suggestions: ["create it again without that, or exclude the entry with `filter`"],
  });
}
