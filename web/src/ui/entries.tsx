/** The entries of a conversation: messages, answers, tool calls, notices, and the ends of runs. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { goOn } from "../actions/run.js";
import { newConversation } from "../actions/sessions.js";
import { advise, type Remedy } from "../advice.js";
import {
  type EndEntry,
  type Entry,
  isQuestion,
  type LeaseEntry,
  type NoticeEntry,
  type ToolEntry,
  type UserEntry,
} from "../chat-state.js";
import { plural } from "../hunk-text.js";
import { memo } from "../memo.js";
import { dollars } from "../money.js";
import { reveal } from "../reveal.js";
import { chat, conversation, costs, dialog, isRunning, project, runs } from "../store.js";
import { baseName } from "../tree.js";
import { Approval, Question, Subagent } from "./cards.js";
import { CopyButton } from "./copy-button.js";
import { Icon } from "./icons.js";
import { Markdown } from "./markdown.js";
import { Pictures } from "./pictures.js";
import { ToolGroup, ToolRow } from "./tool-row.js";

export { loadMarkdown } from "./markdown.js";

export function Entries({ entries }: { entries: readonly Entry[] }) {
  return (
    <>
      {grouped(entries).map((item) =>
        Array.isArray(item) ? <ToolGroup key={item[0]?.id} entries={item} /> : <EntryView key={item.id} entry={item} />,
      )}
    </>
  );
}

/** Number of calls of one tool in a row from which on they are one line. */
const GROUP_MIN = 5;

/** Puts calls of one tool that follow each other into groups. */
function grouped(entries: readonly Entry[]): (Entry | ToolEntry[])[] {
  const items: (Entry | ToolEntry[])[] = [];
  for (let at = 0; at < entries.length; ) {
    const first = entries[at]!;
    let end = at + 1;
    if (first.kind === "tool") {
      for (let next = entries[end]; next?.kind === "tool" && next.name === first.name; next = entries[end]) end += 1;
    }
    if (end - at >= GROUP_MIN) items.push(entries.slice(at, end) as ToolEntry[]);
    else items.push(...entries.slice(at, end));
    at = end;
  }
  return items;
}

const EntryView = memo(function EntryView({ entry }: { entry: Entry }) {
  switch (entry.kind) {
    case "user":
      return (
        <div class="entry user">
          <span class="visually-hidden">You: </span>
          {reveal(entry.text)}
          {entry.pictures && entry.pictures.length > 0 && <Pictures pictures={entry.pictures} />}
          {!entry.steering && <EditButton entry={entry} />}
        </div>
      );
    case "assistant":
      return (
        <div class={entry.streaming ? "entry assistant streaming" : "entry assistant"}>
          <span class="visually-hidden">Assistant: </span>
          <Markdown text={entry.text} />
          {!entry.streaming && entry.text.length > 200 && <CopyButton text={entry.text} label="Copy the answer" />}
        </div>
      );
    case "reasoning":
      return (
        <details class="entry reasoning">
          <summary>{entry.streaming ? "Thinking…" : "Thoughts"}</summary>
          <Markdown text={entry.text} />
        </details>
      );
    case "tool":
      return isQuestion(entry) ? <Question entry={entry} /> : <ToolRow entry={entry} />;
    case "approval":
      return <Approval entry={entry} />;
    case "agent":
      return <Subagent entry={entry} />;
    case "lease":
      return <Lease entry={entry} />;
    case "notice":
      return <Notice entry={entry} />;
    case "end":
      return <End entry={entry} />;
  }
});

function Notice({ entry }: { entry: NoticeEntry }) {
  const { title, steps, details, remedy, waitMs } = advise(entry.failure);
  const left = useCountdown(entry, waitMs);
  const { entries, running } = chat.value;
  // The remedies of a task are for the last one.
  const isPast = entries.slice(entries.indexOf(entry)).some((each) => each.kind === "user");
  // A server has the model and its key.
  const isOffered = OF_TASK.has(remedy) ? !isPast : !(remedy === "settings" && project.value.remote);
  return (
    <div class={`entry notice ${entry.level}`} role={entry.level === "error" ? "alert" : "note"}>
      <p>
        <Icon name={entry.level === "info" ? "arrow" : "warning"} size={14} />{" "}
        {/* A screen reader would read each second. */}
        <span aria-live="off">{reveal(entry.failure.code === "retry" ? counted(title, left) : title)}</span>
      </p>
      {steps.length > 0 && (
        <ul>
          {steps.map((text) => (
            <li key={text}>{reveal(text)}</li>
          ))}
        </ul>
      )}
      {(details !== null || entry.level === "error") && (
        <details>
          <summary>Details</summary>
          {details !== null && <p>{reveal(details)}</p>}
          <p>
            Code: <code>{entry.failure.code}</code>
          </p>
        </details>
      )}
      {remedy !== null && isOffered && (
        <button class="button small" type="button" disabled={running || left > 0} onClick={() => apply(remedy, entry)}>
          {REMEDIES[remedy]}
          {left > 0 && <span aria-hidden="true">in {left} s</span>}
        </button>
      )}
    </div>
  );
}

const REMEDIES: Record<Remedy, string> = {
  settings: "Model settings",
  retry: "Try again",
  reload: "Reload the page",
  continue: "Continue",
  conversation: "New conversation",
  limits: "Change the limits",
};

const OF_TASK: ReadonlySet<Remedy | null> = new Set<Remedy>(["retry", "continue", "conversation"]);

/** The time that the notice of a repeated attempt names. */
const RETRY_TIME = /Trying again in ([\d.]+) s/;

/** Returns the seconds until the provider takes the next request, counted down. */
function useCountdown({ failure, ts }: NoticeEntry, waitMs: number | null): number {
  const retry = failure.code === "retry" ? RETRY_TIME.exec(failure.message)?.[1] : undefined;
  const wait = retry === undefined ? (waitMs ?? 0) : Number(retry) * 1_000;
  const now = useSignal(Date.now());
  const left = Math.max(0, Math.ceil((ts + wait - now.value) / 1_000));
  const isCounting = left > 0;
  useEffect(() => {
    if (!isCounting) return undefined;
    const timer = setInterval(() => {
      now.value = Date.now();
    }, 250);
    return () => clearInterval(timer);
  }, [isCounting, ts]);
  return left;
}

function counted(title: string, left: number): string {
  return title.replace(RETRY_TIME, left > 0 ? `Trying again in ${left} s` : "Trying again");
}

function apply(remedy: Remedy, notice: NoticeEntry): void {
  if (remedy === "settings") dialog.value = { kind: "model" };
  else if (remedy === "limits") dialog.value = { kind: "options" };
  else if (remedy === "reload") location.reload();
  else if (remedy === "conversation") void newConversation();
  else void goOn(notice);
}

/** Goes back to before a message, to send it in other words. */
function EditButton({ entry }: { entry: UserEntry }) {
  // Only the tasks so far count, so later entries need no new rendering.
  const tasks = chat.peek().entries.filter((each) => each.kind === "user" && !each.steering);
  const task = tasks.indexOf(entry);
  const run = runs.value.findLast((each) => each.conversation === conversation.value && each.task === task);
  if (!run || isRunning.value) return null;
  return (
    <button
      class="tool entry-edit"
      type="button"
      aria-label={`Edit and send again: ${reveal(entry.text).slice(0, 60)}`}
      title="Edit and send again"
      onClick={() => {
        dialog.value = { kind: "go-back", run, text: entry.text };
      }}
    >
      <Icon name="edit" size={14} />
    </button>
  );
}

function Lease({ entry: { path, state, changed } }: { entry: LeaseEntry }) {
  const name = <span title={path}>{baseName(path)}</span>;
  return (
    <div class="entry lease" data-state={state}>
      {state === "held" && (
        <>
          The assistant is {changed ? "working on" : "reading"} {name}.
        </>
      )}
      {state === "released" && (
        <>
          The assistant {changed ? "worked on" : "read"} {name}.
        </>
      )}
      {state === "preempted" && (
        <>
          You took {name} back. The assistant changes it again from the next task on: after the end of this one, or stop
          this one.
        </>
      )}
      {state === "expired" && (
        <>
          The assistant stopped {changed ? "working on" : "reading"} {name}.
        </>
      )}
    </div>
  );
}

const REASONS: Record<string, string> = {
  natural: "Done",
  aborted: "Stopped",
  error: "Ended by an error",
  turn_limit: "Stopped at the limit of steps",
  budget: "Stopped at the limit of the budget",
  awaiting_input: "Waiting for your answer",
  context_length: "The conversation is too long for the model",
};

function End({ entry }: { entry: EndEntry }) {
  const parts = [REASONS[entry.reason] ?? entry.reason];
  if (entry.toolCalls > 0) {
    const failed = entry.failedCalls > 0 ? `, ${entry.failedCalls.toLocaleString("en")} failed` : "";
    parts.push(plural(entry.toolCalls, "tool call") + failed);
  }
  if (entry.models) parts.push(`answered by ${entry.models.map(reveal).join(" and ")}`);
  const { inputTokens: input, outputTokens: output } = entry.usage ?? { inputTokens: 0, outputTokens: 0 };
  if (input + output > 0) {
    parts.push(
      `${plural(input + output, "token")}: ${input.toLocaleString("en")} in, ${output.toLocaleString("en")} out`,
    );
  }
  const cost = costs.value.get(entry.id);
  if (cost !== undefined) parts.push(dollars(cost));
  return (
    <div class="entry end">
      {parts.join(" · ")}
      {entry.reason === "aborted" && <GoOn entry={entry} />}
    </div>
  );
}

/** Goes on with the last task after a stop, or after a reload that ended it. */
function GoOn({ entry }: { entry: EndEntry }) {
  const { entries, running } = chat.value;
  if (entries.at(-1) !== entry || running) return null;
  return (
    <button class="button small" type="button" onClick={() => void goOn(entry)}>
      {REMEDIES.continue}
    </button>
  );
}
