// Prints, as JSON, how large a built file is and what a wasm module imports.
//
// Node does the measuring because it has brotli, and because a module that its compiler takes is known to load there.
import { readFileSync } from "node:fs";
import { brotliCompressSync, constants } from "node:zlib";

const file = process.argv[2];
const bytes = readFileSync(file);
const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 };
const imports = file.endsWith(".wasm") ? WebAssembly.Module.imports(new WebAssembly.Module(bytes)) : [];
console.log(
  JSON.stringify({
    bytes: bytes.length,
    brotli: brotliCompressSync(bytes, { params }).length,
    import_modules: [...new Set(imports.map((entry) => entry.module))].sort(),
  }),
);
