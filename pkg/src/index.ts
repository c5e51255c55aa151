/** `emend`. Importing it loads nothing: {@link Agent.create} or {@link init} loads the core, by default from its file. */

import { source } from "#wasm/core.js";
import { source as sourceOfRegex } from "#wasm/regex.js";
import { coreModule } from "./wasm/core.js";
import { regexSource } from "./wasm/regex-source.js";

export * from "./public.js";

// A program that also imports `emend/inline` uses the core in the script, whichever comes first.
coreModule.source ??= source;
regexSource.own ??= sourceOfRegex;
