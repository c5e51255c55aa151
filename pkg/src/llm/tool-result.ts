/** Results of tools as JSON. A value that JSON changes or leaves out is refused, so that the model is not told something else. */

import { EmendError } from "../errors.js";
import { fieldOf } from "../exceptions.js";
import { toJson } from "../texts.js";

/** A value in a result, and its name in the object or the array that has it. */
interface Part {
  value: object;
  name: string;
}

const PLAIN = "return a string, or a value that JSON can represent";
const TEXT = "return a text of them, for example in base64";

/** Objects whose classes JSON knows. */
const KNOWN = ["Object", "Array", "Boolean", "Number", "String", "Date", "Module", "Arguments"];

/**
 * Returns the result of a tool as JSON, or `undefined` if it is undefined. A result that is an `Error` is thrown.
 *
 * @throws {EmendError} with code `unsupported` if JSON cannot represent a part of it. The message has the path of this part.
 */
export function resultJson(tool: string, output: unknown): string | undefined {
  if (isError(output)) throw output;
  // The objects around the present value.
  const above: Part[] = [];
  return toJson(output, function (this: object, name: string, value: unknown) {
    while (above.length > 0 && above.at(-1)?.value !== this) above.pop();
    // The replacer gets what `toJSON` has returned, which for a Buffer is a list of numbers.
    const problem = problemOf(fieldOf(this, name), value, above);
    if (problem === undefined) {
      if (typeof value === "object" && value !== null) above.push({ value, name });
      return value;
    }
    const [kind, advice] = problem;
    const path = pathOf([...above.map((part) => part.name), name].slice(1), output);
    const message = `the tool \`${tool}\` returned ${kind}${path === "" ? "" : ` in \`${path}\``}; ${advice}`;
    throw new EmendError("unsupported", message);
  });
}

/** Returns what a value is and what to return instead, if JSON cannot represent it. A field that is undefined counts as absent. */
function problemOf(
  original: unknown,
  value: unknown,
  above: readonly Part[],
): [kind: string, advice: string] | undefined {
  if (typeof value === "number" && !Number.isFinite(value)) return [String(value), `${PLAIN}; \`null\` is one`];
  if (typeof value === "bigint") return ["a BigInt", "return a number, or a text"];
  if (typeof value === "function" || typeof value === "symbol") return [`a ${typeof value}`, PLAIN];
  if (original instanceof Date && Number.isNaN(original.getTime())) return ["an invalid Date", PLAIN];
  const bytes = [original, value].find((each) => ArrayBuffer.isView(each) || each instanceof ArrayBuffer);
  if (bytes !== undefined) return [withArticle(nameOf(bytes as object)), TEXT];
  if (typeof value !== "object" || value === null) return undefined;
  if (typeof fieldOf(value, "then") === "function") return ["a Promise", "await it first"];
  if (above.some((part) => part.value === value)) return ["a circular reference", PLAIN];
  if (value instanceof Map) return ["a Map", "return `Object.fromEntries(map)`"];
  if (value instanceof Set) return ["a Set", "return `[...set]`"];
  if (isError(value)) return ["an Error", "throw it, or return its message"];
  // Of a Response, a RegExp or a generator, JSON keeps nothing.
  const isLost = !KNOWN.includes(tagOf(value)) && Object.keys(value).length === 0;
  return isLost ? [withArticle(nameOf(value)), PLAIN] : undefined;
}

/** Returns whether a value is an error, perhaps of another realm. */
function isError(value: unknown): value is Error {
  return value instanceof Error || (typeof value === "object" && value !== null && tagOf(value) === "Error");
}

function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

/** Returns the name of an object's class. */
function nameOf(value: object): string {
  const { name } = Object(fieldOf(value, "constructor")) as { name?: unknown };
  return typeof name === "string" && name !== "" && name !== "Object" ? name : tagOf(value);
}

function withArticle(name: string): string {
  return `${/^[AEIO]/.test(name) ? "an" : "a"} ${name}`;
}

/** Writes names as in JavaScript: `rows[0].price`. */
function pathOf(names: readonly string[], output: unknown): string {
  let holder: unknown = output;
  let path = "";
  for (const name of names) {
    if (Array.isArray(holder)) path += `[${name}]`;
    else if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name)) path += `[${JSON.stringify(name)}]`;
    else path += path === "" ? name : `.${name}`;
    holder = fieldOf(holder, name);
  }
  return path;
}
