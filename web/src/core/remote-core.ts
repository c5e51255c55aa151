/**
 * The engine of a server (`emend serve`), behind the operations of the worker.
 *
 * The server has the files, the model, the review and the conversation; others may work in the same session, for example a
 * terminal. Its events lead the page, also those of jobs that were started elsewhere. A server has no list of all files, so
 * the page shows those that the session changed or the user opened.
 */
import type { AgentEvent, CanvasState, FileInfo, FileMatches, Review } from "emend";
import { createClient, type ServiceClient, type ServiceReading, type StateEvent } from "emend/service-client";
import type {
  Contents,
  CoreApi,
  Decision,
  EventBatch,
  PastFile,
  Reading,
  RunInfo,
  Scope,
  Snapshot,
  Step,
} from "./protocol.js";
import { moved } from "./remote-bodies.js";
import { ReviewChanges } from "./review-changes.js";
import { endsJob, translated } from "./service-events.js";

/** Operations that need no open project belong to the worker itself. */
type Own = Omit<
  CoreApi,
  "open" | "join" | "restore" | "projects" | "forget" | "warm" | "keepRecording" | "unzip" | "cost" | "preloadOffline"
>;

export class RemoteCore implements Own {
  readonly #client: ServiceClient;
  readonly #session: string;
  readonly #send: (batch: EventBatch) => Promise<void>;
  readonly #review = new ReviewChanges();
  readonly #paths = new Set<string>();
  readonly #end = new AbortController();
  #steps: { done: Step[]; undone: Step[] } = { done: [], undone: [] };
  #canvas: CanvasState = { path: null, held: false, epoch: 0 };
  #batches = 0;
  #following: Promise<void> | null = null;
  #waiting: AgentEvent[] = [];
  /** The job that runs, and that which asks the user. */
  #job: string | null = null;
  #question: { readonly job: string; readonly id: string } | null = null;
  #ended = new Map<string, () => void>();

  private constructor(client: ServiceClient, session: string, send: (batch: EventBatch) => Promise<void>) {
    this.#client = client;
    this.#session = session;
    this.#send = send;
  }

  /** Joins the session that was used last, or begins one. */
  static async join(baseUrl: string, token: string, send: (batch: EventBatch) => Promise<void>): Promise<RemoteCore> {
    const client = createClient({ baseUrl, ...(token !== "" && { token }) });
    const { sessions } = await client.call("ListSessions", { status: "active", limit: 1 });
    const session = sessions[0]?.session_id ?? (await client.call("CreateSession", {})).session_id;
    const core = new RemoteCore(client, session, send);
    for (const { file_path: path } of (await client.call("ChangeLog")).changes) core.#paths.add(path);
    return core;
  }

  /** Ends the connection. Jobs of the server go on. */
  leave(): void {
    this.#end.abort();
  }

  async close(): Promise<void> {
    this.leave();
  }

  async #follow(): Promise<void> {
    const timer = setInterval(() => void this.#flush(), 16);
    try {
      for await (const item of this.#client.events({ after: 0, signal: this.#end.signal }))
        this.#receive(item as ServiceReading);
    } catch {
      if (this.#end.signal.aborted) return;
      const failure = { code: "network", message: "the connection to the server was lost", suggestions: [] };
      this.#waiting.push({ cursor: 0, ts: Date.now(), session_id: this.#session, kind: "ERROR", data: failure });
      for (const end of this.#ended.values()) end();
    } finally {
      await this.#flush();
      clearInterval(timer);
    }
  }

  #receive(item: ServiceReading): void {
    if (item.type === "state.changed") {
      const data = { path: "", revision: (item as StateEvent).state.revision, pending_hunks: 0 };
      this.#waiting.push({ cursor: 0, ts: Date.now(), session_id: this.#session, kind: "FILE_CHANGED", data });
      return;
    }
    if (!("session_id" in item) || item.session_id !== this.#session) return;
    const { type, data, job_id: job } = item;
    if (type === "job.started") this.#job = job ?? null;
    if (type === "clarification.requested" && job) this.#question = { job, id: String(data.question_id) };
    if (type === "clarification.received") this.#question = null;
    const path = data.file_path;
    if (typeof path === "string" && path !== "") this.#paths.add(path);
    const isEnd = endsJob(type);
    // A job in review ended for the page when its edits were proposed; the decision ends it for the server.
    if (isEnd && job !== this.#job) return;
    this.#waiting.push(...translated(item));
    if (!isEnd || !job) return;
    this.#job = null;
    void this.#flush().then(() => this.#ended.get(job)?.());
  }

  async #flush(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const events = this.#waiting.splice(0);
    await this.#send({
      number: ++this.#batches,
      events,
      lease: this.#canvas,
      conversation: 0,
      offline: false,
      model: "",
      replayed: false,
    });
  }

  async recorded(): Promise<boolean> {
    return true;
  }

  async snapshot(scope: Scope, path: string | null): Promise<Snapshot> {
    // The page shows the project from now on, and takes events.
    this.#following ??= this.#follow();
    const [review, lease] = await Promise.all([this.#readReview(), this.canvas()]);
    const reading = path === null ? null : await this.#reading(path);
    if (path !== null) this.#paths.add(path);
    for (const file of review.files) this.#paths.add(file.path);
    return {
      revision: review.revision,
      paths: review.files.map((file) => file.path),
      changed: this.#review.next(review),
      list: scope === "files" ? this.#list(review) : null,
      // The server saves accepted text itself.
      unsaved: scope === "hunks" ? null : [],
      reading,
      lease,
      steps: this.#steps,
    };
  }

  async #readReview(): Promise<Review> {
    return moved(await this.#client.call("GetReview", {}));
  }

  #list({ files }: Review): readonly FileInfo[] {
    const status = { create: "created", update: "modified", delete: "deleted" } as const;
    return [...this.#paths].sort().map((path) => {
      const file = files.find((each) => each.path === path);
      return { path, size: 0, status: file ? status[file.operation] : "clean", pendingHunks: file?.hunks.length ?? 0 };
    });
  }

  async #reading(path: string): Promise<Reading> {
    try {
      const text = await this.read(path);
      return text === null ? { problem: "", code: "not_found" } : { text };
    } catch (error) {
      const { code = "unexpected", message } = error as { code?: string; message: string };
      return { problem: message, code };
    }
  }

  async read(path: string): Promise<string | null> {
    return (await this.#buffer(path))?.content ?? null;
  }

  async readDisk(path: string): Promise<string | null> {
    return (await this.#buffer(path))?.saved_content ?? null;
  }

  savedText(path: string): Promise<string | null> {
    return this.readDisk(path);
  }

  async #buffer(path: string) {
    try {
      return await this.#client.call("GetBuffer", { file_path: path });
    } catch (error) {
      if ((error as { code?: string }).code === "not_found") return null;
      throw error;
    }
  }

  async noteSaved(): Promise<void> {
    // The server knows what it saved.
  }

  async write(path: string, text: string, base: string | null, step: Step) {
    const before = await this.read(path);
    const body = { file_path: path, content: text, ...(base !== null && { base }) };
    const after = (await this.#client.call("UserEdit", { body })).content ?? "";
    this.#paths.add(path);
    if (after !== before) this.#step(step);
    return { text: after, changed: after !== before };
  }

  async remove(path: string): Promise<void> {
    await this.#client.call("UserEdit", { body: { file_path: path, content: null } });
    this.#paths.delete(path);
    this.#step({ kind: "delete", path });
  }

  async rename(path: string, to: string): Promise<void> {
    const text = await this.read(path);
    await this.#client.call("UserEdit", { body: { file_path: to, content: text ?? "" } });
    await this.#client.call("UserEdit", { body: { file_path: path, content: null } });
    this.#paths.add(to).delete(path);
    this.#step({ kind: "rename", path, count: 2 });
  }

  #step(step: Step): void {
    this.#steps = { done: [...this.#steps.done, step], undone: [] };
  }

  async accept(ids: readonly string[], over: boolean, path: string): Promise<void> {
    const decision = over ? "accept_over" : "accept";
    await this.#client.call("Decide", { body: { decision, hunk_ids: [...ids] } });
    this.#step({ kind: "accept", path });
  }

  async reject(ids: readonly string[], dependents: "refuse" | "only" | "with", path: string): Promise<void> {
    await this.#client.call("Decide", { body: { decision: "reject", dependents, hunk_ids: [...ids] } });
    this.#step({ kind: "reject", path });
  }

  async acceptAll(path: string | null): Promise<boolean> {
    await this.#client.call("Decide", { body: { decision: "accept", ...scopeOf(path) } });
    this.#step({ kind: "accept", path: path ?? "" });
    return true;
  }

  async rejectAll(path: string | null): Promise<boolean> {
    await this.#client.call("Decide", { body: { decision: "reject", ...scopeOf(path) } });
    this.#step({ kind: "reject", path: path ?? "" });
    return true;
  }

  async undo(): Promise<void> {
    const { done, undone } = this.#steps;
    const last = done.at(-1);
    for (let at = 0; at < (last?.count ?? 1); at++) await this.#client.call("Undo");
    if (last) this.#steps = { done: done.slice(0, -1), undone: [...undone, last] };
  }

  async redo(): Promise<void> {
    const { done, undone } = this.#steps;
    const last = undone.at(-1);
    for (let at = 0; at < (last?.count ?? 1); at++) await this.#client.call("Redo");
    if (last) this.#steps = { done: [...done, last], undone: undone.slice(0, -1) };
  }

  async canvas(): Promise<CanvasState> {
    try {
      const { file_path, held, epoch } = await this.#client.call("GetCanvas", { session_id: this.#session });
      this.#canvas = { path: file_path ?? null, held, epoch };
    } catch {
      // A session without a canvas has none to show.
    }
    return this.#canvas;
  }

  async openCanvas(path: string | null): Promise<void> {
    if (path === null) return;
    // A canvas cannot show a file that is not text; the page says so itself.
    await this.#client
      .request("POST", `/api/agent/sessions/${encodeURIComponent(this.#session)}/canvas/open`, { file_path: path })
      .catch(() => undefined);
  }

  async takeBack(): Promise<void> {
    await this.#client.request("POST", `/api/agent/sessions/${encodeURIComponent(this.#session)}/canvas/take_back`, {});
  }

  async run(text: string): Promise<void> {
    const asked = this.#question;
    let job: string;
    if (asked) {
      job = asked.job;
      this.#job = job;
      await this.#client.call("Clarify", { job_id: job, body: { question_id: asked.id, answer: text } });
    } else {
      const body = { session_id: this.#session, instruction: text };
      job = (await this.#client.call("Run", { body })).job_id;
    }
    await new Promise<void>((done) => this.#ended.set(job, done));
    this.#ended.delete(job);
  }

  async steer(text: string): Promise<void> {
    if (this.#job === null) throw new Error("the run has ended");
    await this.#client.call("Steer", { job_id: this.#job, body: { text } });
  }

  async stop(): Promise<void> {
    if (this.#job !== null) await this.#client.call("Cancel", { job_id: this.#job });
  }

  async answer(call: string, decision: Decision, reason: string): Promise<void> {
    if (this.#job === null) return;
    const name = decision === "always" ? "allow_always" : decision;
    const body = { tool_call_id: call, decision: name, ...(reason !== "" && { reason }) } as const;
    await this.#client.call("Approve", { job_id: this.#job, body });
  }

  async runs(): Promise<readonly RunInfo[]> {
    const { checkpoints } = await this.#client.call("ListCheckpoints", { session_id: this.#session });
    const { jobs } = await this.#client.call("ListJobs", { session_id: this.#session });
    return checkpoints.map((point, number) => ({
      number,
      conversation: 0,
      task: number,
      text: jobs.find((job) => job.job_id === point.job_id)?.instruction ?? "",
      began: Date.parse(point.created_at),
      files: point.affected_files,
      undone: !point.is_on,
    }));
  }

  async #checkpoint(run: number): Promise<string> {
    const { checkpoints } = await this.#client.call("ListCheckpoints", { session_id: this.#session });
    const point = checkpoints[run];
    if (!point) throw new Error("the server has no such checkpoint");
    return point.checkpoint_id;
  }

  async past(run: number): Promise<readonly PastFile[]> {
    const id = await this.#checkpoint(run);
    const paths = (await this.runs()).slice(run).flatMap((each) => each.files);
    const files: PastFile[] = [];
    for (const path of [...new Set(paths)].sort()) {
      const found = await this.#client.call("Diff3", { checkpoint_id: id, file_path: path });
      const saved = await this.readDisk(path);
      files.push({ path, before: found.checkpoint_base ?? null, now: found.current_file ?? null, saved });
    }
    return files;
  }

  async goBack(run: number): Promise<void> {
    const checkpoint = await this.#checkpoint(run);
    await this.#client.call("RollBack", { checkpoint_id: checkpoint, body: { mode: "hard_all", save: true } });
    this.#step({ kind: "go back", path: "" });
  }

  async putBack(run: number, path: string): Promise<void> {
    const file = (await this.past(run)).find((each) => each.path === path);
    if (!file) throw new Error(`the task did not change ${path}`);
    if (file.before === null) await this.remove(path);
    else await this.write(path, file.before, file.now, { kind: "put back", path });
  }

  async hunksBefore(): Promise<readonly string[]> {
    return [];
  }

  async setModel(): Promise<void> {
    throw new Error("the server chooses its model; start it with another one");
  }

  async setOptions(): Promise<void> {
    // The server has limits of its own.
  }

  async converse(index: number): Promise<void> {
    if (index !== 0) throw new Error("other conversations of the server are opened from its terminal");
  }

  async entitle(_index: number, title: string): Promise<void> {
    await this.#client.call("UpdateSession", { session_id: this.#session, body: { title } });
  }

  async branch(): Promise<void> {
    throw new Error("the conversation of a server goes back from its terminal; choose “Only the files” here");
  }

  async diff(): Promise<string> {
    throw new Error("the patch of a server is made there, with `emend diff`");
  }

  async zip(): Promise<Uint8Array> {
    throw new Error("the files are on the server");
  }

  async zipAll(): Promise<Uint8Array> {
    throw new Error("the files are on the server");
  }

  async exportFiles(): Promise<Contents> {
    throw new Error("the files are on the server");
  }

  async recording(): Promise<string> {
    throw new Error("the record of a session is on the server");
  }

  async search(): Promise<readonly FileMatches[]> {
    throw new Error("a server has no search for pages yet");
  }
}

function scopeOf(path: string | null) {
  return path === null ? { all: true } : { file_path: path };
}
