/**
 * The source of the regex engine's module, apart from its loader: entries of the package set it, and a program that searches only
 * for plain text does not load the loader.
 */

import type { Source } from "./lazy-module.js";

/** `own` is the source that the entry of the package sets; `given` that of the caller. */
export const regexSource: { own?: Source; given?: Source } = {};
