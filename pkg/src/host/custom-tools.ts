/** Runs tools written in JavaScript for the core. */

import { ConfigError } from "../errors.js";
import { messageOf, textOf } from "../exceptions.js";
import { type CheckArguments, parametersOf } from "../llm/standard-schema.js";
import type { ToolContext } from "../llm/types.js";
import { toJson } from "../texts.js";
import { requireOptions, shown } from "../validate.js";
import type { AgentTool } from "./types.js";

/** A running tool call. `cancel` does not run the tool's code before it returns. */
interface RunningCall {
  result: Promise<string>;
  cancel(): void;
}

/** The fields of a tool: those of {@link AgentTool}. */
const FIELDS = ["name", "description", "parameters", "effect", "pathParameters", "execute"];

/**
 * Refuses a field that tools do not have: with a misspelled `pathParameters`, the rules for paths would not apply. An instance
 * of a class can have fields of its own.
 */
function rejectUnknownFields(tool: AgentTool): void {
  const prototype: unknown = Object.getPrototypeOf(tool);
  if (prototype !== Object.prototype && prototype !== null) return;
  const unknown = Object.keys(tool).find((field) => !FIELDS.includes(field));
  if (unknown === undefined) return;
  const message = `the tool ${shown(tool.name)} has the unknown field ${JSON.stringify(unknown)}, expected one of ${FIELDS.join(", ")}`;
  throw new ConfigError("configuration", message);
}

/** The custom tools of one agent. Their names are unique. */
export class CustomTools {
  #tools = new Map<string, { tool: AgentTool; check: CheckArguments | undefined }>();

  /** Returns the definitions of `tools` without their functions, for the core. */
  static describe(tools: readonly AgentTool[] | undefined): unknown {
    if (tools === undefined) return undefined;
    if (!Array.isArray(tools)) throw new ConfigError("configuration", "`tools` must be an array");
    const names = new Set<unknown>();
    return tools.map((tool: AgentTool) => {
      const { name, description, parameters, effect, pathParameters, execute } = requireOptions("each tool", tool);
      rejectUnknownFields(tool);
      if (typeof execute !== "function") {
        throw new ConfigError("configuration", `the tool ${shown(name)} has no \`execute\` function`);
      }
      if (names.has(name)) {
        throw new ConfigError("configuration", `two of your tools have the name ${JSON.stringify(name)}; rename one`);
      }
      names.add(name);
      const { json } = parametersOf(`the parameters of the tool ${shown(name)}`, parameters);
      return { name, description, parameters: json, effect, pathParameters };
    });
  }

  /** Replaces the tools. Check them with {@link describe} first. */
  set(tools: readonly AgentTool[] = []): void {
    this.#tools = new Map(
      tools.map((tool) => [tool.name, { tool, check: parametersOf("the parameters", tool.parameters).check }]),
    );
  }

  async #execute(name: string, args: unknown, context: ToolContext): Promise<string> {
    const { tool, check } = this.#tools.get(name) ?? {};
    const given = check === undefined ? args : await check(args);
    return resultText(name, await tool?.execute?.(given, context));
  }

  /** Returns a function that makes the call for another thread: it returns a text, and throws plain errors. */
  executeOf(name: string): (args: unknown, context: ToolContext) => Promise<string> {
    return async (args, context) => {
      try {
        return await this.#execute(name, args, context);
      } catch (thrown) {
        throw asSent(thrown);
      }
    };
  }

  /** Starts a call. The tool's code runs after this method has returned, because it may call the agent. */
  readonly start = (name: string, args: string, toolCallId: string): RunningCall => {
    const abort = new AbortController();
    let ended = false;
    const run = async (): Promise<string> => {
      await undefined;
      return this.#execute(name, JSON.parse(args), { signal: abort.signal, toolCallId });
    };
    const result = run()
      .catch((thrown: unknown) => {
        throw exceptionJson(thrown);
      })
      .finally(() => {
        ended = true;
      });
    return {
      result,
      cancel: () => {
        if (!ended) queueMicrotask(() => abort.abort());
      },
    };
  };
}

/** Returns an error with all that the core gets of an exception, for another thread. */
function asSent(thrown: unknown): Error {
  const error = Object.assign(new Error(messageOf(thrown)), { code: textOf(thrown, "code") });
  // The name of an error is the message of one without.
  return Object.defineProperty(error, "name", { value: "" });
}

/** Returns a tool's result as text: a string as it is, other values as JSON. */
function resultText(tool: string, output: unknown): string {
  if (typeof output === "string") return output;
  let wrong: string | undefined;
  const json = toJson(output, (name, value) => {
    // `JSON.stringify` encodes these without their content, or leaves them out.
    // A field that is undefined counts as absent.
    const kind = value === undefined && name !== "" ? undefined : kindWithoutJson(value);
    if (kind !== undefined) wrong ??= name === "" ? kind : `${kind} in \`${name}\``;
    return value;
  });
  if (wrong === undefined && json !== undefined) return json;
  throw new TypeError(
    `the tool \`${tool}\` returned ${wrong ?? "undefined"}; return a string, or a value that JSON can represent`,
  );
}

/** Returns what a value is, if JSON cannot represent it. */
function kindWithoutJson(value: unknown): string | undefined {
  if (value === undefined) return "undefined";
  if (typeof value === "function") return "a function";
  if (typeof value === "symbol") return "a symbol";
  if (typeof value !== "object" || value === null) return undefined;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
    return `a ${Object.prototype.toString.call(value).slice(8, -1)}`;
  const kinds = { Map, Set, WeakMap, WeakSet, Promise, RegExp };
  const found = Object.entries(kinds).find(([, kind]) => value instanceof kind);
  return found && `a ${found[0]}`;
}

/** Encodes an exception as JSON for the core. */
function exceptionJson(thrown: unknown): string {
  return toJson({ message: messageOf(thrown), code: textOf(thrown, "code") }) as string;
}
