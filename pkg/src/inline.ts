/**
 * `emend/inline`: the same names as `emend`, with the core as a part of the script.
 *
 * For programs that are one file and for pages that may load nothing. The other modules are files as usual.
 */

import { coreModule } from "./wasm/core.js";
import { source } from "./wasm/inline.js";

export * from "./public.js";

coreModule.source = source;
