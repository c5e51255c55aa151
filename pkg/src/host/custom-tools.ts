/** Tools written in JavaScript, as the agent calls them. */

import { ConfigError } from "./errors.js";
import type { Tool } from "./llm-types.js";

/** A call under way. `cancel` runs nothing of the tool's before it returns. */
interface Call {
  result: Promise<string>;
  cancel(): void;
}

/** The tools of one agent. The latest of a name wins. */
export class Tools {
  #tools = new Map<string, Tool>();

  /** Returns what the core is told of `tools`. */
  static describe(tools: readonly Tool[] | undefined): unknown {
    if (tools === undefined) return undefined;
    if (!Array.isArray(tools)) throw new ConfigError("configuration", "`tools` must be an array");
    return tools.map(({ name, description, parameters, execute }) => {
      if (typeof execute !== "function") {
        throw new ConfigError("configuration", `the tool ${JSON.stringify(name)} has no \`execute\` function`);
      }
      return { name, description, parameters };
    });
  }

  /** Takes the tools that {@link describe} found good. */
  set(tools: readonly Tool[] = []): void {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
  }

  /** Starts a call; the tool's code runs after this has returned, since it may call back in. */
  readonly start = (name: string, args: string, toolCallId: string): Call => {
    const abort = new AbortController();
    const tool = this.#tools.get(name);
    let over = false;
    const run = async (): Promise<string> => {
      await undefined;
      const given: unknown = await tool?.execute?.(JSON.parse(args), { signal: abort.signal, toolCallId });
      return typeof given === "string" ? given : (JSON.stringify(given) ?? "");
    };
    const result = run()
      .catch((thrown: unknown) => {
        throw describe(thrown);
      })
      .finally(() => {
        over = true;
      });
    return {
      result,
      cancel: () => {
        if (!over) queueMicrotask(() => abort.abort());
      },
    };
  };
}

/** What the core is told of something thrown: its JSON text. */
function describe(thrown: unknown): string {
  const { message, code } = Object(thrown) as { message?: unknown; code?: unknown };
  return JSON.stringify({ message: typeof message === "string" ? message : String(thrown), code: typeof code === "string" ? code : undefined });
}
