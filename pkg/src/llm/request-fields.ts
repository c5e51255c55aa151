/**
 * Checks the fields of requests and of options of `emend/llm`: unknown names and wrong types.
 *
 * The module ignores unknown fields of a request, and its messages about wrong types name no field.
 */

import { EmendError } from "../errors.js";
import { shown } from "../validate.js";

/** Returns what is wrong with the value at a path, or `undefined` if nothing is. */
type Check = (value: unknown, path: string) => string | undefined;

/** The fields of an object. */
type Fields = Readonly<Record<string, Check>>;

const isText = (value: unknown): value is string => typeof value === "string";
const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const is =
  (what: string, holds: (value: unknown) => boolean): Check =>
  (value, path) =>
    holds(value) ? undefined : `\`${path}\` must be ${what}, and is ${shown(value)}`;

const any: Check = () => undefined;
const text = is("a string", isText);
const texts = is("an array of strings", (value) => Array.isArray(value) && value.every(isText));
const number = is("a number", (value) => typeof value === "number" && Number.isFinite(value));
const count = is(
  "a whole number, 0 or more",
  (value) => value === Infinity || (Number.isSafeInteger(value) && Number(value) >= 0),
);
const flag = is("true or false", (value) => typeof value === "boolean");
const record = is("an object", isPlain);
const textRecord = is("an object of strings", (value) => isPlain(value) && Object.values(value).every(isText));
const oneOf = (...names: string[]): Check =>
  is(`one of ${names.map((name) => JSON.stringify(name)).join(", ")}`, (value) => names.includes(value as string));

/** An object with these fields only. `example` shows what it looks like. */
const object =
  (fields: Fields, example: string): Check =>
  (value, path) =>
    is(`an object, such as \`${example}\``, isPlain)(value, path) ?? fieldsProblem(value as object, fields, path);

/** An array of objects with these fields and others. */
const list =
  (example: string, fields: Fields): Check =>
  (value, path) => {
    if (!Array.isArray(value)) return is(`an array, such as \`[${example}]\``, Array.isArray)(value, path);
    for (const [index, item] of value.entries()) {
      const at = `${path}[${index}]`;
      const problem = is(`an object, such as \`${example}\``, isPlain)(item, at);
      if (problem !== undefined) return problem;
      for (const [name, check] of Object.entries(fields)) {
        const inItem = check((item as Record<string, unknown>)[name], `${at}.${name}`);
        if (inItem !== undefined) return inItem;
      }
    }
    return undefined;
  };

const content = list('{ kind: "text", text: "…" }', {
  kind: oneOf(
    "text",
    "image",
    "audio",
    "document",
    "tool_call",
    "tool_result",
    "thinking",
    "redacted_thinking",
    "provider",
  ),
});
const messages = list('{ role: "user", content: [{ kind: "text", text: "…" }] }', {
  role: oneOf("system", "user", "assistant", "tool", "developer"),
  content,
});
const tools = list('{ name: "…", description: "…", parameters: { type: "object" } }', {
  name: text,
  description: text,
  // A type of ArkType is a function.
  parameters: is("a JSON Schema", (value) => isPlain(value) || typeof value === "function"),
  execute: is("a function", (value) => value === undefined || typeof value === "function"),
});

const REQUEST: Fields = {
  model: text,
  messages,
  provider: text,
  tools,
  toolChoice: object({ mode: oneOf("auto", "none", "required", "named"), toolName: text }, '{ mode: "auto" }'),
  responseFormat: object(
    { type: oneOf("text", "json", "json_schema"), jsonSchema: record, strict: flag },
    '{ type: "json" }',
  ),
  temperature: number,
  topP: number,
  maxTokens: count,
  stopSequences: texts,
  reasoningEffort: text,
  metadata: textRecord,
  providerOptions: record,
};

const RETRY: Fields = {
  maxRetries: count,
  baseDelayMs: count,
  maxDelayMs: count,
  backoffMultiplier: number,
  jitter: flag,
};

const GENERATION: Fields = {
  ...REQUEST,
  prompt: text,
  system: text,
  maxToolRounds: count,
  retry: (value, path) => (value === false ? undefined : object(RETRY, "{ maxRetries: 2 }")(value, path)),
  timeout: object({ totalMs: count, perStepMs: count }, "{ totalMs: 60_000 }"),
  signal: any,
};

const CLIENT: Fields = {
  providers: any,
  env: any,
  fetch: any,
  defaultProvider: text,
  fallback: object({ provider: text, model: text, attempts: count, afterMs: count }, '{ provider: "…", model: "…" }'),
};

const HTTP_PROVIDER: Fields = {
  api: any,
  name: text,
  apiKey: any,
  baseUrl: any,
  headers: any,
  betas: texts,
  constrainedTools: flag,
};

const CUSTOM_PROVIDER: Fields = { name: any, stream: any, idleTimeoutMs: count, constrainedTools: flag };

/** The fields of a tool: those of a tool of an agent, because `tool()` makes tools for both. */
const TOOL: Fields = {
  name: any,
  description: any,
  parameters: any,
  execute: any,
  effect: any,
  pathParameters: any,
};

/** Replacements of fields that other packages have. */
const INSTEAD = new Map(
  Object.entries({
    system: 'use a message with the role "system"',
    prompt: "use `messages`, or call `generate`",
    stream: "call `stream`, or `complete` for the whole response",
  }),
);

/** @throws {EmendError} with code `invalid_argument` if a request has a wrong or an unknown field. */
export function checkRequest(request: object): void {
  refuse("invalid_argument", "the request is wrong", fieldsProblem(request, REQUEST));
}

/** As {@link checkRequest}, for the options of a generation. */
export function checkGeneration(options: object): void {
  const { prompt, messages } = options as { prompt?: unknown; messages?: unknown };
  const isGiven = (value: unknown): boolean => value !== undefined && value !== null;
  let problem = fieldsProblem(options, GENERATION);
  if (isGiven(prompt) && isGiven(messages)) problem ??= "give either `prompt` or `messages`, not both";
  if (!isGiven(prompt) && !isGiven(messages)) problem ??= "give `prompt` or `messages`";
  refuse("invalid_argument", "the options are wrong", problem);
  for (const tool of (options as { tools?: readonly object[] }).tools ?? []) {
    if (!isLiteral(tool)) continue;
    const what = `the tool ${shown((tool as { name: unknown }).name)} is wrong`;
    refuse("invalid_argument", what, fieldsProblem(tool, TOOL));
  }
}

/** Returns what is wrong with the options of a client, apart from what is checked elsewhere. */
export function clientProblem(options: object): string | undefined {
  return fieldsProblem(options, CLIENT);
}

/**
 * Returns what is wrong with a provider of a client. One that is written in JavaScript can have fields of its own, but none
 * that looks like a misspelled option.
 */
export function providerProblem(provider: object): string | undefined {
  if (!("stream" in provider)) return fieldsProblem(provider, HTTP_PROVIDER);
  const known = Object.keys(CUSTOM_PROVIDER);
  const own = Object.keys(provider).filter((name) => !known.includes(name));
  const misspelled = own.find((name) => nearestName(name, ["idleTimeoutMs", "constrainedTools"]) !== undefined);
  if (misspelled !== undefined) return unknownField(misspelled, known, undefined);
  const fields = Object.entries(provider).filter(([name]) => known.includes(name));
  return fieldsProblem(Object.fromEntries(fields), CUSTOM_PROVIDER);
}

function refuse(code: string, what: string, problem: string | undefined): void {
  if (problem !== undefined) throw new EmendError(code, `${what}: ${problem}`);
}

function isLiteral(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** `path` is that of the object; `undefined` for the outermost one. */
function fieldsProblem(given: object, fields: Fields, path?: string): string | undefined {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const check = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (check === undefined) return unknownField(name, Object.keys(fields), path);
    // The module takes null for an absent value, where a value may be absent.
    const problem = value === null ? undefined : check(value, path === undefined ? name : `${path}.${name}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function unknownField(name: string, known: readonly string[], path: string | undefined): string {
  const found = `unknown field \`${name}\`${path === undefined ? "" : ` in \`${path}\``}`;
  const instead = (path === undefined ? INSTEAD.get(name) : undefined) ?? nearestName(name, known);
  return instead === undefined ? `${found}, expected one of ${known.join(", ")}` : `${found}; ${instead}`;
}

/** Suggests the known name that differs from a name by case, underscores, or few letters. */
function nearestName(name: string, known: readonly string[]): string | undefined {
  const plain = (each: string): string => each.replace(/[_-]/g, "").toLowerCase();
  const [nearest] = known
    .map((each) => ({ each, distance: distanceOf(plain(name), plain(each)) }))
    .filter(({ each, distance }) => distance <= Math.ceil(each.length / 4))
    .sort((one, other) => one.distance - other.distance);
  return nearest && `did you mean \`${nearest.each}\`?`;
}

/** Returns the number of letters to insert, to remove or to replace. */
function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1];
    for (const [index, wanted] of [...other].entries()) {
      const replaced = (row[index] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(replaced, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
