/** The hooks that show an agent's review. They render again when it changes, and only then. */

import { useMemo, useSyncExternalStore } from "react";
import type { Agent } from "../agent/agent.js";
import type { Hunk, Review } from "../agent/types.js";

const EMPTY: Review = { revision: 0, files: [] };

/** Returns the pending hunks of all files. They are empty before there is an agent and after it was closed. */
export function useReview(agent: Agent | undefined): Review {
  const store = useMemo(() => storeOf(agent), [agent]);
  return useSyncExternalStore(store.subscribe, store.snapshot, () => EMPTY);
}

/** Returns the pending hunks of one file, in file order. */
export function useHunks(agent: Agent | undefined, path: string): readonly Hunk[] {
  const review = useReview(agent);
  return useMemo(() => review.files.find((file) => file.path === path)?.hunks ?? [], [review, path]);
}

interface Store {
  readonly subscribe: (changed: () => void) => () => void;
  readonly snapshot: () => Review;
}

/** The review as an external store: the same object until something changes. */
function storeOf(agent: Agent | undefined): Store {
  if (agent === undefined) return { subscribe: () => () => {}, snapshot: () => EMPTY };
  let current: Review | undefined;
  const read = (): Review => {
    try {
      return agent.review();
    } catch {
      // The agent was closed.
      return EMPTY;
    }
  };
  return {
    subscribe(changed) {
      // Changes since the first rendering were not told.
      current = undefined;
      try {
        return agent.subscribe((change) => {
          if (change.kind === "run") return;
          current = undefined;
          changed();
        });
      } catch {
        return () => {};
      }
    },
    snapshot() {
      current ??= read();
      return current;
    },
  };
}
