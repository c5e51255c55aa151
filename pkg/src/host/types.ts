/** Public types of approvals and of the emulated shell. */

import type { InitOptions } from "../wasm/types.js";

/** A tool call that waits for the user's decision. */
export interface ApprovalRequest {
  call_id: string;
  tool_name: string;
  arguments: unknown;
  /** The tool's preview of the call, e.g. a command or a diff; `null` if it has none. Fields may be added. */
  detail: Readonly<Record<string, unknown>> | null;
}

/**
 * The user's decision. `always` also allows similar calls for the rest of the session: the same command, or any call of
 * the same tool. The model is shown `reason`.
 */
export type ApprovalAnswer = "allow" | "always" | "deny" | { decision: "allow" | "always" | "deny"; reason?: string };

/** Asks the user about a tool call. */
export type Approve = (request: ApprovalRequest) => ApprovalAnswer | Promise<ApprovalAnswer>;

/** Options of the emulated shell. */
export interface ShellOptions {
  /**
   * Source of the shell's module, `emend/shell.wasm`. Default: the file beside this package's own. The first load
   * decides.
   */
  wasm?: InitOptions["wasm"];
}
