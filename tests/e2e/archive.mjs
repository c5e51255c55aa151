// Zip archives for tests, without a library: what the page writes is read, and what it reads is written, by other code.
import { crc32, inflateRawSync } from "node:zlib";

/** Returns an archive of texts by path, not compressed. */
export function zipOf(files) {
  const [locals, centrals] = [[], []];
  let offset = 0;
  for (const [path, text] of Object.entries(files)) {
    const [name, data] = [Buffer.from(path), Buffer.from(text)];
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt32LE(crc32(data), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(data.length, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), common, name, data]);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    centrals.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00", "latin1"), common, place, name]));
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(centrals);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(centrals.length, 4);
  end.writeUInt16LE(centrals.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...locals, directory, Buffer.from("PK\x05\x06"), end]);
}

/** Returns the texts of an archive by path. */
export function readZip(bytes) {
  const files = {};
  const end = bytes.lastIndexOf(Buffer.from("PK\x05\x06"));
  let at = bytes.readUInt32LE(end + 16);
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left--) {
    const [method, size] = [bytes.readUInt16LE(at + 10), bytes.readUInt32LE(at + 20)];
    const lengths = [28, 30, 32].map((place) => bytes.readUInt16LE(at + place));
    const path = bytes.toString("utf8", at + 46, at + 46 + lengths[0]);
    const local = bytes.readUInt32LE(at + 42);
    const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const data = bytes.subarray(start, start + size);
    if (!path.endsWith("/")) files[path] = (method === 8 ? inflateRawSync(data) : data).toString();
    at += 46 + lengths[0] + lengths[1] + lengths[2];
  }
  return files;
}
