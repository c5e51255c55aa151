/** Public types of custom tools, approvals and the emulated shell. */

import type { Tool } from "../llm/types.js";
import type { InitOptions } from "../wasm/types.js";

/** A tool for the `tools` of an agent. */
export interface AgentTool<Arguments = unknown> extends Tool<Arguments> {
  /**
   * The effect of a call. `reads`: reads and changes nothing; needs no approval by default and may run at the same time as
   * other calls. `writes`: changes something. `runs`: acts outside of the project, e.g. runs a command. Default `writes`.
   */
  effect?: "reads" | "writes" | "runs" | undefined;
  /**
   * The parameters whose values are paths: strings or arrays of strings. Path rules of the `policy` apply to these
   * values. Default `["path"]`.
   */
  pathParameters?: readonly string[] | undefined;
}

/** A tool call that waits for the user's decision. */
export interface ApprovalRequest {
  callId: string;
  toolName: string;
  arguments: unknown;
  /** The tool's preview of the call, e.g. a command or a diff; `null` if it has none. Fields may be added. */
  detail: Readonly<Record<string, unknown>> | null;
}

/**
 * The user's decision. `always` also allows similar calls for the rest of the session: the same command, calls of the same
 * tool on the same files if a rule for some files asked, or any call of the same tool. The model is shown `reason`.
 */
export type ApprovalAnswer =
  | "allow"
  | "always"
  | "deny"
  | { decision: "allow" | "always" | "deny"; reason?: string | undefined };

/** Asks the user about a tool call. */
export type Approve = (request: ApprovalRequest) => ApprovalAnswer | Promise<ApprovalAnswer>;

/** Options of the emulated shell. */
export interface ShellOptions {
  /**
   * Source of the shell's module, `emend/shell.wasm`. Default: the file beside this package's own. The first load
   * decides.
   */
  wasm?: InitOptions["wasm"] | undefined;
}
