/** Reads events of the core. */

import { toCamel } from "../case.js";
import { EVENT, EVENT_DATA } from "../names.js";
import type { AgentEvent } from "./events.js";

/** Returns an event from its JSON text, with the names of this package. */
export function readEvent(text: string): AgentEvent {
  const event = toCamel<AgentEvent>(JSON.parse(text), EVENT);
  return { ...event, data: dataOf(event) } as AgentEvent;
}

/** Returns the data of an event with the names of this package. The core may have kinds that this package does not know. */
function dataOf({ kind, data }: { kind: string; data: unknown }): unknown {
  const renamed = toCamel<{ event: { kind: string; data: unknown } }>(data, EVENT_DATA[kind] ?? {});
  if (kind !== "SUBAGENT_EVENT") return renamed;
  return { ...renamed, event: { ...renamed.event, data: dataOf(renamed.event) } };
}
