/**
 * Reads the conversation of a server's session, for a page that joins it or has missed events.
 *
 * The newest job comes from its events, with arguments and outputs of calls. Everything before it comes from the messages of
 * the conversation, which the server keeps longer than events, and which begin before the server if a terminal has shared it.
 */
import type { AgentEvent } from "emend";
import type { ChatMessage, EventRecord, JobRecord, ServiceClient, SessionSnapshot } from "emend/service-client";

export interface Transcript {
  /** The messages before the events of `recent`. */
  readonly events: readonly AgentEvent[];
  /** The jobs of these messages of the user, in their order; "" for one without a job. */
  readonly tasks: readonly string[];
  /** The events of the newest job, as far as the server has all of them. */
  readonly recent: readonly EventRecord[];
  /** The job that runs or waits for the user. */
  readonly open: string | null;
  /** Number of the newest event that the transcript contains. */
  readonly seq: number;
}

export async function readTranscript(client: ServiceClient, session: string): Promise<Transcript> {
  const snapshot = await client.call("GetSession", { session_id: session });
  const { jobs } = await client.call("ListJobs", { session_id: session });
  const recent = await eventsOf(client, snapshot);
  const { job, chat, seq } = snapshot;
  const isOpen = job != null && /^(queued|running|waiting_for_user)$/.test(job.status);
  const begun = job != null && recent.length > 0 ? chat.findIndex((message) => begins(message, job)) : -1;
  const former = begun < 0 ? chat : chat.slice(0, begun);
  const told = new Messages(session, jobs, former);
  if (recent.length > 0 || !isOpen) told.end();
  return { events: told.events, tasks: told.tasks, recent, open: isOpen ? job.job_id : null, seq };
}

/** Returns the events of the newest job; none if the first of them are not kept, or the session went back to before it. */
async function eventsOf(
  client: ServiceClient,
  { job, rewound, seq }: SessionSnapshot,
): Promise<readonly EventRecord[]> {
  if (job == null || (rewound?.removed_messages ?? 0) > 0) return [];
  const found: EventRecord[] = [];
  try {
    for (let cursor = 0; ; ) {
      const { events, next_cursor } = await client.call("JobEvents", { job_id: job.job_id, cursor });
      found.push(...events.filter((event) => event.seq <= seq));
      if (events.length === 0) return found;
      cursor = next_cursor;
    }
  } catch (error) {
    if (/^(resync_required|not_found)$/.test((error as { code?: string }).code ?? "")) return [];
    throw error;
  }
}

/** Whether a message of the user is the instruction of a job. The service may have put context before it. */
function begins(message: ChatMessage, job: JobRecord): boolean {
  const isLater = Date.parse(message.at) >= Date.parse(job.created_at);
  return message.role === "user" && isLater && message.text.includes(job.instruction.trim());
}

/** Translates messages into events of a session. */
class Messages {
  readonly events: AgentEvent[] = [];
  readonly tasks: string[] = [];
  readonly #session: string;
  /** The job of the last message of the user. */
  #job: JobRecord | undefined;
  #isRunning = false;
  /** The calls without a result, by their ids. */
  #calls: string[] = [];
  #at = 0;

  constructor(session: string, jobs: readonly JobRecord[], messages: readonly ChatMessage[]) {
    this.#session = session;
    for (const message of messages) this.#add(message, jobs);
  }

  /** Ends the last task. */
  end(): void {
    if (!this.#isRunning) return;
    const reasons: Partial<Record<JobRecord["status"], string>> = { failed: "error", cancelled: "aborted" };
    const reason = (this.#job && reasons[this.#job.status]) ?? "natural";
    const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
    this.#push("PROCESSING_END", { reason, usage });
    this.#isRunning = false;
  }

  #add({ role, text, at, tools = [] }: ChatMessage, jobs: readonly JobRecord[]): void {
    this.#at = Date.parse(at);
    if (role === "user") {
      this.end();
      this.#job = jobs.findLast((job) => Date.parse(job.created_at) <= this.#at);
      const instruction = this.#job?.instruction.trim() ?? "";
      const isWhole = instruction === "" || !text.includes(instruction);
      this.tasks.push(this.#job?.job_id ?? "");
      this.#push("USER_INPUT", { content: isWhole ? text : instruction });
      this.#isRunning = true;
    } else if (role === "steering") {
      this.#push("STEERING_INJECTED", { content: text });
    } else if (role === "assistant") {
      if (text !== "") {
        this.#push("ASSISTANT_TEXT_START", {});
        this.#push("ASSISTANT_TEXT_END", { text });
      }
      this.#calls = tools.map((name) => this.#call(name));
    } else if (role === "tool") {
      // The results are in the order of the calls: `id: done, id: failed`.
      const failed = text.split(", ").map((result) => result.endsWith(": failed"));
      for (const [index, callId] of this.#calls.splice(0).entries()) {
        this.#push("TOOL_CALL_END", { callId, ok: failed[index] !== true, output: "", durationMs: 0 });
      }
    }
  }

  #call(name: string): string {
    const callId = `message-${this.events.length}`;
    this.#push("TOOL_CALL_START", { callId, toolName: name, arguments: {} });
    return callId;
  }

  #push(kind: AgentEvent["kind"], data: Record<string, unknown>): void {
    // Below the cursors of events, which begin at 1.
    const cursor = -1 - this.events.length;
    this.events.push({ cursor, ts: this.#at, sessionId: this.#session, kind, data } as AgentEvent);
  }
}
