/** Loads the module with the client. */

import * as glue from "./llm-core.js";
import { llmUrl } from "./llm-url.js";
import { Loader } from "./loader.js";

export { glue };

export const llmModule = new Loader(glue, llmUrl);
