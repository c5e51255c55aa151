// Writes dist/inline-core.js: the core, compressed and in base64, for `emend/inline`. The core must have been built.

import { readFile, writeFile } from "node:fs/promises";
import { constants, deflateRawSync } from "node:zlib";

const dist = new URL("../dist/", import.meta.url);
const compressed = deflateRawSync(await readFile(new URL("core_bg.wasm", dist)), {
  level: constants.Z_BEST_COMPRESSION,
});
const note = "/** The file `core_bg.wasm`, compressed with deflate, in base64. */";
await writeFile(
  new URL("inline-core.js", dist),
  `${note}\nexport const DEFLATED_CORE = "${compressed.toString("base64")}";\n`,
);
await writeFile(new URL("inline-core.d.ts", dist), `${note}\nexport declare const DEFLATED_CORE: string;\n`);
