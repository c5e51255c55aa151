/** The hook that creates an agent for a component. */

import { type DependencyList, useEffect, useState } from "react";
import type { Agent } from "../agent/agent.js";

/** The agent of a component: it is created after the first render. */
export interface AgentState {
  /** Undefined until it has been created. */
  readonly agent: Agent | undefined;
  /** Why it could not be created. */
  readonly error: unknown;
}

const NONE: AgentState = { agent: undefined, error: undefined };

/**
 * Creates an agent when the component is mounted, e.g. with `() => Agent.create({ files })`, and closes it when the
 * component is unmounted. A change of `dependencies` closes it and creates another one. An agent that is only ready after
 * that is closed at once, so that strict mode, which mounts twice, leaves one.
 */
export function useAgent(create: () => Promise<Agent>, dependencies: DependencyList = []): AgentState {
  const [state, setState] = useState(NONE);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `create` is new at each render; the caller lists the rest.
  useEffect(() => {
    let isMounted = true;
    let agent: Agent | undefined;
    const made = async (): Promise<Agent> => create();
    made().then(
      (ready) => {
        if (!isMounted) return ready.close();
        agent = ready;
        setState({ agent, error: undefined });
      },
      (error: unknown) => {
        if (isMounted) setState({ agent: undefined, error });
      },
    );
    return () => {
      isMounted = false;
      setState(NONE);
      agent?.close();
    };
  }, [...dependencies]);
  return state;
}
