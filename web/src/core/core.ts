/**
 * The engine of one page: an agent, the text on the user's disk as far as known, and the record of all operations.
 *
 * It runs in a worker. Every operation is recorded before it is carried out; `replay.ts` repeats the record. It has more than
 * 600 lines, because each operation of the page is one method over the same private state.
 */
import {
  Agent,
  type AgentEvent,
  type CanvasState,
  type FileMatches,
  init,
  memoryStore,
  type Review,
  type Run,
  type SessionStore,
} from "emend";
import type { Draft } from "../drafts.js";
import { pendingHunks } from "../hunk-text.js";
import { DEFAULT_OPTIONS, DEFAULT_SETTINGS, type Options, type Settings } from "../settings.js";
import type { Answering } from "./answering.js";
import { Approvals } from "./approvals.js";
import {
  type Decision,
  fromBase64,
  Journal,
  listKept,
  loadKept,
  loadRecording,
  type Op,
  recordingOf,
  removeKept,
} from "./journal.js";
import { ASK_FOR_COMMANDS, choiceOf, limitsOf, modelOf, settingsOf } from "./model-options.js";
import { costOf } from "./prices.js";
import type {
  Contents,
  CoreApi,
  EventBatch,
  GoingBack,
  ModelChoice,
  OfServer,
  PastFile,
  Picture,
  ProjectInfo,
  PutBack,
  Restored,
  RunInfo,
  Scope,
  ShownEvent,
  Snapshot,
  Spent,
  Step,
  Version,
  WriteResult,
  WrittenById,
} from "./protocol.js";
import { readingOf } from "./reading.js";
import { Recorder } from "./recorder.js";
import { ReviewChanges, sumOf } from "./review-changes.js";
import { RunList } from "./run-list.js";
import { SavedTexts } from "./saved-texts.js";
import { withStep } from "./steps.js";
import { type By, TextHistory } from "./text-history.js";

/** An operation without its place in a run. */
type NewOp = Op extends infer Each ? (Each extends Op ? Omit<Each, "at"> : never) : never;

/** An agent that another one has replaced, because the project went back to before a run, or forth again. */
interface Held {
  readonly agent: Agent;
  readonly recorder: Recorder;
  readonly approvals: Approvals;
}

/** Maximum time in milliseconds for which a run is read without a pause for other operations. */
const SLICE_MS = 16;
/** Time in milliseconds in which events are collected: the page draws each batch, and a run can cause hundreds in a second. */
const BATCH_MS = 40;
const BATCH_MAX = 200;

/** Kinds of steps that change a text by the user's own words, also when they are undone. */
const OWN_STEPS: ReadonlySet<Step["kind"]> = new Set(["typing", "new file", "delete", "rename", "put back", "disk"]);
/** Few pages have scripts. */
const ASK_SCRIPT = async (init: RequestInit): Promise<Response> =>
  (await import("./script-request.js")).askScript(init);

/** Kinds of events whose number depends on the network. They do not count as places in a run. */
const DELTAS: ReadonlySet<AgentEvent["kind"]> = new Set([
  "ASSISTANT_TEXT_DELTA",
  "REASONING_DELTA",
  "TOOL_CALL_OUTPUT_DELTA",
  "WARNING",
]);

export class Core implements Omit<CoreApi, "join" | "enter" | "rewind" | "rollBack" | keyof OfServer> {
  readonly #send: (batch: EventBatch) => Promise<void>;
  #agent: Agent | null = null;
  #journal: Journal | null = null;
  #recorder = new Recorder(() => undefined);
  #saved = new SavedTexts({});
  readonly #review = new ReviewChanges();
  #steps: { done: Step[]; undone: Step[] } = { done: [], undone: [] };
  #run: Run | null = null;
  #abort: AbortController | null = null;
  /** Number of events of the current run that were read, deltas left out. */
  #at = 0;
  /** Number of characters of the deltas since then. */
  #chars = 0;
  /** Number of events that were read, or -1 while one is shown. */
  #progress = 0;
  #batches = 0;
  #replaying = false;
  #offline = true;
  #modelName = "";
  /** The answers of the current run by model, and the events of the page itself that come before the next one. */
  #spent: Spent[] = [];
  #told: AgentEvent[] = [];
  #hasSwitched = false;
  /** The limit of time that ended the run when it was recorded. */
  #limit: number | null = null;
  readonly #written = new Map<string, WrittenById[number][1]>();
  /** The files as they were opened, and the store of all sessions: what another agent needs. */
  #opened: Contents = {};
  #store: SessionStore = memoryStore();
  #approvals = new Approvals();
  #options: Options = DEFAULT_OPTIONS;
  /** The model of the next runs; null while operations are repeated. */
  #settings: Settings | null = null;
  #id = "";
  #runs = new RunList();
  #texts = new TextHistory(() => null);
  /** The pictures that can go with messages, and their bytes in base64. */
  readonly #pictures = new Map<string, readonly [picture: Picture, data: string]>();
  /** The messages of the present run that it has not shown yet. */
  #unshown: { readonly text: string; readonly pictures: readonly Picture[] }[] = [];
  readonly #titles = new Map<number, string>();
  #behind: Held[] = [];
  #ahead: Held[] = [];
  #askedBefore = 0;
  /** Called at the end of the run, for a project that is left during one. */
  #ended: (() => void) | null = null;
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

  async open(info: ProjectInfo, files: Contents, settings: Settings, options: Options): Promise<void> {
    await this.#start(files, settings, options);
    this.#use(settings);
    const journal = new Journal(info.id);
    [this.#journal, this.#id] = [journal, info.id];
    await journal.begin(info, files);
    this.#note({ op: "options", options });
    this.#note({ op: "model", model: choiceOf(settings) });
  }

  async restore(id: string, settings: Settings, options: Options, drafts: readonly Draft[]): Promise<Restored | null> {
    const kept = await loadKept(id);
    if (!kept) return null;
    const exact = await this.#rebuild(kept.files, kept.ops, options, memoryStore());
    [this.#journal, this.#id] = [new Journal(id), id];
    await this.#journal.reopen({ ...kept.info, opened: Date.now() });
    await this.setOptions(options);
    this.#engine.configure({ model: modelOf(settings, this.#answering) });
    this.#use(settings);
    await this.#addDrafts(drafts, kept.ops);
    const [conversation, conversations] = [this.#conversation, this.#sessions.length];
    const [titles, written] = [[...this.#titles], [...this.#written]];
    return { info: kept.info, exact, conversation, conversations, titles, written };
  }

  /** Writes the edits that came too late for the record. */
  async #addDrafts(drafts: readonly Draft[], ops: readonly Op[]): Promise<void> {
    const recorded = new Set(ops.flatMap((op) => (op.op === "write" && op.key !== undefined ? [op.key] : [])));
    for (const { key, path, text, base, written } of drafts) {
      if (recorded.has(key)) continue;
      // A file that is gone takes no text.
      await this.write(path, text, base, { kind: "typing", path }, written, key).catch(() => undefined);
    }
  }

  /** Starts an agent and repeats operations. Returns whether the state is as it was recorded. */
  async #rebuild(files: Contents, ops: readonly Op[], options: Options, store: SessionStore): Promise<boolean> {
    // Whether there is a shell is fixed when an agent is created.
    const shell = options.shell || ops.some((op) => op.op === "options" && op.options.shell);
    await this.#start(files, DEFAULT_SETTINGS, { ...DEFAULT_OPTIONS, shell }, store);
    this.#replaying = true;
    try {
      const { replay } = await import("./replay.js");
      // A return to before a task goes on in another agent, which has a recorder of its own.
      return await replay(ops, this, { repeat: (...given) => this.#recorder.repeat(...given) });
    } finally {
      this.#replaying = false;
      for (const { recorder } of [this.#held, ...this.#behind, ...this.#ahead]) recorder.live();
    }
  }

  projects(): Promise<readonly ProjectInfo[]> {
    return listKept();
  }

  async recorded(): Promise<boolean> {
    return this.#journal?.works ?? false;
  }

  readonly forget = (id: string): Promise<void> => removeKept(id);

  async warm(): Promise<void> {
    await init();
  }

  async recording(): Promise<string> {
    await this.#journal?.ops();
    return recordingOf(this.#id);
  }

  async keepRecording(text: string, id: string): Promise<void> {
    return loadRecording(text, id);
  }

  async unzip(archive: Blob): Promise<{ files: Contents; skipped: readonly string[] }> {
    return (await import("./archives.js")).unzip(archive);
  }

  async #start(files: Contents, settings: Settings, options: Options, store = memoryStore()): Promise<void> {
    const recorder = new Recorder((part) => this.#note({ op: "part", ...part }), ASK_SCRIPT);
    const approvals = new Approvals();
    const agent = await Agent.create({
      files,
      model: modelOf(settings, this.#answeringBy(recorder)),
      mode: "staged",
      questions: true,
      fetch: recorder.fetch,
      store,
      ...(options.shell && { shell: true, approve: approvals.ask, policy: ASK_FOR_COMMANDS }),
      ...limitsOf(options),
    });
    [this.#sessions, this.#conversation] = [[agent.sessionId], 0];
    this.#abort?.abort();
    for (const { agent: held } of [...this.#behind, ...this.#ahead]) held.close();
    this.#agent?.close();
    this.#agent = agent;
    this.#recorder = recorder;
    [this.#opened, this.#store, this.#approvals, this.#options] = [files, store, approvals, options];
    [this.#runs, this.#behind, this.#ahead] = [new RunList(), [], []];
    this.#settings = null;
    this.#journal = null;
    this.#saved = new SavedTexts(files);
    this.#texts = new TextHistory((path) => {
      const content = files[path];
      return typeof content === "string" ? content : null;
    });
    this.#written.clear();
    this.#titles.clear();
    this.#pictures.clear();
    this.#review.reset();
    this.#steps = { done: [], undone: [] };
    [this.#run, this.#abort, this.#at] = [null, null, 0];
  }

  get #answering(): Answering {
    return this.#answeringBy(this.#recorder);
  }

  /** Returns what scripts and models with a second one need of the engine. */
  #answeringBy(recorder: Recorder): Answering {
    return {
      send: recorder.fetch,
      next: () => recorder.next,
      switched: (to, why) => {
        if (this.#hasSwitched) return;
        this.#hasSwitched = true;
        const message = `${this.#modelName} does not answer: ${why.replace(/\.$/, "")}. ${to} is asked instead.`;
        const data = { code: "fallback", message };
        this.#told.push({
          cursor: -++this.#batches,
          ts: Date.now(),
          sessionId: this.#engine.sessionId,
          kind: "WARNING",
          data,
        });
      },
      answered: (spent) => this.#spent.push(spent),
    };
  }

  #use(settings: Settings): void {
    [this.#settings, this.#offline, this.#modelName] = [settings, settings.provider === "offline", settings.model];
  }

  /** Records an operation with its place in the current run. */
  #note(op: NewOp): void {
    if (this.#replaying) return;
    const [at, chars] = this.#abort ? [this.#at, this.#chars] : [0, 0];
    this.#journal?.append({ ...op, at, ...(chars > 0 && { chars }) } as Op);
  }

  #step(step: Step): void {
    this.#steps = withStep(this.#steps.done, step);
    for (const { agent } of this.#ahead.splice(0)) agent.close();
  }

  #noteText(path: string, text: string | null, by: By): void {
    // A text that cannot be told from those of a running task is not the user's.
    this.#texts.note(path, text, by, 2 * this.#runs.count - (this.#abort ? 1 : 0), Date.now());
  }

  /** Notes the present texts of a file, or of all that ever changed. */
  async #noteTexts(by: By, path: string | null): Promise<void> {
    const running = this.#abort !== null;
    const paths = path === null ? new Set([...this.#texts.files.keys(), ...this.#runs.changedPaths()]) : [path];
    for (const each of paths) this.#noteText(each, await this.#textOf(each), running ? "other" : by);
  }

  #textOf(path: string): Promise<string | null> {
    return this.read(path).catch(() => null);
  }

  async snapshot(scope: Scope, path: string | null): Promise<Snapshot> {
    const engine = this.#engine;
    const list = scope === "files" ? await engine.files.list() : null;
    const unsaved = scope === "hunks" ? null : await this.#saved.unsaved((each) => engine.files.readDisk(each));
    // Text and review are read in one step, so that the hunks belong to the text.
    const reading = path === null ? null : await readingOf(engine.files, path);
    const { revision, changed } = this.#review.read(engine);
    this.#saved.touch(...changed.map((file) => file.path));
    return {
      revision,
      paths: this.#review.paths,
      changed,
      list,
      unsaved,
      reading,
      lease: engine.canvas.state(),
      steps: this.#steps,
    };
  }

  async read(path: string): Promise<string | null> {
    return (await this.#engine.files.read(path))?.text ?? null;
  }

  readDisk(path: string): Promise<string | null> {
    return this.#engine.files.readDisk(path);
  }

  async savedText(path: string): Promise<string | null> {
    return this.#saved.of(path);
  }

  async noteSaved(path: string, text: string | null, time = Date.now()): Promise<void> {
    this.#note({ op: "saved", path, text, time });
    this.#saved.set(path, text);
    this.#texts.noteSaved(path, time);
  }

  async write(
    path: string,
    text: string,
    base: string | null,
    step: Step,
    written: WrittenById = [],
    key?: string,
  ): Promise<WriteResult> {
    this.#note({
      op: "write",
      path,
      text,
      base,
      step,
      ...(written.length > 0 && { written }),
      ...(key !== undefined && { key }),
    });
    for (const [id, each] of written) this.#written.set(id, each);
    const before = await this.read(path);
    const { text: after } = await this.#engine.files.write(path, text, base === null ? {} : { base });
    this.#saved.touch(path);
    this.#noteText(path, before, "other");
    this.#noteText(path, after, "user");
    const changed = before !== after;
    if (changed) this.#step(step);
    // Only the agent writes beside the user here, and the review shows its lines.
    return { text: after, changed, replaced: [] };
  }

  async remove(path: string): Promise<void> {
    const { removable } = await import("./file-tools.js");
    this.#note({ op: "remove", path });
    const paths = await removable(this.#engine.files, path);
    for (const each of paths) {
      this.#noteText(each, await this.#textOf(each), "other");
      await this.#engine.files.remove(each);
      this.#noteText(each, null, "user");
    }
    this.#saved.touch(...paths);
    this.#step({ kind: "delete", path, count: paths.length });
  }

  async rename(path: string, to: string): Promise<void> {
    const { moveFiles } = await import("./file-tools.js");
    this.#note({ op: "rename", path, to });
    const paths = await moveFiles(this.#engine.files, path, to);
    this.#saved.touch(...paths);
    for (let at = 0; at + 1 < paths.length; at += 2) {
      const [from, into] = [paths[at]!, paths[at + 1]!];
      this.#noteText(from, await this.#textOf(into), "other");
      this.#texts.moved(from, into);
      this.#noteText(from, null, "user");
    }
    // Each file is written and removed, which are two steps of the engine.
    this.#step({ kind: "rename", path, count: paths.length });
  }

  diff(): Promise<string> {
    return this.#engine.files.diff();
  }

  async zip(files: Contents): Promise<Uint8Array> {
    return (await import("./archives.js")).toZip(files);
  }

  exportFiles(): Promise<Contents> {
    return this.#engine.files.export();
  }

  async zipAll(pending: boolean): Promise<Uint8Array> {
    return this.zip(await this.#engine.files.export({ pending }));
  }

  search(text: string): Promise<readonly FileMatches[]> {
    const [pattern, ignoreCase] = [text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), true];
    return this.#engine.files.grep(pattern, { ignoreCase, maxResults: 500 });
  }

  async accept(ids: readonly string[], over: boolean, path: string): Promise<void> {
    this.#note({ op: "accept", ids, over, path });
    this.#touch(path || null);
    await this.#engine.accept(ids, { over });
    await this.#noteTexts("other", path || null);
    this.#step({ kind: "accept", path });
  }

  async reject(ids: readonly string[], dependents: "refuse" | "only" | "with", path: string): Promise<void> {
    this.#note({ op: "reject", ids, dependents, path });
    this.#touch(path || null);
    await this.#engine.reject(ids, { dependents });
    await this.#noteTexts("other", path || null);
    this.#step({ kind: "reject", path });
  }

  async split(id: string, line: number, path: string): Promise<void> {
    this.#note({ op: "split", id, line, path });
    await this.#engine.split(id, line);
    this.#step({ kind: "split", path });
  }

  async acceptAll(path: string | null): Promise<boolean> {
    this.#note({ op: "acceptAll", path });
    return this.#decideAll({ kind: "accept", path: path ?? "" }, () => this.#engine.acceptAll(path ?? undefined));
  }

  async rejectAll(path: string | null): Promise<boolean> {
    this.#note({ op: "rejectAll", path });
    return this.#decideAll({ kind: "reject", path: path ?? "" }, () => this.#engine.rejectAll(path ?? undefined));
  }

  /** Without a decided hunk the engine has no step either, and the next Undo would take back an earlier one. */
  async #decideAll(step: Step, decide: () => Promise<Review>): Promise<boolean> {
    this.#touch(step.path || null);
    const before = pendingIds(this.#engine.review());
    const after = new Set(pendingIds(await decide()));
    await this.#noteTexts("other", step.path || null);
    const decided = before.some((id) => !after.has(id));
    if (decided) this.#step(step);
    return decided;
  }

  #touch(path: string | null): void {
    this.#saved.touch(...(path === null ? this.#review.paths : [path]));
  }

  async undo(): Promise<void> {
    const { done, undone } = this.#steps;
    const last = done.at(-1);
    if (!last) throw new Error("there is nothing to undo");
    this.#refuseDuringRun(last);
    this.#note({ op: "undo", step: last });
    // Before the engine is asked, so that another call in between takes the step before this one.
    this.#steps = { done: done.slice(0, -1), undone: [...undone, last] };
    if (last.kind === "go back") await this.#swap(this.#behind, this.#ahead);
    else for (let at = 0; at < (last.count ?? 1); at++) await this.#engine.undo();
    this.#touchStep(last);
    await this.#noteStep(last);
  }

  async redo(): Promise<void> {
    const { done, undone } = this.#steps;
    const last = undone.at(-1);
    if (!last) throw new Error("there is nothing to redo");
    this.#refuseDuringRun(last);
    this.#note({ op: "redo", step: last });
    this.#steps = { done: [...done, last], undone: undone.slice(0, -1) };
    if (last.kind === "go back") await this.#swap(this.#ahead, this.#behind);
    else for (let at = 0; at < (last.count ?? 1); at++) await this.#engine.redo();
    this.#touchStep(last);
    await this.#noteStep(last);
  }

  /** Notes the texts after a step was undone or redone. */
  #noteStep({ kind, path }: Step): Promise<void> {
    const isOfFile = kind !== "delete" && kind !== "rename" && path !== "";
    return this.#noteTexts(OWN_STEPS.has(kind) ? "user" : "other", isOfFile ? path : null);
  }

  async runs(): Promise<readonly RunInfo[]> {
    return this.#runs.list(this.#steps.done);
  }

  async hunksBefore(): Promise<readonly string[]> {
    return this.#runs.hunksBefore();
  }

  async past(run: number): Promise<readonly PastFile[]> {
    const { pastFiles } = await import("./earlier.js");
    await this.#noteTexts("other", null);
    const saved = (path: string): string | null => this.#saved.of(path);
    return pastFiles(this.#texts, run, await this.runs(), (path) => this.#textOf(path), saved);
  }

  async versions(path: string): Promise<readonly Version[]> {
    const { versionsOf } = await import("./earlier.js");
    await this.#noteTexts("other", path);
    return versionsOf(this.#texts, path, await this.runs());
  }

  /** Refuses a step to another agent while one works: its task would end without a word. */
  #refuseDuringRun(step: Pick<Step, "kind">): void {
    if (step.kind === "go back" && this.#abort) throw new Error("the assistant still works; stop it first");
  }

  async goBack(run: number, how: GoingBack = {}, ops?: readonly Op[]): Promise<void> {
    this.#refuseDuringRun({ kind: "go back" });
    const before = await this.#past(run, how, ops ?? (await this.#journal?.ops()) ?? []);
    await this.#noteTexts("other", null);
    this.#note({ op: "goBack", run, ...how });
    this.#step({ kind: "go back", path: "", runs: [run, this.#runs.count] });
    this.#behind.push(this.#held);
    await this.#continueIn(before.#held);
    await this.#noteTexts("other", null);
  }

  get #held(): Held {
    return { agent: this.#engine, recorder: this.#recorder, approvals: this.#approvals };
  }

  async putBack(run: number, files: readonly PutBack[]): Promise<void> {
    const { putBack } = await import("./earlier.js");
    const path = files.length === 1 ? (files[0]?.path ?? "") : "";
    this.#note({ op: "putBack", run, files, path });
    const count = await putBack(this.#engine, files, this.#runs.hunksBefore(run));
    for (const each of files) this.#noteText(each.path, each.text, "user");
    this.#saved.touch(...files.map((each) => each.path));
    if (count > 0) this.#step({ kind: "put back", path, count });
  }

  /** Returns the project as it was before a run, in an engine of its own. */
  async #past(run: number, { hard, texts = [] }: GoingBack, ops: readonly Op[]): Promise<Core> {
    if (ops.length === 0) throw new Error("this browser keeps no record of the project");
    const core = new Core(async () => undefined);
    const [{ opsBefore }, { giveTexts }] = await Promise.all([import("./history.js"), import("./earlier.js")]);
    await core.#rebuild(this.#opened, opsBefore(ops, run, hard), this.#options, this.#store);
    await giveTexts(core.#engine, texts);
    return core;
  }

  async #swap(from: Held[], to: Held[]): Promise<void> {
    const next = from.pop();
    if (!next) throw new Error("there is no such step");
    to.push(this.#held);
    await this.#continueIn(next);
  }

  /** Uses another agent, with the open conversation. */
  async #continueIn({ agent, recorder, approvals }: Held): Promise<void> {
    const id = this.#engine.sessionId;
    [this.#agent, this.#recorder, this.#approvals] = [agent, recorder, approvals];
    recorder.recordTo((part) => this.#note({ op: "part", ...part }));
    // A conversation without messages is not in the store.
    await agent.openSession(id).catch(() => agent.newSession());
    this.#sessions[this.#conversation] = agent.sessionId;
    if (this.#settings)
      agent.configure({ model: modelOf(this.#settings, this.#answering), ...limitsOf(this.#options) });
    this.#review.reset();
    this.#touchStep(undefined);
    this.#saved.touch(...this.#runs.changedPaths());
  }

  /**
   * A step of all files can have changed any file that ever differed. The path of a deletion or renaming can be a folder's,
   * and a renaming has a second one.
   */
  #touchStep(step: Step | undefined): void {
    const isOfFile = step !== undefined && step.path !== "" && step.kind !== "delete" && step.kind !== "rename";
    if (isOfFile && (step.count ?? 1) === 1) this.#saved.touch(step.path);
    else {
      this.#saved.touch(...this.#review.paths);
      this.#saved.touchAll();
    }
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
    this.#engine.setModel(modelOf(settings, this.#answering));
    this.#use(settings);
    this.#note({ op: "model", model: choiceOf(settings) });
  }

  async setOptions(options: Options): Promise<void> {
    this.#note({ op: "options", options });
    this.#options = options;
    // A repetition does not take the time of the recorded runs.
    this.#engine.configure(limitsOf(this.#replaying ? { ...options, maxMinutes: 0 } : options));
  }

  readonly cost = costOf;

  async answer(call: string, decision: Decision, reason: string): Promise<void> {
    this.#note({ op: "answer", call, decision, reason });
    this.#approvals.answer(call, decision, reason);
  }

  /** Uses the model of a recorded run, without its key and without pauses. */
  useRecorded(choice: ModelChoice): void {
    [this.#offline, this.#modelName] = [choice.provider === "offline", choice.model];
    this.#engine.setModel(modelOf(settingsOf(choice), this.#answering));
  }

  async addPicture(file: File): Promise<Picture> {
    const { readPicture } = await import("./pictures.js");
    const { picture, data } = await readPicture(file);
    this.keepPicture(picture, data);
    return picture;
  }

  keepPicture(picture: Picture, data: string): void {
    this.#note({ op: "picture", picture, data });
    this.#pictures.set(picture.id, [picture, data]);
  }

  /** Returns the pictures of a message, and their images for the engine. */
  #sent(ids: readonly string[]) {
    const found = ids.map((id) => {
      const kept = this.#pictures.get(id);
      if (!kept) throw new Error("a picture is not in this browser any more; remove it and add it again");
      return kept;
    });
    const images = found.map(([{ name, mediaType }, data]) => ({ name, mediaType, data: fromBase64(data) }));
    return { pictures: found.map(([picture]) => picture), images };
  }

  /** Adds its pictures to the event of a message that the model receives, or never will. */
  #withPictures(event: AgentEvent): ShownEvent {
    if (!/^(USER_INPUT|STEERING_)/.test(event.kind)) return event;
    const at = this.#unshown.findIndex(({ text }) => "content" in event.data && text === event.data.content);
    const [found] = at < 0 ? [] : this.#unshown.splice(at, 1);
    return found && found.pictures.length > 0 ? { ...event, pictures: found.pictures } : event;
  }

  async run(
    text: string,
    pictures: readonly string[] = [],
    reached: (at: number, chars: number) => Promise<void> = async () => undefined,
    time = Date.now(),
  ): Promise<void> {
    this.#askedBefore = this.#recorder.asked;
    const abort = new AbortController();
    const agent = this.#engine;
    const sent = this.#sent(pictures);
    // Recorded only if the model takes its pictures, because runs are counted. Its first response comes later in any case.
    const run = agent.run(text, { signal: abort.signal, images: sent.images });
    this.#note({ op: "run", text, time, ...(pictures.length > 0 && { pictures }) });
    this.#unshown = [{ text, pictures: sent.pictures }];
    const hunks = agent.review().files.flatMap((file) => file.hunks.map((hunk) => hunk.id));
    const record = this.#runs.begin(text, sent.pictures, this.#conversation, hunks, time);
    [this.#run, this.#abort, this.#at, this.#chars, this.#progress] = [run, abort, 0, 0, 0];
    [this.#spent, this.#told, this.#hasSwitched, this.#limit] = [[], [], false, null];
    let failed = false;
    const batch: ShownEvent[] = [];
    let [behind, sending]: Promise<void>[] = [Promise.resolve(), Promise.resolve()];
    const flush = (): void => {
      // Another project was opened.
      if (batch.length === 0 || this.#agent !== agent) return;
      this.#note({ op: "seen" });
      behind = sending;
      sending = Promise.all([sending, this.#send(this.#batch(batch.splice(0)))]).then(() => undefined);
    };
    // While the model is slow, events must not wait for the next one.
    const timer = setInterval(flush, BATCH_MS);
    try {
      await reached(0, 0);
      let begun = performance.now();
      let read = 0;
      for await (const found of run) {
        const event = this.#limit === null ? found : this.#ofLimit(found, this.#limit);
        this.#progress = -1;
        batch.push(...this.#told.splice(0), this.#withPictures(event));
        if (this.#agent !== agent) break;
        if (event.kind === "FILE_CHANGED") {
          this.#saved.touch(event.data.path);
          record.files.add(event.data.path);
        }
        if (event.kind === "ERROR") failed = true;
        // A repetition takes less time, and is stopped here.
        if (event.kind === "BUDGET_EXCEEDED" && event.data.budget === "duration_ms") {
          this.#note({ op: "stop", limit: event.data.limit });
        }
        if (!DELTAS.has(event.kind)) [this.#at, this.#chars] = [this.#at + 1, 0];
        if (event.kind === "ASSISTANT_TEXT_DELTA" || event.kind === "REASONING_DELTA") {
          this.#chars += event.data.delta.length;
        }
        if (event.kind === "PROCESSING_END" && this.#run === run) this.#run = null;
        const isEnd = event.kind === "PROCESSING_END";
        if (batch.length >= BATCH_MAX || isEnd) flush();
        if (isEnd || performance.now() - begun > SLICE_MS) {
          // A pause for other operations. The page draws the last batch meanwhile, and is at most one behind.
          await Promise.all([behind, inNewTurn()]);
          begun = performance.now();
        }
        if (this.#run === run) await reached(this.#at, this.#chars);
        this.#progress = ++read;
      }
    } finally {
      clearInterval(timer);
      flush();
      await sending;
      if (this.#abort === abort) {
        for (const path of record.files) this.#noteText(path, await this.#textOf(path), "other");
        this.#note({ op: "end", failed });
        [this.#run, this.#abort, this.#at, this.#chars] = [null, null, 0, 0];
        this.#note({ op: "state", sum: this.stateSum() });
        this.#ended?.();
      }
    }
  }

  async branch(tasks: number): Promise<void> {
    const engine = this.#engine;
    const starts = engine.turns().flatMap((turn, index) => (turn.kind === "user" ? [index] : []));
    this.#note({ op: "branch", tasks });
    this.#sessions[this.#conversation] = engine.sessionId;
    await engine.newSession({ turns: starts[tasks] ?? engine.turns().length });
    const from = this.#conversation;
    this.#conversation = this.#sessions.push(engine.sessionId) - 1;
    this.#runs.branched(this.#conversation, tasks);
    await this.#send({ ...this.#batch([]), branched: { from, tasks } });
  }

  #batch(events: readonly ShownEvent[]): EventBatch {
    return {
      number: ++this.#batches,
      events,
      lease: this.#engine.canvas.state(),
      conversation: this.#conversation,
      offline: this.#offline,
      model: this.#modelName,
      ...(this.#spent.length > 0 && { spent: this.#spent }),
      replayed: this.#replaying,
    };
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

  async entitle(index: number, title: string): Promise<void> {
    this.#note({ op: "title", index, title });
    this.#titles.set(index, title);
  }

  async steer(text: string, ids: readonly string[] = []): Promise<void> {
    if (!this.#run) throw new Error("the run has ended");
    const { pictures, images } = this.#sent(ids);
    this.#note({ op: "steer", text, asked: this.asked(), ...(ids.length > 0 && { pictures: ids }) });
    this.#unshown.push({ text, pictures });
    this.#run.steer(text, { images });
  }

  async stop(limit: number | null = null): Promise<void> {
    this.#note({ op: "stop" });
    this.#limit = limit;
    this.#abort?.abort();
  }

  /** Returns the end of a repeated run that reached a limit of time, when it was recorded, as it was. */
  #ofLimit(event: AgentEvent, limit: number): AgentEvent {
    if (event.kind !== "PROCESSING_END") return event;
    const data = { budget: "duration_ms" as const, limit, used: limit };
    this.#told.push({ ...event, cursor: -++this.#batches, kind: "BUDGET_EXCEEDED", data });
    return { ...event, data: { ...event.data, reason: "budget" } };
  }

  async close(): Promise<void> {
    if (this.#abort) {
      const ended = new Promise<void>((done) => {
        this.#ended = done;
      });
      await this.stop();
      await ended;
      this.#ended = null;
    }
    await this.#journal?.written();
    // A step that is still under way must not be recorded: another tab may go on with the project.
    this.#journal = null;
  }

  async preloadOffline(): Promise<void> {
    await init({ offline: true });
  }

  /** The number of requests of the run. */
  asked(): number {
    return this.#recorder.asked - this.#askedBefore;
  }

  progress(): number {
    return this.#progress;
  }

  stateSum(): number {
    return sumOf(this.#engine.review());
  }
}

/** Resolves after the messages that have come already. `setTimeout` would wait for 4 ms. */
function inNewTurn(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((done) => {
    port1.onmessage = () => {
      port1.close();
      done();
    };
    port2.postMessage(null);
  });
}

function pendingIds(review: Review): readonly string[] {
  return review.files.flatMap((file) => pendingHunks(file).map((hunk) => hunk.id));
}
