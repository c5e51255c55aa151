// Writes `pkg/src/agent/events.ts`, `pkg/src/names.ts` and `pkg/src/model-names.ts` from docs/agent-types.json, the schemas of the core's types.

const BY_HAND = `Generated from docs/agent-types.json by \`UPDATE_EXPECT=1 node --test pkg/test/agent-types.test.mjs\`; do not edit this
 * file by hand.`;

/** Types that are declared by hand, and their modules. */
const DECLARED = { Usage: "../sessions/types.js", ApprovalRequest: "../host/types.js" };

/** The data of errors, which the core builds without a type. */
const ERROR_DATA = {
  properties: {
    latest_file_state: { properties: { file_path: {} } },
    revision_id: {},
    // Of a command that was ended.
    exit_code: {},
    timed_out: {},
    duration_ms: {},
    bytes_dropped: {},
    left_out: {},
    at_once: {},
    not_undoable: {},
  },
};

const nameOf = (reference) => reference.split("/").at(-1);

/** Returns a name in camelCase. */
export const camel = (name) => name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());

/** Returns a comment in which the fields of the core have the names of the package. */
function comment(text, indent) {
  const renamed = text?.replace(/`[a-z]+(_[a-z]+)+`/g, camel).replaceAll("\n", " ");
  return renamed === undefined ? "" : `${indent}/** ${renamed} */\n`;
}

/** Returns the type of a field. A field that may be absent is never null. */
function typeOf(schema, isRequired) {
  if (schema.$ref !== undefined) {
    return nameOf(schema.$ref) === "EventKind"
      ? "{ [K in EventKind]: { kind: K; data: EventData[K] } }[EventKind]"
      : nameOf(schema.$ref);
  }
  const absent = (kind) => kind === "null" && !isRequired;
  if (schema.oneOf !== undefined) {
    return schema.oneOf
      .filter(({ type }) => !absent(type))
      .map((choice) => typeOf(choice, true))
      .join(" | ");
  }
  const kinds = [schema.type ?? "unknown"].flat().filter((kind) => !absent(kind));
  return kinds
    .map((kind) => {
      if (kind === "array") return `${typeOf(schema.items, true)}[]`;
      return kind === "integer" ? "number" : kind;
    })
    .join(" | ");
}

function fields({ properties = {}, required = [] }, indent) {
  return Object.entries(properties)
    .map(([name, schema]) => {
      const isRequired = required.includes(name);
      const about = schema.description ?? schema.oneOf?.find(({ description }) => description)?.description;
      return `${comment(about, indent)}${indent}${camel(name)}${isRequired ? "" : "?"}: ${typeOf(schema, isRequired)};\n`;
    })
    .join("");
}

/** Returns the kinds of events with their data. */
export function kindsOf({ EventKind }) {
  return EventKind.oneOf.map(({ description, properties }) => ({
    kind: properties.kind.enum[0],
    description,
    data: properties.data,
  }));
}

function dataType(data) {
  if (data.$ref !== undefined) return nameOf(data.$ref);
  if (Object.keys(data.properties ?? {}).length === 0) return "Record<string, never>";
  return `{\n${fields(data, "    ")}  }`;
}

function references(value, found = new Set()) {
  if (typeof value !== "object" || value === null) return found;
  if (typeof value.$ref === "string") found.add(nameOf(value.$ref));
  for (const item of Object.values(value)) references(item, found);
  return found;
}

/** Returns the text of `events.ts`. */
export function events(schemas) {
  const used = [...references(schemas.EventKind)].filter((name) => name !== "EventKind").sort();
  const imports = Object.entries(DECLARED)
    .filter(([name]) => used.includes(name))
    .sort(([, a], [, b]) => (a < b ? -1 : 1))
    .map(([name, module]) => `import type { ${name} } from "${module}";\n`);
  const types = used
    .filter((name) => !(name in DECLARED))
    .map((name) => {
      const { description, enum: values } = schemas[name];
      const about = comment(description, "");
      if (values === undefined) return `${about}export interface ${name} {\n${fields(schemas[name], "  ")}}\n`;
      return `${about}export type ${name} = ${values.map((value) => JSON.stringify(value)).join(" | ")};\n`;
    });
  const rows = kindsOf(schemas).map(
    ({ kind, description, data }) => `${comment(description, "  ")}  ${kind}: ${dataType(data)};\n`,
  );
  const own = schemas.Event.allOf.find(({ properties }) => properties !== undefined);
  return `/**
 * Public types of events: their kinds and data.
 *
 * ${BY_HAND}
 */

${imports.join("")}
${types.join("\n")}
/** The \`data\` of each kind of event. */
export interface EventData {
${rows.join("")}}

/** Name of a kind of event. */
export type EventKind = keyof EventData;

/** One event of kind \`K\`. */
export interface EventOf<K extends EventKind> {
${fields(own, "  ")}  kind: K;
  data: EventData[K];
}

/** One event. \`kind\` determines the shape of \`data\`. Kinds may be added: ignore kinds that you do not know. */
export type AgentEvent = { [K in EventKind]: EventOf<K> }[EventKind];
`;
}

/** Tables that only other tables use. */
const INNER = ["ERROR_INFO", "MEDIA", "TOOL_CALL", "CONTENT_PART", "RESPONSE"];

/** The tables by the name of their schema. A table that another one contains comes first. */
const TABLES = {
  Usage: "USAGE",
  ErrorInfo: "ERROR_INFO",
  MediaData: "MEDIA",
  ToolCall: "TOOL_CALL",
  ToolResult: "TOOL_RESULT",
  ContentPart: "CONTENT_PART",
  Message: "MESSAGE",
  HistoryEntry: "TURN",
  Compaction: "COMPACTION",
  Request: "REQUEST",
  Response: "RESPONSE",
  StreamEvent: "STREAM_EVENT",
  ApprovalRequest: "APPROVAL_REQUEST",
};

/** Returns the names in a schema that change, or `undefined` if there are none. Values without a schema are the user's. */
export function namesOf(schema, schemas) {
  if (schema.$ref !== undefined) {
    const name = nameOf(schema.$ref);
    // Its data depends on its kind.
    return name === "EventKind" ? undefined : namesOf(schemas[name], schemas);
  }
  if (schema.items !== undefined) return namesOf(schema.items, schemas);
  const parts = schema.oneOf ?? schema.allOf;
  if (parts !== undefined) return merged(parts, schemas);
  const names = {};
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const inner = namesOf(field, schemas);
    if (inner !== undefined) names[name] = inner;
    else if (name.includes("_")) names[name] = 0;
  }
  return Object.keys(names).length === 0 ? undefined : names;
}

/** Returns the names of all parts. A field whose names change in one part has no value of the user in another. */
function merged(parts, schemas) {
  const names = {};
  for (const part of parts) Object.assign(names, namesOf(part, schemas));
  for (const [name, inner] of Object.entries(names)) {
    for (const part of inner === 0 ? [] : parts) {
      const field = part.properties?.[name] ?? schemas[nameOf(part.$ref ?? "")]?.properties?.[name];
      if (field === undefined) continue;
      const found = JSON.stringify(namesOf(field, schemas));
      if (found !== JSON.stringify(inner)) throw new Error(`\`${name}\` has other names in another part: ${found}`);
    }
  }
  return Object.keys(names).length === 0 ? undefined : names;
}

/** Returns a table as text. Tables that have a name of their own are named. */
function tableText(names, named, own) {
  const json = JSON.stringify(names);
  const known = own === undefined ? named.find(([, other]) => JSON.stringify(other) === json) : undefined;
  if (known !== undefined) return known[0];
  const rows = Object.entries(names).map(([name, inner]) => `${name}: ${inner === 0 ? 0 : tableText(inner, named)}`);
  return `{ ${rows.join(", ")} }`;
}

/** Returns the text of `model-names.ts`: names that only `emend/llm` needs, which loads them with its own modules. */
export function modelNames(schemas) {
  return `/**
 * The names of the fields of a model's catalogue entry.
 *
 * ${BY_HAND}
 */

import type { Names } from "./case.js";

export const MODEL_INFO: Names = ${tableText(namesOf(schemas.ModelInfo, schemas), [])};
`;
}

/** Returns the text of `names.ts`. */
export function names(document) {
  const { data: _, ...fields } = document.ErrorInfo.properties;
  const schemas = { ...document, ErrorInfo: { properties: { ...fields, data: ERROR_DATA } } };
  const named = [];
  const tables = Object.entries(TABLES).map(([schema, name]) => {
    const found = namesOf({ $ref: schema }, schemas);
    const text = tableText(found, named, name);
    named.push([name, found]);
    return `${INNER.includes(name) ? "" : "export "}const ${name}: Names = ${text};\n`;
  });
  const own = schemas.Event.allOf.find(({ properties }) => properties !== undefined);
  const rows = kindsOf(schemas)
    .map(({ kind, data }) => [kind, namesOf(data, schemas)])
    .filter(([, found]) => found !== undefined)
    .map(([kind, found]) => `  ${kind}: ${tableText(found, named)},\n`);
  return `/**
 * The names of the core's fields that JavaScript gets and gives in camelCase. Names inside of values that belong to the
 * user, such as the arguments and results of tools, are in no table.
 *
 * ${BY_HAND}
 */

import type { Names } from "./case.js";

${tables.join("")}
/** Of an event, except for its data. */
export const EVENT: Names = ${tableText(namesOf(own, schemas), named)};

/** Of the data of events, by kind. */
export const EVENT_DATA: Readonly<Record<string, Names>> = {
${rows.join("")}};
`;
}
