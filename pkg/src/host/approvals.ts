/** Connects the host's `approve` function to the core. */

import { toCamel } from "../case.js";
import { ConfigError } from "../errors.js";
import { messageOf } from "../exceptions.js";
import { APPROVAL_REQUEST } from "../names.js";
import { toJson } from "../texts.js";
import type { ApprovalAnswer, ApprovalRequest, Approve } from "./types.js";

/** Returns the function that the core calls. It takes a request as JSON and resolves to the answer as JSON. */
export function approvalCallback(approve: unknown): ((request: string) => Promise<string>) | undefined {
  if (approve === undefined) return undefined;
  if (typeof approve !== "function") throw new ConfigError("configuration", "`approve` must be a function");
  return async (request) => {
    // Runs after the core has returned: the caller's function may call the agent.
    await undefined;
    try {
      return answerJson(await (approve as Approve)(toCamel<ApprovalRequest>(JSON.parse(request), APPROVAL_REQUEST)));
    } catch (thrown) {
      return deny(`asking failed: ${messageOf(thrown)}`);
    }
  };
}

/** Encodes an answer as JSON. Every value that is not an answer denies the call. */
function answerJson(answer: ApprovalAnswer): string {
  const { decision, reason } =
    typeof answer === "string"
      ? { decision: answer, reason: undefined }
      : (Object(answer) as Exclude<ApprovalAnswer, string>);
  if (decision === "allow" || decision === "always") return JSON.stringify({ decision });
  if (decision !== "deny") return deny(`asking gave no valid answer: ${JSON.stringify(answer)}`);
  return toJson({ decision, reason: typeof reason === "string" && reason !== "" ? reason : undefined }) as string;
}

function deny(reason: string): string {
  return toJson({ decision: "deny", reason }) as string;
}
