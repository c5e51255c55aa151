/** The rows of a conversation: messages, reasoning, tool calls and problems, from the history and from events. */

import type { AgentEvent, EventData } from "../agent/types.js";
import type { ContentPart } from "../llm/types.js";
import type { Turn } from "../sessions/types.js";
import { make, revealed } from "./dom.js";

/** Number of characters of a tool's output that are shown. */
const OUTPUT_CHARS_MAX = 20_000;

/** The arguments that say what a call is about, the most telling ones first. */
const SUBJECTS = ["file_path", "path", "command", "pattern", "query", "url", "task"];

/** A row of a tool call, while the call runs. */
interface Call {
  readonly row: HTMLDetailsElement;
  readonly output: Text;
}

/** A question of the model, which ends a run. The next message answers it. */
export interface Question {
  readonly text: string;
  readonly options: readonly string[];
}

/** The rows of one conversation. */
export class Transcript {
  readonly #list: HTMLElement;
  readonly #calls = new Map<string, Call>();
  /** The text of the message that the model is writing. */
  #message: Text | undefined;
  #reasoning: Text | undefined;
  #question: Question | undefined;
  /** Rows of messages that the agent has not taken yet. */
  readonly #waiting: { readonly text: string; readonly row: Element }[] = [];

  constructor(list: HTMLElement) {
    this.#list = list;
  }

  /** Shows the history of a session alone. */
  reset(turns: readonly Turn[]): void {
    this.#list.replaceChildren();
    this.#calls.clear();
    this.#waiting.length = 0;
    [this.#message, this.#reasoning, this.#question] = [undefined, undefined, undefined];
    for (const { kind, message } of turns) {
      if (kind === "user" || kind === "steering") this.#row("user", "You: ", textOf(message.content));
      else if (kind === "assistant") this.#answer(message.content);
      else if (kind === "tool_results") for (const part of message.content) this.#result(part);
    }
  }

  /** Shows what an event says. Returns a question of the model, if the event ends a run with one. */
  take({ kind, data }: AgentEvent): Question | undefined {
    switch (kind) {
      case "USER_INPUT":
      case "STEERING_INJECTED":
        this.#question = undefined;
        this.#taken(data.content);
        this.#row("user", "You: ", data.content);
        break;
      case "STEERING_RETURNED":
        this.#taken(data.content);
        break;
      case "ASSISTANT_TEXT_START":
        this.#message = this.#row("assistant", "Agent: ", "");
        break;
      case "ASSISTANT_TEXT_DELTA":
        // Without its beginning, as after a move of the element, the row begins here.
        this.#message ??= this.#row("assistant", "Agent: ", "… ");
        this.#message.appendData(revealed(data.delta));
        break;
      case "ASSISTANT_TEXT_END":
        if (data.text !== "") this.#message ??= this.#row("assistant", "Agent: ", "");
        if (this.#message !== undefined) this.#message.data = revealed(data.text);
        this.#message = undefined;
        break;
      case "REASONING_START":
        this.#reasoning = this.#folded("Thinking", "reasoning").output;
        break;
      case "REASONING_DELTA":
        this.#reasoning?.appendData(revealed(data.delta));
        break;
      case "REASONING_END":
        this.#reasoning = undefined;
        break;
      case "TOOL_CALL_START":
        this.#call(data.callId, data.toolName, data.arguments);
        break;
      case "TOOL_CALL_OUTPUT_DELTA":
        this.#output(data.callId, data.delta);
        break;
      case "TOOL_CALL_END":
        this.#ended(data);
        break;
      case "TURN_LIMIT":
        this.#row("problem", "", `The limit of ${data.totalTurns} responses is reached.`);
        break;
      case "BUDGET_EXCEEDED":
        this.#row("problem", "", `The limit of ${data.limit} for ${data.budget} is reached.`);
        break;
      case "LOOP_DETECTION":
      case "WARNING":
        this.#row("note", "", data.message);
        break;
      case "ERROR":
        this.#row("problem", "Error: ", data.message);
        break;
      case "PROCESSING_END":
        return this.#end(data.reason);
      default:
        break;
    }
    return undefined;
  }

  /** Shows a message that waits until the agent takes it. */
  waits(text: string): void {
    const row = this.#row("note", "", `Waiting for the agent: ${text}`).parentElement;
    if (row !== null) this.#waiting.push({ text: text.trim(), row });
  }

  #taken(text: string): void {
    const at = this.#waiting.findIndex((waiting) => waiting.text === text.trim());
    if (at >= 0) for (const { row } of this.#waiting.splice(at, 1)) row.remove();
  }

  #end(reason: EventData["PROCESSING_END"]["reason"]): Question | undefined {
    this.#message = undefined;
    this.#reasoning = undefined;
    if (reason === "aborted") this.#row("note", "", "Stopped.");
    return reason === "awaiting_input" ? this.#question : undefined;
  }

  #answer(content: readonly ContentPart[]): void {
    const text = textOf(content);
    if (text !== "") this.#row("assistant", "Agent: ", text);
    for (const part of content) if (part.kind === "tool_call") this.#call(part.id, part.name, part.arguments);
  }

  #result(part: ContentPart): void {
    if (part.kind !== "tool_result") return;
    const output = typeof part.content === "string" ? part.content : JSON.stringify(part.content, null, 2);
    this.#output(part.toolCallId, output);
    if (part.isError) this.#failed(part.toolCallId);
    // A call without a result still runs.
    this.#calls.delete(part.toolCallId);
  }

  #row(kind: "user" | "assistant" | "note" | "problem", speaker: string, content: string): Text {
    const text = document.createTextNode(revealed(content));
    const row = make("div", `row ${kind}`);
    row.setAttribute("part", `row ${kind}`);
    // The speaker is seen by the border, and heard.
    if (speaker !== "") row.append(make("span", "status", speaker));
    row.append(text);
    this.#list.append(row);
    return text;
  }

  #folded(name: string, kind: string): Call {
    const output = document.createTextNode("");
    const content = make("pre", "");
    content.append(output);
    // A long output scrolls, also by keys.
    content.tabIndex = 0;
    const row = make("details", `row ${kind}`, make("summary", "", revealed(name)), content);
    row.setAttribute("part", `row ${kind}`);
    this.#list.append(row);
    return { row, output };
  }

  #call(id: string, tool: string, given: unknown): void {
    const values = Object(given) as Record<string, unknown>;
    const subject = SUBJECTS.map((name) => values[name]).find((value) => typeof value === "string");
    this.#calls.set(id, this.#folded(subject === undefined ? tool : `${tool} ${subject}`, "tool"));
  }

  #output(id: string, more: string): void {
    const output = this.#calls.get(id)?.output;
    const left = OUTPUT_CHARS_MAX - (output?.data.length ?? OUTPUT_CHARS_MAX);
    if (left > 0) output?.appendData(more.length > left ? `${revealed(more.slice(0, left))}…` : revealed(more));
  }

  #ended({ callId, ok, output, error, data }: EventData["TOOL_CALL_END"]): void {
    const call = this.#calls.get(callId);
    if (call === undefined) return;
    call.output.data = "";
    this.#output(callId, ok ? output : (error ?? output));
    if (!ok) this.#failed(callId);
    this.#calls.delete(callId);
    const { question, options } = Object(data) as { question?: unknown; options?: unknown };
    if (ok && typeof question === "string") {
      const choices = Array.isArray(options) ? options.filter((option) => typeof option === "string") : [];
      this.#question = { text: question, options: choices };
    }
  }

  #failed(id: string): void {
    const summary = this.#calls.get(id)?.row.querySelector("summary");
    summary?.append(" – failed");
  }
}

function textOf(content: readonly ContentPart[]): string {
  return content.map((part) => (part.kind === "text" ? part.text : "")).join("");
}
