/** The events of all runs, with a filter, as the engine reported them. */
import { useSignal } from "@preact/signals";
import { downloadEvents, eventCount, type TimelineEvent, timelineEvents } from "../actions/timeline.js";
import { plural } from "../hunk-text.js";
import { reveal } from "../reveal.js";
import { closeDialog, Modal } from "./modal.js";

/** Number of events that are drawn. The filter finds the others. */
const SHOWN_MAX = 300;
const DATA_CHARS_MAX = 4_000;

const KINDS = {
  all: "All events",
  tools: "Tool calls",
  text: "Texts",
  files: "Files and canvas",
  problems: "Problems",
  agents: "Subagents",
} as const;

type Kind = keyof typeof KINDS;

const OF_KIND: Record<Exclude<Kind, "all">, RegExp> = {
  tools: /^(TOOL|APPROVAL)_/,
  text: /^(ASSISTANT|REASONING|USER|STEERING)_/,
  files: /^(FILE|CANVAS)_/,
  problems: /^(ERROR|WARNING|TURN_LIMIT|BUDGET|LOOP)/,
  agents: /^SUBAGENT_/,
};

export function TimelineDialog() {
  const kind = useSignal<Kind>("all");
  const text = useSignal("");
  // Drawn again when there are new events.
  void eventCount.value;
  const needle = text.value.trim().toLowerCase();
  const found = timelineEvents().filter(({ event }) => {
    if (kind.value !== "all" && !OF_KIND[kind.value].test(event.kind)) return false;
    return needle === "" || `${event.kind} ${JSON.stringify(event.data)}`.toLowerCase().includes(needle);
  });
  return (
    <Modal title="Events" wide onCancel={closeDialog}>
      <div class="timeline-bar">
        <select
          class="chat-select"
          aria-label="Kind of event"
          value={kind.value}
          onChange={(event) => {
            kind.value = event.currentTarget.value as Kind;
          }}
        >
          {(Object.keys(KINDS) as Kind[]).map((name) => (
            <option key={name} value={name}>
              {KINDS[name]}
            </option>
          ))}
        </select>
        <input
          class="find-input"
          type="search"
          data-focus
          aria-label="Text in events"
          placeholder="Filter by text"
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
        />
      </div>
      <p class="field-note" role="status">
        {plural(found.length, "event")}
        {found.length > SHOWN_MAX && `, the last ${SHOWN_MAX} are shown`}
      </p>
      <ol class="timeline" aria-label="Events">
        {found.slice(-SHOWN_MAX).map((each) => (
          <Row key={`${each.event.sessionId} ${each.event.cursor}`} item={each} />
        ))}
      </ol>
      <div class="modal-foot">
        <button class="button" type="button" onClick={closeDialog}>
          Close
        </button>
        <button class="button" type="button" disabled={found.length === 0} onClick={() => downloadEvents(found)}>
          Download {plural(found.length, "event")}
        </button>
      </div>
    </Modal>
  );
}

function Row({ item: { event } }: { item: TimelineEvent }) {
  const data = JSON.stringify(event.data, null, 2);
  return (
    <li>
      <details>
        <summary>
          <time class="faint">{new Date(event.ts).toLocaleTimeString("en", { hour12: false })}</time>
          <code>{event.kind}</code>
          <span class="timeline-data">{reveal(summary(event.data))}</span>
        </summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it. */}
        <pre tabIndex={0}>{reveal(data.slice(0, DATA_CHARS_MAX))}</pre>
      </details>
    </li>
  );
}

/** Returns the values of the data that are texts or numbers, in a line. */
function summary(data: object): string {
  const values = Object.values(data).filter((value) => typeof value === "string" || typeof value === "number");
  return values.join(" · ").replaceAll(/\s+/g, " ").slice(0, 160);
}
