/** Runs tools written in JavaScript for the core. */

import { ConfigError, EmendError } from "../errors.js";
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
        throw await asSent(thrown);
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
      .catch(async (thrown: unknown) => {
        throw await exceptionJson(thrown);
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
async function asSent(thrown: unknown): Promise<Error> {
  const error = Object.assign(new Error(messageOf(thrown)), { code: await codeOf(thrown) });
  // The name of an error is the message of one without.
  return Object.defineProperty(error, "name", { value: "" });
}

/** Returns a tool's result as text: a string as it is, other values as JSON. */
async function resultText(tool: string, output: unknown): Promise<string> {
  if (typeof output === "string") return output;
  const { resultJson } = await import("../llm/tool-result.js");
  const json = resultJson(tool, output);
  if (json !== undefined) return json;
  throw new EmendError("unsupported", `the tool \`${tool}\` returned undefined; return a string, or \`null\``);
}

/** Encodes an exception as JSON for the core. */
async function exceptionJson(thrown: unknown): Promise<string> {
  return toJson({ message: messageOf(thrown), code: await codeOf(thrown) }) as string;
}

/** Returns the code of an exception. Codes of Node and names of DOM exceptions are those of this package. */
async function codeOf(thrown: unknown): Promise<string | undefined> {
  const code = textOf(thrown, "code");
  const isForeign = code === undefined || /^E[A-Z]+$/.test(code);
  if (!isForeign) return code;
  const found = (await import("./environment-errors.js")).codeOf(thrown, "read").code;
  if (found !== "io_error") return found;
  return { AbortError: "aborted", TimeoutError: "timeout" }[textOf(thrown, "name") ?? ""];
}
