// Prints the size of a built file and the imports of a wasm module as JSON.
//
// Node measures because it has brotli, and because a module that it compiles is known to load in Node.
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
