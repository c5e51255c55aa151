/** Asking before a call runs: what the host's function gets, and what the module is told of its answer. */

import { ConfigError } from "./errors.js";
import type { Approve, ApprovalAnswer, ApprovalRequest } from "./types.js";

/** Makes the function that the module calls: it takes a request's JSON text and promises the answer's. */
export function asker(approve: unknown): ((request: string) => Promise<string>) | undefined {
  if (approve === undefined) return undefined;
  if (typeof approve !== "function") throw new ConfigError("configuration", "`approve` must be a function");
  return async (request) => {
    // After the module has returned: the function is the caller's, and may call back in.
    await undefined;
    try {
      return read(await (approve as Approve)(JSON.parse(request) as ApprovalRequest));
    } catch (thrown) {
      return refused(`asking failed: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    }
  };
}

/** What is no answer allows nothing. */
function read(answer: ApprovalAnswer): string {
  const { decision, reason } = typeof answer === "string" ? { decision: answer, reason: undefined } : (Object(answer) as Exclude<ApprovalAnswer, string>);
  if (decision === "allow" || decision === "always") return JSON.stringify({ decision });
  if (decision !== "deny") return refused(`asking gave no answer: ${JSON.stringify(answer)}`);
  return JSON.stringify({ decision, reason: typeof reason === "string" && reason !== "" ? reason : undefined });
}

function refused(reason: string): string {
  return JSON.stringify({ decision: "deny", reason });
}
