// Removes the columns from the places in the source that panic messages of a wasm module name: file and line stay. There are over
// a thousand of them, and columns hardly compress: they are 0.3 % of the core after brotli.
//
// A place is four numbers of 32 bits: address and length of the file's name, line, column.
import { readFileSync, writeFileSync } from "node:fs";
import { readNumber } from "./leb128.mjs";

const DATA = 11;
const [LINE_MAX, COLUMN_MAX, NAME_MAX] = [100_000, 1_000, 300];

const file = process.argv[2];
const module = readFileSync(file);
const segments = read();
for (const { start, length, address } of segments) {
  // Places are aligned in memory.
  for (let at = start + ((4 - (address % 4)) % 4); at + 16 <= start + length; at += 4) {
    if (isPlace(at)) module.writeUInt32LE(0, at + 12);
  }
}
writeFileSync(file, module);

function isPlace(at) {
  const [name, length, line, column] = [0, 4, 8, 12].map((offset) => module.readUInt32LE(at + offset));
  if (line < 1 || line > LINE_MAX || column < 1 || column > COLUMN_MAX || length < 4 || length > NAME_MAX) return false;
  const within = (one) => name >= one.address && name + length <= one.address + one.length;
  const segment = segments.find(within);
  if (segment === undefined) return false;
  const begin = segment.start + name - segment.address;
  return /^[\w/.+-]+\.rs$/.test(module.toString("latin1", begin, begin + length));
}

/** Returns the segments of data with their places in the file and their addresses in memory. */
function read() {
  const segments = [];
  for (let at = 8; at < module.length; ) {
    const [size, start] = readNumber(module, at + 1);
    if (module[at] === DATA) {
      let [count, next] = readNumber(module, start);
      for (; count > 0; count -= 1) {
        // An active segment of memory 0: `i32.const address`, `end`.
        if (module[next] !== 0 || module[next + 1] !== 0x41) throw new Error("a segment has no constant address");
        const [address, end] = readNumber(module, next + 2);
        const [length, content] = readNumber(module, end + 1);
        segments.push({ start: content, length, address });
        next = content + length;
      }
    }
    at = start + size;
  }
  return segments;
}
