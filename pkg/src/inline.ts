/**
 * `emend/inline`: the same names as `emend`, with the core and its regex engine as parts of the script.
 *
 * For programs that are one file and for pages that may load nothing. The other modules are files as usual.
 */

import { coreModule } from "./wasm/core.js";
import { source, sourceOfRegex } from "./wasm/inline.js";
import { regexSource } from "./wasm/regex-source.js";

export * from "./public.js";

coreModule.source = source;
regexSource.own = sourceOfRegex;
