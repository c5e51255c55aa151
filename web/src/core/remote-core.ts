/**
 * The engine of a server (`emend serve`), behind the operations of the worker. The server has the files, the model, the review
 * and the conversation; others may work in the same session, for example a terminal. Its events lead the page, also those of
 * jobs that were started elsewhere.
 */
import type { AgentEvent, FileInfo, FileMatches, Review } from "emend";
import {
  type AttachedEvent,
  createClient,
  type JobRecord,
  type ServiceClient,
  type ServiceEvent,
  type ServiceReading,
} from "emend/service-client";
import type {
  CoreApi,
  Decision,
  EventBatch,
  Extent,
  PastFile,
  PutBack,
  Reading,
  Rewound,
  Rollback,
  RolledBack,
  RunInfo,
  Scope,
  Snapshot,
  Step,
  Version,
  WriteResult,
} from "./protocol.js";
import { changesFiles, hunksOfOthers, isAttached, isResync, isState, moved, scopeOf } from "./remote-bodies.js";
import { RemoteEarlier } from "./remote-earlier.js";
import { RemoteFiles } from "./remote-files.js";
import { type Link, RemoteLink } from "./remote-link.js";
import { foundSession, lastUsedSession, RemoteSessions } from "./remote-sessions.js";
import { readTranscript } from "./remote-transcript.js";
import { WaitingEdits } from "./remote-waiting.js";
import { ReviewChanges } from "./review-changes.js";
import { endsJob, eventsOfQuestion, translated } from "./service-events.js";
import { withStep } from "./steps.js";

/** Operations that need no open project belong to the worker itself. */
type Own = Omit<
  CoreApi,
  | "open"
  | "join"
  | "enter"
  | "restore"
  | "projects"
  | "forget"
  | "warm"
  | "keepRecording"
  | "unzip"
  | "cost"
  | "preloadOffline"
  | "goBack"
  | "branch"
>;

/** A step back that other steps have followed. */
class UndoneNever extends Error {}

/** A step of the user. One that went back to before a task says how, to be repeated. */
type RemoteStep = Step & {
  readonly rewound?: { readonly session: string; readonly job: string; readonly extent: Extent };
};

export class RemoteCore extends RemoteSessions implements Own {
  readonly #send: (batch: EventBatch) => Promise<void>;
  readonly #review = new ReviewChanges();
  #held = new WaitingEdits();
  #files: RemoteFiles;
  readonly #earlier = new RemoteEarlier(this.client, (path) => this.buffer(path));
  /** Ends the present stream of events. The next one begins after the conversation was read again. */
  #stream = new AbortController();
  #hasLeft = false;
  #steps: { done: RemoteStep[]; undone: RemoteStep[] } = { done: [], undone: [] };
  #batches = 0;
  #following: Promise<void> | null = null;
  /** Called when the conversation has been read. */
  #whenRead: (() => void)[] = [];
  /** Whether the running job was read without its events: its messages may overlap with those that follow, or miss one. */
  #isRough = false;
  #isRead = false;
  #waiting: AgentEvent[] = [];
  /** The last batch on its way to the page, which shows one after the other. */
  #sent: Promise<void> = Promise.resolve();
  #isSending = false;
  /** The state of the connection, and the lease, that the page knows. */
  #told: Link = "";
  #toldLease = this.lease;
  /** The job that runs, and that which asks the user. */
  #job: string | null = null;
  #question: { readonly job: string; readonly id: string } | null = null;
  /** The calls that the page was asked about. */
  readonly #asked = new Set<string>();
  /** The open requests when the stream began, until the events before are shown; and the number of the last of these. */
  #attached: AttachedEvent | null = null;
  #seen = 0;
  /** The jobs of the user's messages in the conversation, in their order; "" for one without a job. */
  #tasks: string[] = [];
  #ended = new Map<string, () => void>();

  private constructor(
    client: ServiceClient,
    private readonly link: RemoteLink,
    session: string,
    send: (batch: EventBatch) => Promise<void>,
  ) {
    super(client, session);
    this.#files = new RemoteFiles(client);
    this.#send = send;
  }

  /** Joins the session `id` if there is one, else that which was used last, or begins one. */
  static async join(
    baseUrl: string,
    token: string,
    id: string | null,
    canvas: boolean,
    send: (batch: EventBatch) => Promise<void>,
  ): Promise<RemoteCore> {
    const link = new RemoteLink();
    const client = createClient({ baseUrl, fetch: link.fetch, ...(token !== "" && { token }) });
    const session = (await foundSession(client, id)) ?? (await lastUsedSession(client, canvas));
    const core = new RemoteCore(client, link, session, send);
    await core.#files.more();
    return core;
  }

  /** Joins another session of the server. The files and the steps of the user are those of all its sessions. */
  async entered(id: string): Promise<RemoteCore> {
    const session = await foundSession(this.client, id);
    if (session === null) throw new Error("the server does not have this conversation any more");
    const core = new RemoteCore(this.client, this.link, session, this.#send);
    core.#files = this.#files;
    core.#steps = this.#steps;
    core.#held = this.#held;
    core.#batches = this.#batches;
    return core;
  }

  /** Ends the connection. Jobs of the server go on. */
  leave(): void {
    this.#hasLeft = true;
    this.#stream.abort();
  }

  async close(): Promise<void> {
    this.leave();
  }

  /** Reads the conversation and follows its events, until the page leaves. Reads it again when a lost server is back. */
  async #follow(): Promise<void> {
    [this.link.session, this.link.onLoss] = [this.session, () => this.#stream.abort()];
    const timer = setInterval(() => {
      if (!this.#isSending) void this.#flush();
    }, 16);
    try {
      for (let isAgain = true; isAgain && !this.#hasLeft; ) {
        this.#stream = new AbortController();
        const ended = await this.#readConversation()
          .then((after) => this.#followFrom(after))
          .catch((error: unknown) => error);
        this.#tellRead();
        if (ended !== true && !this.#hasLeft) isAgain = await this.link.failed(ended);
      }
    } finally {
      await this.#flush();
      clearInterval(timer);
      this.#following = null;
      this.#tellRead();
    }
  }

  /** Shows the whole conversation anew. Returns the number of the newest event that it contains. */
  async #readConversation(): Promise<number> {
    const { events, tasks, recent, open, seq } = await readTranscript(this.client, this.session);
    [this.#job, this.#question] = [null, null];
    this.#asked.clear();
    this.#tasks = [...tasks];
    this.#waiting = [...events];
    for (const event of recent) this.#note(event as ServiceEvent);
    this.#job ??= this.#question === null ? open : null;
    this.#isRough = open !== null && recent.length === 0;
    this.link.note("");
    await this.#flush(true);
    for (const [job, end] of this.#ended) if (job !== this.#job) end();
    this.#tellRead();
    return seq;
  }

  #tellRead(): void {
    this.#isRead = true;
    for (const done of this.#whenRead.splice(0)) done();
  }

  /** Resolves when the conversation has been read; with `isAgain`, when it has been read once more. */
  #read(isAgain = false): Promise<void> {
    if (this.#following === null || (this.#isRead && !isAgain)) return Promise.resolve();
    const read = new Promise<void>((done) => this.#whenRead.push(done));
    if (isAgain) this.#stream.abort();
    return read;
  }

  /** Follows the events after a number. Returns whether the conversation must be read again, because it changed otherwise. */
  async #followFrom(after: number): Promise<boolean> {
    const { signal } = this.#stream;
    [this.#seen, this.#attached] = [after, null];
    try {
      for await (const item of this.client.events({ after, signal })) if (this.#receive(item)) return true;
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    return signal.aborted;
  }

  /** Receives an item of the stream. Returns whether the conversation must be read again. */
  #receive(item: AttachedEvent | ServiceReading): boolean {
    if (isResync(item)) return true;
    if (isAttached(item)) this.#attached = item;
    else if (isState(item)) {
      this.#files.noteChange();
      this.#noteFiles();
    } else {
      this.#seen = item.seq;
      this.noteLease(item);
      if (item.session_id === this.session) {
        if (/^session\.rew(ound|ind_undone)$/.test(item.type)) return true;
        if (/^(session\.updated$|follow_up\.)/.test(item.type)) void this.#flush(false, true);
        const ended = this.#note(item);
        if (ended !== null) void this.#flush().then(() => this.#ended.get(ended)?.());
        if (ended !== null && this.#isRough) return true;
      } else if (changesFiles(item)) this.#noteFiles();
    }
    this.#attach();
    return false;
  }

  /** Lets the page read the list of files again. */
  #noteFiles(): void {
    const data = { path: "", revision: 0, pendingHunks: 0 };
    this.#waiting.push({ cursor: 0, ts: Date.now(), sessionId: this.session, kind: "FILE_CHANGED", data });
  }

  /**
   * Shows the open questions and requests for approval, of which the events may be gone. Those whose events are still to
   * come are not shown twice.
   */
  #attach(): void {
    if (this.#attached === null || this.#attached.last > this.#seen) return;
    const { jobs, ts } = this.#attached;
    this.#attached = null;
    for (const { job_id, session_id, question, approvals } of jobs) {
      if (session_id !== this.session) continue;
      const event = { cursor: 0, seq: 0, ts, session_id, job_id };
      for (const data of approvals) this.#note({ ...event, type: "approval.requested", data });
      if (question === null || this.#question?.id === question.question_id) continue;
      this.#job = job_id;
      this.#waiting.push(...eventsOfQuestion({ ...event, type: "clarification.requested", data: question }));
      this.#note({ ...event, type: "clarification.requested", data: question });
    }
  }

  /** Shows an event of the session. Returns the job that it ends, or null. */
  #note(event: ServiceEvent): string | null {
    const { type, data, job_id: job } = event;
    if (type === "job.started") this.#job = job ?? null;
    if (type === "job.started" || type === "clarification.received") this.#tasks.push(job ?? "");
    const call = String(data.tool_call_id);
    if (type === "approval.requested" && this.#asked.has(call)) return null;
    if (type === "approval.requested") this.#asked.add(call);
    if (type === "clarification.requested" && job) this.#question = { job, id: String(data.question_id) };
    if (type === "clarification.received") [this.#question, this.#job] = [null, job ?? null];
    const path = data.file_path;
    if (typeof path === "string" && path !== "") this.#files.add(path);
    const isEnd = endsJob(type);
    if (isEnd) this.#files.noteChange();
    // A job in review ended for the page when its edits were proposed; the decision ends it for the server.
    if (isEnd && job !== this.#job) return null;
    this.#waiting.push(...translated(event));
    if (!isEnd || !job) return null;
    this.#job = null;
    return job;
  }

  /** Sends the events to the page. With `isAnew`, they are the whole conversation. */
  async #flush(isAnew = false, sessionChanged = false): Promise<void> {
    const link = this.link.state;
    const isKnown = link === this.#told && this.lease === this.#toldLease;
    if (this.#hasLeft || (this.#waiting.length === 0 && !isAnew && !sessionChanged && isKnown)) return;
    [this.#told, this.#toldLease] = [link, this.lease];
    const batch: EventBatch = {
      number: ++this.#batches,
      events: this.#waiting.splice(0),
      lease: this.lease,
      link,
      conversation: 0,
      offline: false,
      model: "",
      replayed: isAnew,
      ...(isAnew && { anew: true }),
      ...(sessionChanged && { sessionChanged }),
    };
    this.#isSending = true;
    const sent = this.#sent.then(() => this.#send(batch));
    // A batch that the page could not show does not hold up the next ones.
    const settled = sent.catch(() => undefined);
    this.#sent = settled;
    await settled;
    if (this.#sent === settled) this.#isSending = false;
    await sent;
  }

  async snapshot(scope: Scope, path: string | null): Promise<Snapshot> {
    // The page shows the project from now on, and takes events.
    this.#following ??= this.#follow();
    // Not newer than the review: otherwise the revision of a step of this page comes after the step, as one of others would.
    const steps = this.#steps;
    // First: the server finds a change by another program when it reads the file.
    const reading = path === null ? null : await this.#reading(path);
    if (path !== null && reading !== null && "text" in reading) this.#files.add(path);
    const [review, lease] = await Promise.all([this.#readSettled(), this.canvas()]);
    for (const file of review.files) this.#files.add(file.path);
    // Not awaited: the list of a large project takes the server a moment.
    if (scope === "files")
      void this.#files.update().then(
        (isOther) => isOther && this.#noteFiles(),
        () => undefined,
      );
    return {
      revision: review.revision,
      paths: review.files.map((file) => file.path),
      changed: this.#review.next(review),
      list: scope === "files" ? this.#list(review) : null,
      hasMore: this.#files.hasMore,
      // The server saves accepted text itself. A client can let its edits wait.
      unsaved: review.unsaved,
      reading,
      lease,
      steps,
    };
  }

  async #readReview() {
    return moved(await this.client.call("GetReview", {}));
  }

  /** Reads the review, after saving what need not wait any more. */
  async #readSettled() {
    const review = await this.#readReview();
    const done = this.#held.next(review);
    if (done.length === 0) return review;
    // A file that another program has changed stays unsaved, and a save by the user names the reason.
    await this.saveFiles(done).catch(() => undefined);
    return this.#readReview();
  }

  override async saveFiles(paths: readonly string[]): Promise<void> {
    await super.saveFiles(paths);
    this.#held.saved(paths);
  }

  #list({ files }: Review): readonly FileInfo[] {
    const status = { create: "created", update: "modified", delete: "deleted" } as const;
    const changed = new Map(files.map((file) => [file.path, file]));
    return this.#files.paths.map((path) => {
      const [file, size] = [changed.get(path), this.#files.size(path)];
      return { path, size, status: file ? status[file.operation] : "clean", pendingHunks: file?.hunks.length ?? 0 };
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

  async write(path: string, text: string, base: string | null, step: Step): Promise<WriteResult> {
    const before = await this.read(path);
    // It may be hidden, or not listed yet.
    if (step.kind === "new file" && before !== null) throw new Error(`${path} exists already`);
    if (before !== base) this.#held.know(await this.#readReview());
    const waits = this.#held.mustWait(path, before === base ? base : null, text);
    const body = { file_path: path, content: text, save: !waits, ...(base !== null && { base }) };
    const { content, replaced = [] } = await this.client.call("UserEdit", { body });
    if (waits) this.#held.add(path);
    const after = content ?? "";
    this.#files.add(path);
    if (after !== before) this.#step(step);
    return { text: after, changed: after !== before, replaced };
  }

  async remove(path: string): Promise<void> {
    const paths = await this.#files.below(path);
    for (const each of paths) {
      await this.client.call("UserEdit", { body: { file_path: each, content: null } });
      this.#files.remove(each);
    }
    this.#step({ kind: "delete", path, count: paths.length });
  }

  async rename(path: string, to: string): Promise<void> {
    const moves = (await this.#files.below(path)).map((each) => [each, to + each.slice(path.length)] as const);
    const texts: (readonly [from: string, to: string, text: string])[] = [];
    // All are read first: a file that is not text keeps the folder as it is.
    for (const [from, target] of moves) {
      if ((await this.read(target)) !== null) throw new Error(`${target} exists already`);
      texts.push([from, target, (await this.read(from)) ?? ""]);
    }
    for (const [from, target, text] of texts) {
      await this.client.call("UserEdit", { body: { file_path: target, content: text } });
      await this.client.call("UserEdit", { body: { file_path: from, content: null } });
      this.#files.remove(from);
      this.#files.add(target);
    }
    this.#step({ kind: "rename", path, count: 2 * moves.length });
  }

  listMore(): Promise<void> {
    return this.#files.more();
  }

  findFiles(text: string): Promise<readonly string[]> {
    return this.#files.found(text);
  }

  #step(step: RemoteStep): void {
    this.#files.noteChange();
    this.#steps = withStep(this.#steps.done, step);
  }

  async accept(ids: readonly string[], over: boolean, path: string): Promise<void> {
    const decision = over ? "accept_over" : "accept";
    await this.client.call("Decide", { body: { decision, hunk_ids: [...ids] } });
    this.#step({ kind: "accept", path });
  }

  async reject(ids: readonly string[], dependents: "refuse" | "only" | "with", path: string): Promise<void> {
    await this.client.call("Decide", { body: { decision: "reject", dependents, hunk_ids: [...ids] } });
    this.#step({ kind: "reject", path });
  }

  async split(id: string, line: number, path: string): Promise<void> {
    await this.client.call("Split", { body: { hunk_id: id, line } });
    this.#step({ kind: "split", path });
  }

  async acceptAll(path: string | null): Promise<boolean> {
    await this.client.call("Decide", { body: { decision: "accept", ...scopeOf(path) } });
    this.#step({ kind: "accept", path: path ?? "" });
    return true;
  }

  async rejectAll(path: string | null): Promise<boolean> {
    await this.client.call("Decide", { body: { decision: "reject", ...scopeOf(path) } });
    this.#step({ kind: "reject", path: path ?? "" });
    return true;
  }

  async undo(): Promise<void> {
    this.#files.noteChange();
    const { done, undone } = this.#steps;
    const last = done.at(-1);
    if (last?.rewound) {
      await this.#unwind(last.rewound.session).catch((error: unknown) => {
        // It can never be undone. The next undo goes on with the step before.
        if (error instanceof UndoneNever) this.#steps = { done: done.slice(0, -1), undone };
        throw error;
      });
    } else {
      for (let at = 0; at < (last?.count ?? 1); at++) await this.client.call("Undo");
    }
    if (last) this.#steps = { done: done.slice(0, -1), undone: [...undone, last] };
  }

  async #unwind(session: string): Promise<void> {
    try {
      await this.client.call("UndoRewind", { session_id: session, body: {} });
    } catch (error) {
      if ((error as { code?: string }).code !== "conflict") throw error;
      throw new UndoneNever("Going back cannot be undone any more: an edit, a decision or a task came after it.");
    }
    await this.#read(true);
  }

  async redo(): Promise<void> {
    this.#files.noteChange();
    const { done, undone } = this.#steps;
    const last = undone.at(-1);
    if (last?.rewound) {
      const { session, job, extent } = last.rewound;
      await this.client.call("Rewind", { session_id: session, body: { job_id: job, ...extent } });
      await this.#read(true);
    } else {
      for (let at = 0; at < (last?.count ?? 1); at++) await this.client.call("Redo");
    }
    if (last) this.#steps = { done: [...done, last], undone: undone.slice(0, -1) };
  }

  async run(text: string): Promise<void> {
    const asked = this.#question;
    let job: string;
    if (asked) {
      job = asked.job;
      this.#job = job;
      await this.client.call("Clarify", { job_id: job, body: { question_id: asked.id, answer: text } });
    } else {
      const body = { session_id: this.session, instruction: text };
      job = (await this.client.call("Run", { body })).job_id;
    }
    await new Promise<void>((done) => this.#ended.set(job, done));
    this.#ended.delete(job);
  }

  async steer(text: string): Promise<void> {
    if (this.#job === null) throw new Error("the run has ended");
    await this.client.call("Steer", { job_id: this.#job, body: { text } });
  }

  async stop(): Promise<void> {
    if (this.#job !== null) await this.client.call("Cancel", { job_id: this.#job });
  }

  async answer(call: string, decision: Decision, reason: string): Promise<void> {
    if (this.#job === null) return;
    const name = decision === "always" ? "allow_always" : decision;
    const body = { tool_call_id: call, decision: name, ...(reason !== "" && { reason }) } as const;
    await this.client.call("Approve", { job_id: this.#job, body });
  }

  async runs(): Promise<readonly RunInfo[]> {
    await this.#read();
    return (await this.#tasksDone())[0];
  }

  async #tasksDone(): Promise<readonly [readonly RunInfo[], readonly JobRecord[]]> {
    const jobs = await this.#jobs();
    return [await this.#earlier.runs(this.session, jobs, this.#tasks), jobs];
  }

  /** Returns the jobs that have begun. Each has a checkpoint. */
  async #jobs(): Promise<readonly JobRecord[]> {
    const { jobs } = await this.client.call("ListJobs", { session_id: this.session });
    return jobs.filter((job) => job.checkpoint_id != null);
  }

  async past(run: number): Promise<readonly PastFile[]> {
    return this.#earlier.files(run, ...(await this.#tasksDone()));
  }

  async versions(path: string): Promise<readonly Version[]> {
    return this.#earlier.versions(path, ...(await this.#tasksDone()));
  }

  async rollBack(run: number, how: Rollback): Promise<RolledBack> {
    const { count, ...effect } = await this.#earlier.rollBack(await this.#jobs(), run, how);
    this.#putBack(count, "");
    return effect;
  }

  async rewind(run: number, extent: Extent, preview: boolean): Promise<Rewound> {
    const job = (await this.#jobs())[run]?.job_id;
    if (job === undefined) throw new Error("the server has no such task");
    const body = { job_id: job, ...extent, preview };
    const { restored, kept, lost } = await this.client.call("Rewind", { session_id: this.session, body });
    if (!preview) {
      this.#step({ kind: "go back", path: "", rewound: { session: this.session, job, extent } });
      await this.#read(true);
    }
    return { restored, kept, lost };
  }

  async putBack(_run: number, files: readonly PutBack[]): Promise<void> {
    const done = await this.#earlier.putBack(files);
    for (const { path, text } of done) text === null ? this.#files.remove(path) : this.#files.add(path);
    this.#putBack(done.length, files.length === 1 ? files[0]!.path : "");
  }

  #putBack(count: number, path: string): void {
    if (count > 0) this.#step({ kind: "put back", path, count });
  }

  async hunksBefore(): Promise<readonly string[]> {
    const last = (await this.#jobs()).at(-1)?.job_id;
    return last === undefined ? [] : hunksOfOthers(this.client, last);
  }

  search(text: string): Promise<readonly FileMatches[]> {
    return this.#files.search(text);
  }
}
