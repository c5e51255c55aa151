/**
 * The wasm module of the regex engine: its glue and its loader.
 *
 * Import it dynamically, on the first pattern: programs that search only for plain text then load nothing of it.
 */

import * as glue from "../regex-core.js";
import { LazyModule, type Source } from "./lazy-module.js";
import { regexSource } from "./regex-source.js";

export { glue };

const NAME = { name: "the regex engine", option: "await init({ regex })", file: "emend/regex.wasm" };

export const regexModule = new LazyModule(glue, NAME, () => ((regexSource.given ?? regexSource.own) as Source)());
