/** Cards of the conversation that ask the user something, and the transcripts of subagents. */
import { useSignal } from "@preact/signals";
import { answerCall, send } from "../actions/run.js";
import type { AgentEntry, ApprovalEntry, ToolEntry } from "../chat-state.js";
import { plural } from "../hunk-text.js";
import { reveal } from "../reveal.js";
import { chat } from "../store.js";
import { Icon } from "./icons.js";
import { Markdown } from "./markdown.js";
import { ToolRow } from "./tool-row.js";

const DECIDED = {
  allowed: "Allowed",
  allowed_always: "Allowed, and equal calls",
  denied: "Refused",
  aborted: "Withdrawn",
};

/** A call that waits for the user's decision. The keys y, n and a decide while the focus is in the card. */
export function Approval({ entry }: { entry: ApprovalEntry }) {
  const reason = useSignal("");
  const { callId, name, decision } = entry;
  const what = subject(entry);
  const { workingDir } = { ...entry.detail } as { workingDir?: unknown };
  const place = typeof workingDir === "string" && workingDir !== "." ? ` in ${reveal(workingDir)}` : "";
  if (decision !== null) {
    return (
      <div class="entry end">
        {DECIDED[decision]}: {name} <code>{reveal(what).slice(0, 120)}</code>
      </div>
    );
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "y") void answerCall(callId, "allow");
    else if (event.key === "a") void answerCall(callId, "always");
    else if (event.key === "n") void answerCall(callId, "deny", reason.value);
    else return;
    event.preventDefault();
    document.querySelector<HTMLElement>(".composer textarea")?.focus();
  };
  const decide = (answer: "allow" | "always" | "deny") => () => {
    void answerCall(callId, answer, answer === "deny" ? reason.value.trim() : "");
    document.querySelector<HTMLElement>(".composer textarea")?.focus();
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for form controls.
    <div
      class="entry card approval"
      role="group"
      aria-label={`The assistant wants to use ${name}`}
      onKeyDown={onKeyDown}
    >
      <p class="card-title">
        <Icon name="warning" size={14} /> The assistant wants to use {name}
        {place}
      </p>
      <pre>{reveal(what)}</pre>
      <input
        class="find-input"
        type="text"
        aria-label="Reason to refuse"
        placeholder="Reason to refuse (optional)"
        value={reason.value}
        onInput={(event) => {
          reason.value = event.currentTarget.value;
        }}
      />
      <div class="button-group">
        <button class="button small primary" type="button" onClick={decide("allow")}>
          Allow <kbd>y</kbd>
        </button>
        <button class="button small" type="button" onClick={decide("always")}>
          Always {scopeOfAlways(entry)} <kbd>a</kbd>
        </button>
        <button class="button small" type="button" onClick={decide("deny")}>
          Refuse <kbd>n</kbd>
        </button>
      </div>
    </div>
  );
}

/** Returns the calls that "always" would allow for the rest of the conversation. */
function scopeOfAlways({ detail }: ApprovalEntry): string {
  const { command, paths } = { ...detail } as { command?: unknown; paths?: unknown };
  if (typeof command === "string") return "this command here";
  return Array.isArray(paths) ? "this file" : "this tool";
}

/** Returns what a call would do: its command, or its arguments. */
function subject({ arguments: given, detail }: ApprovalEntry): string {
  const { command, cmd } = { ...(given as object), ...detail } as { command?: unknown; cmd?: unknown };
  const line = command ?? cmd;
  return typeof line === "string" ? line : JSON.stringify(given, null, 2);
}

interface Asked {
  readonly question: string;
  readonly options: readonly string[];
}

function asked(given: unknown): Asked {
  const { question, options } = (given ?? {}) as { question?: unknown; options?: unknown };
  const list = Array.isArray(options) ? options : [];
  const texts = list.map((option) => {
    if (typeof option === "string") return option;
    const { label } = (option ?? {}) as { label?: unknown };
    return typeof label === "string" ? label : "";
  });
  return { question: typeof question === "string" ? question : "", options: texts.filter((text) => text !== "") };
}

/** A question of the assistant. Its options send their text; the message box takes any other answer. */
export function Question({ entry }: { entry: ToolEntry }) {
  const { question, options } = asked(entry.arguments);
  const { entries, running } = chat.value;
  const isOpen = !running && !entries.slice(entries.indexOf(entry)).some((each) => each.kind === "user");
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for form controls.
    <div class={isOpen ? "entry card question" : "entry card question answered"} role="group" aria-label="Question">
      <p class="card-title">
        <Icon name="comment" size={14} /> The assistant asks
      </p>
      <Markdown text={question} />
      {options.length > 0 && (
        <ul class="chips" aria-label="Answers">
          {options.map((text) => (
            <li key={text}>
              <button class="chip" type="button" disabled={!isOpen} onClick={() => void send(text)}>
                {reveal(text)}
              </button>
            </li>
          ))}
        </ul>
      )}
      {isOpen && <p class="faint">Or write your answer below.</p>}
    </div>
  );
}

/** A subagent: its task, its calls and texts, and its result. Subagents of its own are inside. */
export function Subagent({ entry }: { entry: AgentEntry }) {
  const { task, status, state, output } = entry;
  const calls = state.entries.filter((each) => each.kind === "tool").length;
  return (
    <details class={`entry calls agent ${status === "failed" ? "failed" : "ok"}`}>
      <summary>
        <span class="tool-arrow" aria-hidden="true">
          ⤷
        </span>
        <span class="tool-name">subagent</span>
        <span class="tool-target">
          {reveal(task)} · {status === "running" ? "working" : status}, {plural(calls, "call")}
        </span>
        <span
          class={`tool-status ${status === "completed" ? "ok" : status}`}
          role="img"
          aria-label={status === "completed" ? "done" : status}
        >
          {status === "completed" && <Icon name="accept" size={12} />}
          {status === "failed" && <Icon name="reject" size={12} />}
        </span>
      </summary>
      <div class="agent-entries">
        {state.entries.map((each) => {
          if (each.kind === "tool") return <ToolRow key={each.id} entry={each} />;
          if (each.kind === "agent") return <Subagent key={each.id} entry={each} />;
          if (each.kind === "assistant") return <Markdown key={each.id} text={each.text} />;
          return null;
        })}
        {output !== "" && !state.entries.some((each) => each.kind === "assistant" && each.text === output) && (
          <Markdown text={output} />
        )}
      </div>
    </details>
  );
}
