/** The hook that starts runs of an agent and shows how they go. */

import { useCallback, useEffect, useRef, useState } from "react";
import type { Agent } from "../agent/agent.js";
import type { AgentEvent, RunResult } from "../agent/types.js";

/** How the last run of {@link useRun} goes. */
export interface RunStatus {
  readonly isRunning: boolean;
  /** The text of the model's present or last message. */
  readonly text: string;
  /** The name of the tool that runs, if one does. */
  readonly tool: string | undefined;
  /** The result of the last run, when it has ended. */
  readonly result: RunResult | undefined;
  /** Why the run could not be started or has broken off. A failure of the provider is the `error` of the result. */
  readonly error: unknown;
}

export interface RunState extends RunStatus {
  /** Starts a run. Resolves when it has ended. Does nothing during another run or without an agent. */
  readonly start: (task: string) => Promise<void>;
  /** Cancels the run. */
  readonly stop: () => void;
}

const IDLE: RunStatus = { isRunning: false, text: "", tool: undefined, result: undefined, error: undefined };

/**
 * Runs tasks of an agent for a component. `onEvent` gets each event; the run waits for it if it returns a promise. A run is
 * cancelled when the component is unmounted or gets another agent.
 */
export function useRun(agent: Agent | undefined, onEvent?: (event: AgentEvent) => void | Promise<void>): RunState {
  const [status, setStatus] = useState(IDLE);
  const controller = useRef<AbortController | undefined>(undefined);
  const listener = useRef(onEvent);
  useEffect(() => {
    listener.current = onEvent;
  }, [onEvent]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another agent ends the run of the last one.
  useEffect(() => {
    setStatus(IDLE);
    return () => {
      controller.current?.abort();
      controller.current = undefined;
    };
  }, [agent]);

  const start = useCallback(
    async (task: string) => {
      if (agent === undefined || controller.current !== undefined) return;
      const own = new AbortController();
      controller.current = own;
      // After another agent or the end of the component, nothing is shown any more.
      const show = (change: (before: RunStatus) => RunStatus): void => {
        if (controller.current === own) setStatus(change);
      };
      setStatus({ ...IDLE, isRunning: true });
      try {
        const run = agent.run(task, { signal: own.signal });
        try {
          for await (const event of run) {
            show((before) => after(before, event));
            await listener.current?.(event);
          }
        } catch (error) {
          // The signal's own error: the result says that the run was cancelled.
          if (!own.signal.aborted) throw error;
        }
        const result = await run.result;
        show((before) => ({ ...before, result }));
      } catch (error) {
        show((before) => ({ ...before, error }));
      }
      show((before) => ({ ...before, isRunning: false, tool: undefined }));
      if (controller.current === own) controller.current = undefined;
    },
    [agent],
  );
  const stop = useCallback(() => controller.current?.abort(), []);
  return { ...status, start, stop };
}

function after(status: RunStatus, { kind, data }: AgentEvent): RunStatus {
  switch (kind) {
    case "ASSISTANT_TEXT_START":
      return { ...status, text: "" };
    case "ASSISTANT_TEXT_DELTA":
      return { ...status, text: status.text + data.delta };
    case "ASSISTANT_TEXT_END":
      return { ...status, text: data.text };
    case "TOOL_CALL_START":
      return { ...status, tool: data.toolName };
    case "TOOL_CALL_END":
      return { ...status, tool: undefined };
    default:
      return status;
  }
}
