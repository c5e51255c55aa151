/** Keeps the events of all runs for the timeline, without the pieces of texts, which their ends repeat. */
import { signal } from "@preact/signals";
import type { AgentEvent } from "../engine.js";
import { download } from "../folder.js";
import { project } from "../store.js";

/** An event with the conversation to which it belongs, counted from 0. */
export interface TimelineEvent {
  readonly conversation: number;
  readonly event: AgentEvent;
}

/** Number of events that are kept. */
const EVENTS_MAX = 20_000;

const LEFT_OUT: ReadonlySet<AgentEvent["kind"]> = new Set([
  "ASSISTANT_TEXT_DELTA",
  "REASONING_DELTA",
  "TOOL_CALL_OUTPUT_DELTA",
]);

let events: TimelineEvent[] = [];

/** Number of events so far. It tells components that there are new ones. */
export const eventCount = signal(0);

export function recordEvents(conversation: number, news: readonly AgentEvent[]): void {
  for (const event of news) if (!LEFT_OUT.has(event.kind)) events.push({ conversation, event });
  if (events.length > EVENTS_MAX) events = events.slice(-EVENTS_MAX);
  eventCount.value += news.length;
}

export function resetTimeline(): void {
  events = [];
  eventCount.value = 0;
}

export function timelineEvents(): readonly TimelineEvent[] {
  return events;
}

/** Downloads events as JSON lines. */
export function downloadEvents(shown: readonly TimelineEvent[]): void {
  const lines = shown.map(({ conversation, event }) => `${JSON.stringify({ conversation, ...event })}\n`);
  download(`${project.value.name || "emend"}-events.jsonl`, new Blob(lines, { type: "application/x-ndjson" }));
}
