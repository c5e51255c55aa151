// Gives the functions of a wasm module names whose order puts similar functions next to each other, for the pass
// `reorder-functions-by-name` of wasm-opt. A compressor then finds more repetitions, and nearer ones.
//
// Similarity is the share of equal minima of 256 hash functions over all runs of four bytes. From the first function on, the next one
// is the most similar one that is left; similar lengths count, too. The result depends on the bytes of the module alone.
import { readFileSync, writeFileSync } from "node:fs";
import { readNumber } from "./leb128.mjs";

const HASHES = 256;
const RUN = 4;
const WEIGHT_OF_LENGTH = 0.05;
const [CUSTOM, IMPORTS, CODE] = [0, 2, 10];

const file = process.argv[2];
const module = readFileSync(file);
const { functions, importCount, sections } = read();
writeFileSync(file, Buffer.concat([module.subarray(0, 8), ...sections, nameSection(ordered(functions))]));

/** Returns the code of each function, the number of imported functions, and all sections other than custom ones. */
function read() {
  const functions = [];
  const sections = [];
  let importCount = 0;
  for (let at = 8; at < module.length; ) {
    const [size, start] = readNumber(module, at + 1);
    if (module[at] === IMPORTS) importCount = functionImports(start);
    if (module[at] === CODE) {
      let [count, next] = readNumber(module, start);
      for (; count > 0; count -= 1) {
        const [length, body] = readNumber(module, next);
        next = body + length;
        functions.push(module.subarray(body, next));
      }
    }
    if (module[at] !== CUSTOM) sections.push(module.subarray(at, start + size));
    at = start + size;
  }
  return { functions, importCount, sections };
}

/** Returns the number of imports. wasm-bindgen makes modules that import nothing but functions. */
function functionImports(start) {
  let [count, at] = readNumber(module, start);
  const total = count;
  for (; count > 0; count -= 1) {
    for (let text = 0; text < 2; text += 1) {
      const [length, next] = readNumber(module, at);
      at = next + length;
    }
    if (module[at] !== 0) throw new Error("the module imports something other than a function");
    at = readNumber(module, at + 1)[1];
  }
  return total;
}

/** Returns for each function the smallest value of each hash function over its runs of bytes. */
function signatures(functions) {
  const minima = new Uint32Array(functions.length * HASHES).fill(0xffffffff);
  functions.forEach((code, index) => {
    for (let at = 0; at + RUN <= code.length; at += 1) {
      let hash = 0x811c9dc5;
      for (let byte = 0; byte < RUN; byte += 1) hash = Math.imul(hash ^ code[at + byte], 0x01000193) >>> 0;
      for (let which = 0; which < HASHES; which += 1) {
        let value = Math.imul(hash ^ (which * 0x9e3779b9), 0x85ebca6b) >>> 0;
        value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35) >>> 0;
        const place = index * HASHES + which;
        if (value < minima[place]) minima[place] = value;
      }
    }
  });
  return minima;
}

/**
 * Returns for each hash function and minimum the functions that have it, so that only these are counted: a comparison of each
 * function with each other took two minutes for the largest module.
 */
function sharing(minima, count) {
  const found = Array.from({ length: HASHES }, () => new Map());
  for (let index = 0; index < count; index += 1) {
    for (let which = 0; which < HASHES; which += 1) {
      const minimum = minima[index * HASHES + which];
      const others = found[which].get(minimum);
      if (others) others.push(index);
      else found[which].set(minimum, [index]);
    }
  }
  return found;
}

/** Returns the numbers of the functions in their new order. */
function ordered(functions) {
  const minima = signatures(functions);
  const shared = sharing(minima, functions.length);
  const isLeft = new Uint8Array(functions.length).fill(1);
  const equal = new Uint16Array(functions.length);
  const order = [];
  for (let last = 0; last >= 0; ) {
    order.push(last);
    isLeft[last] = 0;
    equal.fill(0);
    for (let which = 0; which < HASHES; which += 1) {
      for (const index of shared[which].get(minima[last * HASHES + which])) equal[index] += 1;
    }
    const length = functions[last].length;
    let [best, bestScore] = [-1, Number.NEGATIVE_INFINITY];
    for (let index = 0; index < functions.length; index += 1) {
      if (isLeft[index] === 0) continue;
      const difference = Math.abs(functions[index].length - length) / (functions[index].length + length);
      const score = equal[index] / HASHES - WEIGHT_OF_LENGTH * difference;
      if (score > bestScore) [best, bestScore] = [index, score];
    }
    last = best;
  }
  return order;
}

/** Returns a section that names the functions by their places in `order`. */
function nameSection(order) {
  const names = order.map((index, place) => [importCount + index, `f${String(place).padStart(6, "0")}`]);
  names.sort(([one], [other]) => one - other);
  const map = names.flatMap(([index, name]) => [...leb(index), ...text(name)]);
  const content = [...leb(names.length), ...map];
  const section = [...text("name"), 1, ...leb(content.length), ...content];
  return Uint8Array.from([CUSTOM, ...leb(section.length), ...section]);
}

function text(value) {
  return [...leb(value.length), ...Buffer.from(value)];
}

function leb(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) + 128);
  bytes.push(value);
  return bytes;
}
