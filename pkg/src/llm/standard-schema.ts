/**
 * Parameters of tools as a Standard Schema (standardschema.dev), such as an object of zod, ArkType or Valibot.
 *
 * The model gets the JSON Schema that the object gives of itself. The object checks the arguments of each call.
 */

import { ConfigError } from "../errors.js";
import { messageOf } from "../exceptions.js";
import { shown } from "../validate.js";

interface Issue {
  readonly message: string;
  readonly path?: readonly unknown[] | undefined;
}

interface Standard {
  readonly vendor?: unknown;
  validate(value: unknown): unknown;
  readonly jsonSchema?: { input?(options: { target: string }): unknown } | undefined;
}

/** Checks arguments. Returns them as the schema converts them; throws if they do not match. */
export type CheckArguments = (args: unknown) => Promise<unknown>;

/** Parameters in the form for the model, and a check if they are a Standard Schema. */
export interface Parameters {
  json: unknown;
  check: CheckArguments | undefined;
}

/** Returns the standard's interface of a value that has one. */
function standardOf(value: unknown): Standard | undefined {
  const standard = (Object(value) as { "~standard"?: unknown })["~standard"];
  return typeof (Object(standard) as Partial<Standard>).validate === "function" ? (standard as Standard) : undefined;
}

/**
 * Returns parameters in the form for the model. A JSON Schema is returned as it is. `what` names the parameters in errors.
 *
 * @throws {ConfigError} if a Standard Schema gives no JSON Schema.
 */
export function parametersOf(what: string, given: unknown): Parameters {
  const standard = standardOf(given);
  if (standard === undefined) return { json: given, check: undefined };
  const json = jsonSchemaOf(what, given as object, standard);
  return { json, check: (args) => checked(standard, args) };
}

function jsonSchemaOf(what: string, given: object, standard: Standard): unknown {
  const { toJSONSchema, toJsonSchema } = given as Record<string, unknown>;
  const ways: unknown[] = [
    standard.jsonSchema?.input && (() => standard.jsonSchema?.input?.({ target: "draft-2020-12" })),
    toJSONSchema && (() => (toJSONSchema as (options: object) => unknown).call(given, { io: "input" })),
    toJsonSchema && (() => (toJsonSchema as () => unknown).call(given)),
  ];
  const way = ways.find((one) => typeof one === "function") as (() => unknown) | undefined;
  const name = typeof standard.vendor === "string" ? ` of ${standard.vendor}` : "";
  if (way === undefined) {
    const next =
      "convert it with the library's function, e.g. `z.toJSONSchema(schema)`, and check the arguments yourself";
    throw new ConfigError("configuration", `${what} are a schema${name} that gives no JSON Schema of itself; ${next}`);
  }
  try {
    // The dialect is a statement about the document; providers reject it as a part of parameters.
    const { $schema: _, ...schema } = JSON.parse(JSON.stringify(way())) as Record<string, unknown>;
    return schema;
  } catch (cause) {
    const why = `${what} are a schema${name} that cannot be written as JSON Schema: ${messageOf(cause)}`;
    throw new ConfigError("configuration", why, { cause });
  }
}

async function checked(standard: Standard, args: unknown): Promise<unknown> {
  const result = Object(await standard.validate(args)) as { issues?: readonly Issue[]; value?: unknown };
  if (result.issues === undefined || result.issues === null) return result.value;
  const issues = result.issues.map(({ message, path = [] }) => {
    const keys = path.map((key) => (typeof key === "object" ? (Object(key) as { key: unknown }).key : key));
    return keys.length === 0 ? message : `${keys.map(String).join(".")}: ${message}`;
  });
  throw Object.assign(new TypeError(`the arguments are wrong: ${issues.join("; ") || shown(args)}`), {
    code: "invalid_argument",
  });
}
