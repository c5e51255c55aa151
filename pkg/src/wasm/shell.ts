/**
 * The wasm module of the emulated shell: its glue, its address and its loader.
 *
 * Import it dynamically, on the first command: programs without a shell then load nothing of it.
 */

import * as glue from "../shell-core.js";
import { LazyModule } from "./lazy-module.js";

export { glue };

const NAME = { name: "the emulated shell", option: "shell: { wasm }", file: "emend/shell.wasm" };

// Bundlers recognise exactly this expression and copy the file.
export const shellModule = new LazyModule(glue, NAME, () => new URL("../shell-core_bg.wasm", import.meta.url));
