/** The sessions of a server: lists, searches, starts, changes and deletes them; and the canvas of the joined one. */
import type { CanvasState } from "emend";
import type { Budget, ServiceClient, SessionRecord, Spent } from "emend/service-client";
import type { Amounts, OfServer, SessionChange, SessionInfo, SessionPage } from "./protocol.js";
import { Absent } from "./remote-absent.js";

/** Number of sessions of a page of the list. */
const PAGE = 50;

export class RemoteSessions extends Absent implements Omit<OfServer, "listMore" | "findFiles"> {
  /** The canvas as it was read last. */
  protected lease: CanvasState = { path: null, held: false, epoch: 0 };

  constructor(
    protected readonly client: ServiceClient,
    /** The id of the joined session. */
    protected readonly session: string,
  ) {
    super();
  }

  async sessions(query: string, archived: boolean, after: string | null): Promise<SessionPage> {
    const { sessions, next, total } = await this.client.call("ListSessions", {
      limit: PAGE,
      ...(query !== "" && { query }),
      ...(!archived && { status: "active" }),
      ...(after !== null && { after }),
    });
    return { sessions: sessions.map(infoOf), next: next ?? null, total };
  }

  async sessionInfo(): Promise<SessionInfo> {
    const record = await this.client.call("GetSession", { session_id: this.session });
    return { ...infoOf(record), spentByTask: amountsOf(record.job?.usage ?? {}) };
  }

  async startSession(model: string): Promise<string> {
    const body = model === "" ? {} : { model };
    return (await this.client.call("CreateSession", { body })).session_id;
  }

  async changeSession(id: string, change: SessionChange): Promise<void> {
    const { title, archived, mode, model, limits, taskLimits } = change;
    const body = {
      ...(title !== undefined && { title }),
      ...(archived !== undefined && { status: archived ? ("archived" as const) : ("active" as const) }),
      ...(mode !== undefined && { mode }),
      ...(model !== undefined && { model }),
      ...(limits !== undefined && { budget: budgetOf(limits) }),
      ...(taskLimits !== undefined && { job_budget: budgetOf(taskLimits) }),
    };
    await this.client.call("UpdateSession", { session_id: id, body });
  }

  async removeSession(id: string): Promise<void> {
    await this.client.call("DeleteSession", { session_id: id });
  }

  async queueMessage(text: string): Promise<void> {
    await this.client.call("AddFollowUp", { session_id: this.session, body: { text } });
  }

  async withdrawMessage(id: string): Promise<void> {
    await this.client.call("WithdrawFollowUp", { session_id: this.session, follow_up_id: id });
  }

  async sendMessage(id: string): Promise<void> {
    await this.client.call("SendFollowUp", { session_id: this.session, follow_up_id: id });
  }

  async canvas(): Promise<CanvasState> {
    try {
      const { file_path, held, epoch } = await this.client.call("GetCanvas", { session_id: this.session });
      this.lease = { path: file_path ?? null, held, epoch };
    } catch {
      // A session without a canvas has none to show.
    }
    return this.lease;
  }

  async openCanvas(path: string | null): Promise<void> {
    if (path === null) return;
    // A canvas cannot show a file that is not text; the page says so itself.
    await this.client
      .request("POST", `/api/agent/sessions/${encodeURIComponent(this.session)}/canvas/open`, { file_path: path })
      .catch(() => undefined);
  }

  async takeBack(): Promise<void> {
    await this.client.request("POST", `/api/agent/sessions/${encodeURIComponent(this.session)}/canvas/take_back`, {});
  }
}

function infoOf(record: SessionRecord): SessionInfo {
  return {
    id: record.session_id,
    title: record.title,
    archived: record.status === "archived",
    changed: Date.parse(record.updated_at),
    tasks: record.n_jobs,
    model: record.model,
    queued: record.follow_ups.map(({ follow_up_id, text }) => ({ id: follow_up_id, text })),
    mode: record.mode,
    limits: amountsOf(record.budget),
    taskLimits: amountsOf(record.job_budget),
    spent: amountsOf(record.spent),
    spentByTask: amountsOf({}),
  };
}

function amountsOf(given: Budget | Spent): Amounts {
  const tokens = "total_tokens" in given ? given.total_tokens : (given as Budget).tokens;
  return { tokens: tokens ?? 0, costUsd: given.cost_usd ?? 0, durationMs: given.duration_ms ?? 0 };
}

function budgetOf({ tokens, costUsd, durationMs }: Amounts): Budget {
  return { tokens, cost_usd: costUsd, duration_ms: durationMs };
}

/** Returns the id of a session if the server has it. */
export async function foundSession(client: ServiceClient, id: string | null): Promise<string | null> {
  if (id === null) return null;
  try {
    return (await client.call("GetSession", { session_id: id })).session_id;
  } catch (error) {
    if ((error as { code?: string }).code === "not_found") return null;
    throw error;
  }
}

export async function lastUsedSession(client: ServiceClient): Promise<string> {
  const { sessions } = await client.call("ListSessions", { status: "active", limit: 1 });
  return sessions[0]?.session_id ?? (await client.call("CreateSession", {})).session_id;
}
