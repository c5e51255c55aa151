// Writes dist/inline-core.js and dist/inline-regex.js: the core and its regex engine, compressed and in base64, for `emend/inline`.
// Both must have been built.

import { readFile, writeFile } from "node:fs/promises";
import { constants, deflateRawSync } from "node:zlib";

const dist = new URL("../dist/", import.meta.url);
for (const [script, name, file] of [
  ["inline-core", "DEFLATED_CORE", "core_bg.wasm"],
  ["inline-regex", "DEFLATED_REGEX", "regex-core_bg.wasm"],
]) {
  const compressed = deflateRawSync(await readFile(new URL(file, dist)), { level: constants.Z_BEST_COMPRESSION });
  const note = `/** The file \`${file}\`, compressed with deflate, in base64. */`;
  await writeFile(
    new URL(`${script}.js`, dist),
    `${note}\nexport const ${name} = "${compressed.toString("base64")}";\n`,
  );
  await writeFile(new URL(`${script}.d.ts`, dist), `${note}\nexport declare const ${name}: string;\n`);
}
