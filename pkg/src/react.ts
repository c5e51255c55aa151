/** The public names of `emend/react`: hooks for an agent, its review and its runs. */

export { type AgentState, useAgent } from "./react/use-agent.js";
export { useHunks, useReview } from "./react/use-review.js";
export { type RunState, type RunStatus, useRun } from "./react/use-run.js";
