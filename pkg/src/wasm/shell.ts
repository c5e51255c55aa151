/**
 * The wasm module of the emulated shell: its glue, its default source and its loader.
 *
 * Import it dynamically, on the first command: programs without a shell then load nothing of it.
 */

import { source } from "#wasm/shell.js";
import * as glue from "../shell-core.js";
import { LazyModule } from "./lazy-module.js";

export { glue };

const NAME = { name: "the emulated shell", option: "shell: { wasm }", file: "emend/shell.wasm" };

export const shellModule = new LazyModule(glue, NAME, source);
