/** The sessions of a server: lists, searches, starts, changes and deletes them; the canvas of the joined one; its files. */
import type { CanvasState } from "emend";
import type { Budget, CanvasBody, ServiceClient, ServiceEvent, SessionRecord, Spent } from "emend/service-client";
import type { Amounts, OfServer, SessionChange, SessionInfo, SessionPage } from "./protocol.js";
import { Absent } from "./remote-absent.js";

/** Number of sessions of a page of the list. */
const PAGE = 50;

export class RemoteSessions extends Absent implements Omit<OfServer, "listMore" | "findFiles"> {
  /** The canvas as it was read last. */
  protected lease: CanvasState = { path: null, held: false, epoch: 0 };
  /** The file that this page has opened in the canvas, and the end of the last opening. */
  #opened: string | null = null;
  #opening: Promise<void> = Promise.resolve();

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

  async read(path: string): Promise<string | null> {
    return (await this.buffer(path))?.content ?? null;
  }

  async readDisk(path: string): Promise<string | null> {
    return (await this.buffer(path))?.saved_content ?? null;
  }

  savedText(path: string): Promise<string | null> {
    return this.readDisk(path);
  }

  protected async buffer(path: string) {
    try {
      return await this.client.call("GetBuffer", { file_path: path });
    } catch (error) {
      if ((error as { code?: string }).code === "not_found") return null;
      throw error;
    }
  }

  async saveFiles(paths: readonly string[]): Promise<void> {
    await this.client.call("Save", { body: { file_paths: [...paths] } });
  }

  async hiddenMessages(): Promise<readonly string[]> {
    const { chat } = await this.client.call("GetSession", { session_id: this.session, hidden: "true" });
    return chat.filter(({ role }) => role === "hidden").map(({ text }) => text);
  }

  startSession(model: string, canvas: boolean): Promise<string> {
    return createdSession(this.client, model, canvas);
  }

  async changeSession(id: string, change: SessionChange): Promise<void> {
    const { title, archived, mode, canvas, model, limits, taskLimits } = change;
    const body = {
      ...(title !== undefined && { title }),
      ...(archived !== undefined && { status: archived ? ("archived" as const) : ("active" as const) }),
      ...(mode !== undefined && { mode }),
      ...(canvas !== undefined && { canvas: flagsOf(canvas) }),
      ...(model !== undefined && { model }),
      ...(limits !== undefined && { budget: budgetOf(limits) }),
      ...(taskLimits !== undefined && { job_budget: budgetOf(taskLimits) }),
    };
    await this.client.call("UpdateSession", { session_id: id, body });
  }

  async entitle(_index: number, title: string): Promise<void> {
    await this.changeSession(this.session, { title });
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
      this.#keepLease({ path: file_path ?? null, held, epoch });
    } catch {
      // A session without a canvas has none to show.
    }
    return this.lease;
  }

  /** Shows a file in the canvas after those that were opened before, or closes it. */
  openCanvas(path: string | null): Promise<void> {
    this.#opening = this.#opening.then(async () => {
      // The canvas may show a file of another page.
      if (path === null && (this.#opened === null || (await this.canvas()).path !== this.#opened)) return;
      this.#opened = path;
      // A canvas cannot show a file that is not text. The file before is not shown either, so the canvas has none.
      const isShown = await this.#onCanvas("open", { file_path: path }).catch(() => null);
      if (isShown === null) await this.#onCanvas("open", { file_path: null }).catch(() => undefined);
    });
    return this.#opening;
  }

  async takeBack(): Promise<void> {
    await this.#onCanvas("take_back", {});
  }

  #onCanvas(operation: string, body: object): Promise<unknown> {
    const session = encodeURIComponent(this.session);
    return this.client.request("POST", `/api/agent/sessions/${session}/canvas/${operation}`, body);
  }

  /** Notes the lease that an event tells. There is one canvas for all sessions. */
  protected noteLease({ type, data }: ServiceEvent): void {
    if (!/^canvas\.(lease|updated)$/.test(type)) return;
    const told = type === "canvas.lease" ? { ...data, held: data.state === "held" } : data.canvas;
    const { file_path, held, epoch } = told as CanvasBody;
    // The lease may have been read after the event.
    if (epoch >= this.lease.epoch) this.#keepLease({ path: file_path ?? null, held, epoch });
  }

  /** Keeps a lease. The object changes only with its content. */
  #keepLease(lease: CanvasState): void {
    const { path, held, epoch } = this.lease;
    if (path !== lease.path || held !== lease.held || epoch !== lease.epoch) this.lease = lease;
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
    canvas: record.canvas?.tools === true,
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

/** Returns the id of the session that was used last. A session is created if there is none, with the canvas tools or without. */
export async function lastUsedSession(client: ServiceClient, canvas: boolean): Promise<string> {
  const { sessions } = await client.call("ListSessions", { status: "active", limit: 1 });
  return sessions[0]?.session_id ?? createdSession(client, "", canvas);
}

/** Creates a session. A server without a canvas refuses the canvas tools, and gets one without them. */
async function createdSession(client: ServiceClient, model: string, canvas: boolean): Promise<string> {
  const body = model === "" ? {} : { model };
  try {
    if (canvas) return (await client.call("CreateSession", { body: { ...body, canvas: flagsOf(true) } })).session_id;
  } catch (error) {
    if ((error as { code?: string }).code !== "configuration") throw error;
  }
  return (await client.call("CreateSession", { body })).session_id;
}

/** Returns the flags of a session with the canvas tools, whose edits need the lease, or without them. */
function flagsOf(canvas: boolean) {
  return { tools: canvas, enforce_lease: canvas };
}
