/** Makes tools whose arguments have the type that their schema describes. */

import type { AgentTool } from "../host/types.js";
import { requireOptions, shown } from "../validate.js";
import type { ArgumentsOf } from "./schema-types.js";
import { parametersOf } from "./standard-schema.js";

/**
 * Returns a tool for an agent or a client. The arguments of `execute` have the type of `parameters`: the output of a
 * Standard Schema, such as a `z.object(…)` of zod 4, or the value of a JSON Schema that is written in place.
 *
 * @throws {ConfigError} if `parameters` are a Standard Schema that gives no JSON Schema of itself.
 */
export function tool<const Schema extends object>(
  definition: Omit<AgentTool<ArgumentsOf<Schema>>, "parameters"> & { parameters: Schema },
): AgentTool<ArgumentsOf<Schema>> {
  const { name, parameters } = requireOptions("the tool", definition);
  parametersOf(`the parameters of the tool ${shown(name)}`, requireOptions("the parameters", parameters));
  return definition;
}
