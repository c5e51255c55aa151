/** Loads the module with the shell. It is imported by the first command, so that nobody else loads even its glue. */

import { Loader } from "./loader.js";
import * as glue from "./shell-core.js";
import { shellUrl } from "./shell-url.js";

export { glue };

export const shellModule = new Loader(glue, shellUrl);
