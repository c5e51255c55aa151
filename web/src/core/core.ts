/**
 * The engine of one page: an agent, the text on the user's disk as far as known, and the record of all operations.
 *
 * It runs in a worker. Every operation is recorded before it is carried out; `replay.ts` repeats the record.
 */
import {
  Agent,
  type AgentEvent,
  type AgentOptions,
  type CanvasState,
  type FileMatches,
  init,
  isEmendError,
  memoryStore,
  type Run,
  toZip,
} from "emend";
import { modelOf, type Settings } from "../settings.js";
import { Journal, listKept, loadKept, type Op } from "./journal.js";
import type {
  Contents,
  CoreApi,
  EventBatch,
  ModelChoice,
  ProjectInfo,
  Reading,
  Restored,
  Scope,
  Snapshot,
  Step,
  Steps,
  WrittenById,
} from "./protocol.js";
import { Recorder } from "./recorder.js";
import { replay } from "./replay.js";

/** An operation without its place in a run. */
type NewOp = Op extends infer Each ? (Each extends Op ? Omit<Each, "at"> : never) : never;

/** Maximum time in milliseconds for which events are collected without a pause for other operations. */
const SLICE_MS = 16;
const BATCH_MAX = 200;

/** Kinds of events whose number depends on the network. They do not count as places in a run. */
const DELTAS: ReadonlySet<AgentEvent["kind"]> = new Set([
  "ASSISTANT_TEXT_DELTA",
  "REASONING_DELTA",
  "TOOL_CALL_OUTPUT_DELTA",
  "WARNING",
]);

export class Core implements CoreApi {
  readonly #send: (batch: EventBatch) => Promise<void>;
  #agent: Agent | null = null;
  #journal: Journal | null = null;
  #recorder = new Recorder(() => undefined);
  /** Texts on the user's disk by path. A missing path means that there is no such text file. */
  #saved = new Map<string, string>();
  /** Paths whose saved text may have changed since the last snapshot, and those whose text differs. */
  #touched = new Set<string>();
  #unsaved = new Set<string>();
  /** The review of each file as the page has it, as JSON. */
  #sent = new Map<string, string>();
  #sentRevision = -1;
  #steps: { done: Step[]; undone: Step[] } = { done: [], undone: [] };
  #run: Run | null = null;
  #abort: AbortController | null = null;
  /** Number of events of the current run that were read, deltas left out. */
  #at = 0;
  #batches = 0;
  #replaying = false;
  #offline = true;
  readonly #written = new Map<string, WrittenById[number][1]>();
  /** The sessions of the conversations, and the index of the open one. */
  #sessions: string[] = [];
  #conversation = 0;

  constructor(send: (batch: EventBatch) => Promise<void>) {
    this.#send = send;
  }

  get #engine(): Agent {
    if (!this.#agent) throw new Error("no project is open");
    return this.#agent;
  }

  async open(info: ProjectInfo, files: Contents, settings: Settings): Promise<void> {
    await this.#start(files, modelOf(settings));
    this.#offline = settings.provider === "offline";
    const journal = new Journal(info.id);
    this.#journal = journal;
    await journal.begin(info, files);
    this.#note({ op: "model", model: choiceOf(settings) });
  }

  async restore(id: string, settings: Settings): Promise<Restored | null> {
    const kept = await loadKept(id);
    if (!kept) return null;
    await this.#start(kept.files, modelOf(settings));
    this.#replaying = true;
    let exact = true;
    try {
      exact = await replay(kept.ops, this, this.#recorder);
    } finally {
      this.#replaying = false;
      this.#recorder.live();
    }
    this.#journal = new Journal(id);
    this.#engine.configure({ model: modelOf(settings) });
    this.#offline = settings.provider === "offline";
    const [conversation, conversations] = [this.#conversation, this.#sessions.length];
    return { info: kept.info, exact, conversation, conversations, written: [...this.#written] };
  }

  projects(): Promise<readonly ProjectInfo[]> {
    return listKept();
  }

  async recorded(): Promise<boolean> {
    return this.#journal?.works ?? false;
  }

  async #start(files: Contents, model: NonNullable<AgentOptions["model"]>): Promise<void> {
    const recorder = new Recorder((response) => this.#note({ op: "response", ...response }));
    const agent = await Agent.create({ files, model, mode: "staged", fetch: recorder.fetch, store: memoryStore() });
    [this.#sessions, this.#conversation] = [[agent.sessionId], 0];
    this.#abort?.abort();
    this.#agent?.close();
    this.#agent = agent;
    this.#recorder = recorder;
    this.#journal = null;
    this.#saved = new Map(
      Object.entries(files).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
    );
    this.#written.clear();
    this.#touched = new Set();
    this.#unsaved = new Set();
    this.#sent = new Map();
    this.#sentRevision = -1;
    this.#steps = { done: [], undone: [] };
    [this.#run, this.#abort, this.#at] = [null, null, 0];
  }

  /** Records an operation with its place in the current run. */
  #note(op: NewOp): void {
    if (!this.#replaying) this.#journal?.append({ ...op, at: this.#abort ? this.#at : 0 } as Op);
  }

  #step(step: Step): void {
    this.#steps = { done: [...this.#steps.done, step], undone: [] };
  }

  async snapshot(scope: Scope, path: string | null): Promise<Snapshot> {
    const engine = this.#engine;
    const list = scope === "files" ? await engine.files.list() : null;
    if (scope !== "hunks") await this.#readUnsaved();
    // Text and review are read in one step, so that the hunks belong to the text.
    const reading = path === null ? null : await this.#reading(path);
    const review = engine.review();
    const changed = [];
    if (review.revision !== this.#sentRevision) {
      const now = new Map<string, string>();
      for (const file of review.files) {
        const text = JSON.stringify(file);
        now.set(file.path, text);
        if (this.#sent.get(file.path) !== text) changed.push(file);
        this.#touched.add(file.path);
      }
      this.#sent = now;
      this.#sentRevision = review.revision;
    }
    return {
      revision: review.revision,
      paths: review.files.map((file) => file.path),
      changed,
      list,
      unsaved: scope === "hunks" ? null : [...this.#unsaved],
      reading,
      lease: engine.canvas.state(),
      steps: this.#steps,
    };
  }

  async #readUnsaved(): Promise<void> {
    const touched = [...this.#touched];
    this.#touched.clear();
    for (const path of touched) {
      if ((await this.#engine.files.readDisk(path)) === (this.#saved.get(path) ?? null)) this.#unsaved.delete(path);
      else this.#unsaved.add(path);
    }
  }

  async #reading(path: string): Promise<Reading> {
    try {
      const state = await this.#engine.files.read(path);
      return state ? { text: state.text } : { problem: "", code: "not_found" };
    } catch (error) {
      return { problem: messageOf(error), code: isEmendError(error) ? error.code : "unexpected" };
    }
  }

  async read(path: string): Promise<string | null> {
    return (await this.#engine.files.read(path))?.text ?? null;
  }

  readDisk(path: string): Promise<string | null> {
    return this.#engine.files.readDisk(path);
  }

  async savedText(path: string): Promise<string | null> {
    return this.#saved.get(path) ?? null;
  }

  async noteSaved(path: string, text: string | null): Promise<void> {
    this.#note({ op: "saved", path, text });
    if (text === null) this.#saved.delete(path);
    else this.#saved.set(path, text);
    this.#touched.add(path);
  }

  async write(path: string, text: string, base: string | null, step: Step, written: WrittenById = []) {
    this.#note({ op: "write", path, text, base, step, ...(written.length > 0 && { written }) });
    for (const [id, each] of written) this.#written.set(id, each);
    const before = await this.read(path);
    const { text: after } = await this.#engine.files.write(path, text, base === null ? {} : { base });
    this.#touched.add(path);
    const changed = before !== after;
    if (changed) this.#step(step);
    return { text: after, changed };
  }

  async remove(path: string): Promise<void> {
    this.#note({ op: "remove", path });
    await this.#engine.files.remove(path);
    this.#touched.add(path);
    this.#step({ kind: "typing", path });
  }

  diff(): Promise<string> {
    return this.#engine.files.diff();
  }

  zip(files: Contents): Promise<Uint8Array> {
    return toZip(files);
  }

  search(pattern: string, ignoreCase: boolean): Promise<readonly FileMatches[]> {
    return this.#engine.files.grep(pattern, { ignoreCase, maxResults: 500 });
  }

  async accept(ids: readonly string[], over: boolean, path: string): Promise<void> {
    this.#note({ op: "accept", ids, over, path });
    this.#touch(path || null);
    await this.#engine.accept(ids, { over });
    this.#step({ kind: "accept", path });
  }

  async reject(ids: readonly string[], dependents: "refuse" | "only" | "with", path: string): Promise<void> {
    this.#note({ op: "reject", ids, dependents, path });
    this.#touch(path || null);
    await this.#engine.reject(ids, { dependents });
    this.#step({ kind: "reject", path });
  }

  async acceptAll(path: string | null): Promise<void> {
    this.#note({ op: "acceptAll", path });
    this.#touch(path);
    await this.#engine.acceptAll(path ?? undefined);
    this.#step({ kind: "accept", path: path ?? "" });
  }

  async rejectAll(path: string | null): Promise<void> {
    this.#note({ op: "rejectAll", path });
    this.#touch(path);
    await this.#engine.rejectAll(path ?? undefined);
    this.#step({ kind: "reject", path: path ?? "" });
  }

  #touch(path: string | null): void {
    for (const each of path === null ? this.#sent.keys() : [path]) this.#touched.add(each);
  }

  async undo(): Promise<void> {
    this.#note({ op: "undo" });
    await this.#engine.undo();
    const { done, undone } = this.#steps;
    const last = done.at(-1);
    if (last) this.#steps = { done: done.slice(0, -1), undone: [...undone, last] };
    this.#touchStep(last);
  }

  async redo(): Promise<void> {
    this.#note({ op: "redo" });
    await this.#engine.redo();
    const { done, undone } = this.#steps;
    const last = undone.at(-1);
    if (last) this.#steps = { done: [...done, last], undone: undone.slice(0, -1) };
    this.#touchStep(last);
  }

  /** A step of all files can have changed any file that ever differed. */
  #touchStep(step: Step | undefined): void {
    if (step && step.path !== "") this.#touched.add(step.path);
    else for (const path of [...this.#sent.keys(), ...this.#unsaved, ...this.#saved.keys()]) this.#touched.add(path);
  }

  async canvas(): Promise<CanvasState> {
    return this.#engine.canvas.state();
  }

  async openCanvas(path: string | null): Promise<void> {
    this.#note({ op: "canvas", path });
    if (path === null) this.#engine.canvas.close();
    else this.#engine.canvas.open(path);
  }

  async takeBack(): Promise<void> {
    this.#note({ op: "takeBack" });
    this.#engine.canvas.takeBack();
  }

  async setModel(settings: Settings): Promise<void> {
    this.#engine.setModel(modelOf(settings));
    this.#offline = settings.provider === "offline";
    this.#note({ op: "model", model: choiceOf(settings) });
  }

  /** Uses the model of a recorded run, without its key and without pauses. */
  useRecorded(choice: ModelChoice): void {
    this.#offline = choice.provider === "offline";
    this.#engine.setModel(modelOf({ ...choice, pace: "instant", apiKey: "recorded", remember: false }));
  }

  async run(text: string, reached: (at: number) => Promise<void> = async () => undefined): Promise<void> {
    this.#note({ op: "run", text });
    const abort = new AbortController();
    const agent = this.#engine;
    const run = agent.run(text, { signal: abort.signal });
    [this.#run, this.#abort, this.#at] = [run, abort, 0];
    let failed = false;
    const batch: AgentEvent[] = [];
    let sending: Promise<void> = Promise.resolve();
    const flush = (): void => {
      // Another project was opened.
      if (batch.length === 0 || this.#agent !== agent) return;
      this.#note({ op: "seen" });
      const events = batch.splice(0);
      const [number, lease] = [++this.#batches, agent.canvas.state()];
      sending = Promise.all([
        sending,
        this.#send({
          number,
          events,
          lease,
          conversation: this.#conversation,
          offline: this.#offline,
          replayed: this.#replaying,
        }),
      ]).then(() => undefined);
    };
    // While the model is slow, events must not wait for the next one.
    const timer = setInterval(flush, SLICE_MS);
    try {
      await reached(0);
      let begun = performance.now();
      for await (const event of run) {
        batch.push(event);
        if (this.#agent !== agent) break;
        if (event.kind === "FILE_CHANGED") this.#touched.add(event.data.path);
        if (event.kind === "ERROR") failed = true;
        if (!DELTAS.has(event.kind)) this.#at += 1;
        if (event.kind === "PROCESSING_END" && this.#run === run) this.#run = null;
        if (batch.length >= BATCH_MAX || event.kind === "PROCESSING_END" || performance.now() - begun > SLICE_MS) {
          flush();
          // A pause for other operations. The run does not advance meanwhile.
          await sending;
          begun = performance.now();
        }
        if (this.#run === run) await reached(this.#at);
      }
    } finally {
      clearInterval(timer);
      flush();
      await sending;
      if (this.#abort === abort) {
        this.#note({ op: "end", failed });
        [this.#run, this.#abort, this.#at] = [null, null, 0];
        this.#note({ op: "state", sum: this.stateSum() });
      }
    }
  }

  async converse(index: number): Promise<void> {
    const engine = this.#engine;
    // A change of the model may have started another session.
    this.#sessions[this.#conversation] = engine.sessionId;
    const id = this.#sessions[index];
    if (id === undefined) await engine.newSession();
    else await engine.openSession(id);
    this.#note({ op: "converse", index });
    this.#sessions[index] = engine.sessionId;
    this.#conversation = index;
  }

  async steer(text: string): Promise<void> {
    if (!this.#run) throw new Error("the run has ended");
    this.#note({ op: "steer", text });
    this.#run.steer(text);
  }

  async stop(): Promise<void> {
    this.#note({ op: "stop" });
    this.#abort?.abort();
  }

  async preloadOffline(): Promise<void> {
    await init({ offline: true });
  }

  /** Repeats an operation that is not part of the running of a model. */
  async repeat(op: Op): Promise<void> {
    switch (op.op) {
      case "write":
        return void (await this.write(op.path, op.text, op.base, op.step, op.written));
      case "accept":
        return this.accept(op.ids, op.over, op.path);
      case "reject":
        return this.reject(op.ids, op.dependents, op.path);
      case "acceptAll":
      case "rejectAll":
        return this[op.op](op.path);
      case "canvas":
        return this.openCanvas(op.path);
      case "saved":
        return this.noteSaved(op.path, op.text);
      case "remove":
        return this.remove(op.path);
      case "converse":
        return this.converse(op.index);
      case "steer":
        return this.steer(op.text);
      case "undo":
      case "redo":
      case "takeBack":
      case "stop":
        return this[op.op]();
      default:
        return undefined;
    }
  }

  /** Returns a number that tells two states of the review apart. */
  stateSum(): number {
    let sum = 0;
    for (const { path, hunks } of this.#engine.review().files) {
      for (const char of `${path}\n${hunks.map((hunk) => `${hunk.id} ${hunk.newStart} ${hunk.lines.length}`).join()}\n`) {
        sum = (Math.imul(sum, 31) + char.charCodeAt(0)) | 0;
      }
    }
    return sum;
  }

  get steps(): Steps {
    return this.#steps;
  }
}

function choiceOf({ apiKey: _key, remember: _remember, ...choice }: Settings): ModelChoice {
  return choice;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
