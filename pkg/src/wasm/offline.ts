/** Loads the stand-in model. It is imported by the first request to it, so that nobody else loads even its glue. */

import { Loader } from "./loader.js";
import * as glue from "./offline-core.js";
import { offlineUrl } from "./offline-url.js";

export { glue };

export const offlineModule = new Loader(glue, offlineUrl);
