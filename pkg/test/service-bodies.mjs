// Writes `pkg/src/service/bodies.ts`: the types of all bodies and the table of operations, from docs/openapi.json.

const HEADER = `/**
 * The bodies of all requests and replies, and the table of operations. Over 600 lines: one document describes them.
 *
 * Generated from docs/openapi.json by \`UPDATE_EXPECT=1 node --test pkg/test/service-bodies.test.mjs\`; do not edit this
 * file by hand.
 */
`;

const nameOf = (reference) => reference.split("/").at(-1);

/** Returns the TypeScript type of a schema. */
function typeOf(schema) {
  if (schema === undefined || schema === false) return "never";
  if (schema.$ref !== undefined) return nameOf(schema.$ref) === "Timestamp" ? "string" : nameOf(schema.$ref);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.allOf !== undefined) return schema.allOf.map(typeOf).join(" & ");
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined) {
    // \`null\` last, as it is written by hand.
    const types = choices.map(typeOf).sort((a, b) => (a === "null") - (b === "null"));
    return [...new Set(types)].join(" | ");
  }
  const kinds = [schema.type ?? "unknown"].flat();
  return kinds.map((kind) => typeOfKind(kind, schema)).join(" | ");
}

function typeOfKind(kind, schema) {
  switch (kind) {
    case "integer":
    case "number":
      return "number";
    case "array": {
      if (schema.prefixItems !== undefined) return `[${schema.prefixItems.map(typeOf).join(", ")}]`;
      const item = typeOf(schema.items ?? {});
      return / [|&] /.test(item) ? `(${item})[]` : `${item}[]`;
    }
    case "object":
      if (schema.properties !== undefined) return `{\n${fields(schema)}}`;
      return `Record<string, ${schema.additionalProperties ? typeOf(schema.additionalProperties) : "unknown"}>`;
    case "string":
    case "boolean":
    case "null":
      return kind;
    default:
      return "unknown";
  }
}

const comment = (text, indent) => (text === undefined ? "" : `${indent}/** ${text.replaceAll("\n", " ")} */\n`);

function fields({ properties, required = [] }) {
  return Object.entries(properties)
    .map(([name, schema]) => {
      const type = typeOf(schema);
      // A field that may be absent may also be given as undefined.
      const optional = required.includes(name) ? [":", ""] : ["?:", " | undefined"];
      return `${comment(schema.description, "  ")}  ${name}${optional[0]} ${type}${optional[1]};\n`;
    })
    .join("");
}

function declaration(name, schema) {
  const about = comment(schema.description, "");
  if (schema.type === "object" && schema.properties !== undefined) {
    return `${about}export interface ${name} {\n${fields(schema)}}\n`;
  }
  return `${about}export type ${name} = ${typeOf(schema)};\n`;
}

/** Returns the method, the path and the operation of each operation. */
function operationsOf(document) {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

function inputOf({ parameters = [], requestBody }, schemas) {
  const found = parameters.map(
    ({ name, required, schema }) => `${name}${required ? "" : "?"}: ${typeOf(schema)}${required ? "" : " | undefined"}`,
  );
  if (requestBody !== undefined) {
    const body = nameOf(requestBody.content["application/json"].schema.$ref);
    const isOptional = (schemas[body].required ?? []).length === 0;
    found.push(`body${isOptional ? "?" : ""}: ${body}${isOptional ? " | undefined" : ""}`);
  }
  return found.length === 0 ? "NoInput" : `{ ${found.join("; ")} }`;
}

/** Returns the text of `bodies.ts`. */
export function bodies(document) {
  const { schemas } = document.components;
  const operations = operationsOf(document);
  const replyOf = ({ responses }) => {
    const [status] = Object.keys(responses).filter((code) => code.startsWith("2"));
    return responses[status].content;
  };
  const calls = operations.filter(({ operation }) => replyOf(operation)["application/json"] !== undefined);
  const types = Object.entries(schemas)
    .filter(([name]) => name !== "Timestamp")
    .map(([name, schema]) => declaration(name, schema));
  const inputs = calls.map(({ operation }) => {
    const reply = typeOf(replyOf(operation)["application/json"].schema);
    const { operationId, summary } = operation;
    return `${comment(summary, "  ")}  ${operationId}: { input: ${inputOf(operation, schemas)}; reply: ${reply} };\n`;
  });
  const table = calls.map(({ method, path, operation }) => `  ${operation.operationId}: "${method} ${path}",\n`);
  return `${HEADER}
${types.join("\n")}
/** The input of an operation that takes none. */
export type NoInput = Record<never, never>;

/** The input and the reply of each operation without stream. Parameters of the path and the query are fields. */
export interface Operations {
${inputs.join("")}}

/** Method and path of each operation without stream. */
export const OPERATIONS: Readonly<Record<keyof Operations, string>> = {
${table.join("")}};
`;
}
