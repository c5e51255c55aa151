/**
 * Keeps a buffer of the host and a file of an agent in step.
 *
 * All calls of the agent are made one after another in a queue, so each is about the state that the last one left. Before
 * typed text is written, the file's changes since then are joined with it, and the buffer gets them.
 */

import type { Agent } from "../agent/agent.js";
import type { AgentChange } from "../agent/changes.js";
import type { AcceptOptions, RejectOptions } from "../agent/options.js";
import type { FileState, Hunk } from "../agent/types.js";
import { ClosedError, EmendError, isEmendError } from "../errors.js";
import { messageOf } from "../exceptions.js";
import { optionalCount, requireText } from "../validate.js";
import { checkedBuffer, checkedChanges, chosen } from "./arguments.js";
import { Steps, type TakenStep } from "./steps.js";
import { SyncedText } from "./synced-text.js";
import type { BindOptions, BufferTransaction, Cause, ReportOptions, TextBuffer, TextChange } from "./types.js";

/** Milliseconds to wait for more typing. */
const DELAY_MS = 250;

/** A buffer of the host that is bound to a file of an agent. {@link bindBuffer} creates it. */
export class Binding {
  /** The path of the file. */
  readonly path: string;

  readonly #agent: Agent;
  readonly #buffer: TextBuffer & BindOptions;
  readonly #delay: number;
  readonly #steps = new Steps();
  readonly #text: SyncedText;
  readonly #stops: (() => void)[] = [];
  #queue: Promise<unknown> = Promise.resolve();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether the buffer carries out a transaction. Its reports are not about the user. */
  #applying = false;
  /** The causes of changes of the file since it was last read, and whether the queue will read it. */
  #causes = new Set<Cause>();
  #willRead = false;
  /** The revision of the file's text in the buffer; -1 before the first one. */
  #revision = -1;
  /** The path as the agent spells it. */
  #name: string;
  /** The revisions of the writes that are told while the binding writes. */
  #heard: (number | undefined)[] | undefined;
  #failure: EmendError | undefined;
  #ended = false;

  /** @internal */
  constructor(agent: Agent, path: string, buffer: TextBuffer & BindOptions) {
    this.path = this.#name = requireText("the path", path);
    this.#agent = agent;
    this.#buffer = checkedBuffer(buffer);
    this.#delay = optionalCount("`delay`", buffer.delay) ?? DELAY_MS;
    const start = chosen("`start`", buffer.start, ["file", "buffer"]);
    const keepsEndings = chosen("`lineEndings`", buffer.lineEndings, ["lf", "keep"]) === "keep";
    this.#text = new SyncedText(requireText("the text of the buffer", buffer.read()), keepsEndings);
    this.#stops.push(agent.subscribe((change) => this.#told(change)));
    this.#guarded(() => {
      this.#stops.push(buffer.onChange((changes, options) => this.#reported(changes, options)));
    });
    this.#background(() => this.#begin(start));
  }

  /** Whether the binding has ended: by {@link detach}, with its agent, or because the buffer failed. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Whether the buffer has text that has not been written to the file yet. */
  get hasUnsent(): boolean {
    return this.#text.hasUnsent;
  }

  /** Returns the pending hunks of the file. Their lines are those of the buffer unless it {@link hasUnsent} text. */
  hunks(): readonly Hunk[] {
    return this.#agent.review().files.find(({ path }) => path === this.#name)?.hunks ?? [];
  }

  /**
   * Writes what was typed. Resolves when the buffer and the file have the same text.
   *
   * @throws {EmendError} if the text could not be written, or if the binding has ended.
   */
  flush(): Promise<void> {
    return this.#enqueue(async () => {
      await this.#writeAll();
      // An edit may not have been told yet.
      await this.#pull();
    });
  }

  /** Writes what was typed, and accepts hunks; see {@link Agent.accept}. */
  accept(hunkIds: readonly string[], options?: AcceptOptions): Promise<void> {
    return this.#decide(() => this.#agent.accept(hunkIds, options));
  }

  /** Writes what was typed, and rejects hunks; see {@link Agent.reject}. */
  reject(hunkIds: readonly string[], options?: RejectOptions): Promise<void> {
    return this.#decide(() => this.#agent.reject(hunkIds, options));
  }

  /** Writes what was typed, and accepts all hunks of the file; see {@link Agent.acceptAll}. */
  acceptAll(): Promise<void> {
    return this.#decide(() => this.#agent.acceptAll(this.path));
  }

  /** Writes what was typed, and rejects all hunks of the file; see {@link Agent.rejectAll}. */
  rejectAll(): Promise<void> {
    return this.#decide(() => this.#agent.rejectAll(this.path));
  }

  /** Writes what was typed, and undoes the user's last edit or decision; see {@link Agent.undo}. */
  undo(): Promise<void> {
    return this.#decide(() => this.#agent.undo());
  }

  /** Writes what was typed, and reverts the last {@link undo}. */
  redo(): Promise<void> {
    return this.#decide(() => this.#agent.redo());
  }

  /**
   * Ends the binding. The buffer keeps its text and is not changed any more. Text that was typed before is still written;
   * the promise resolves after that, and rejects if it failed, also if the binding had ended before by itself with text that
   * was not written. Before the file was read, nothing is written.
   */
  detach(): Promise<void> {
    if (this.#ended && this.#failure !== undefined && this.#text.hasUnsent) return Promise.reject(this.#failure);
    const rest = this.#ended || this.#revision === -1 ? undefined : this.#text.take();
    this.#end();
    const written = this.#queue.then(async () => {
      if (rest !== undefined) await this.#agent.files.write(this.path, rest.text, { base: rest.base });
    });
    written.catch(() => {});
    return written;
  }

  async #begin(start: "file" | "buffer"): Promise<void> {
    const state = await this.#agent.files.read(this.path);
    if (this.#ended) return;
    this.#causes.add("other");
    if (state !== null && start === "file") return this.#receive(state);
    const typed = this.#text.text;
    this.#text.receive(state?.text ?? "");
    // All that the buffer has otherwise is the user's.
    this.#text.found(typed);
    this.#at(state);
    await this.#writeAll();
  }

  /** Is called with each change of the agent's state. */
  #told(change: AgentChange): void {
    this.#steps.count(change);
    if (change.kind === "closed") this.#end(change.error ?? new ClosedError("closed", "the agent was closed"));
    else if (change.kind === "decision") {
      this.#changed(change.action === "accept" || change.action === "reject" ? "decision" : "other");
    } else if (change.kind === "edit") {
      if (change.path === this.#name && change.revision > this.#revision) this.#changed("agent");
    } else if (change.kind === "write" && change.path === this.#name) {
      if (this.#heard === undefined) this.#written(change.revision);
      else this.#heard.push(change.revision);
    }
  }

  /** Is told of a write. That of the binding itself is one, too: its revision is known then. */
  #written(revision = Number.POSITIVE_INFINITY): void {
    if (revision > this.#revision) this.#changed("other");
  }

  #changed(cause: Cause): void {
    this.#causes.add(cause);
    if (this.#willRead) return;
    this.#willRead = true;
    this.#background(async () => {
      if (this.#willRead) await this.#pull();
    });
  }

  /** Is called by the buffer when the user changed it. */
  #reported(changes: readonly TextChange[] | undefined, options: ReportOptions = {}): void {
    if (this.#ended || this.#applying) return;
    const taken = this.#text.hasUnsent ? undefined : this.#steps.taken(options);
    this.#guarded(() => {
      const checked = changes === undefined ? undefined : checkedChanges(changes, this.#text.length);
      if (checked === undefined) this.#text.found(this.#buffer.read());
      else this.#text.typed(checked);
    });
    if (taken === undefined) this.#writeLater();
    else this.#background(() => this.#retake(taken));
  }

  /** Lets the agent take back or repeat a decision. The text in the buffer shows it already. */
  async #retake(taken: TakenStep): Promise<void> {
    // Text that was written meanwhile is the last step now: then the change stays an edit of the user.
    if (this.#steps.isLast(taken)) {
      await (taken.action === "undo" ? this.#agent.undo() : this.#agent.redo());
      await this.#pull();
    }
    await this.#writeAll();
  }

  #writeLater(): void {
    clearTimeout(this.#timer);
    if (!this.#text.hasUnsent || this.#ended) return;
    this.#timer = setTimeout(() => this.#background(() => this.#writeAll()), this.#delay);
  }

  async #decide(decide: () => Promise<unknown>): Promise<void> {
    await this.#enqueue(async () => {
      await this.#writeAll();
      await decide();
      await this.#pull();
    });
  }

  /** Writes until the file has all that was typed, also while it was written. */
  async #writeAll(): Promise<void> {
    while (this.#text.hasUnsent && !this.#ended) {
      // Edits of the agent are joined by ranges here. The core merges by lines those that come after that.
      await this.#pull();
      await this.#write();
    }
  }

  async #write(): Promise<void> {
    clearTimeout(this.#timer);
    const taken = this.#ended ? undefined : this.#text.take();
    if (taken === undefined) return;
    const heard: (number | undefined)[] = [];
    this.#heard = heard;
    try {
      const state = await this.#agent.files.write(this.path, taken.text, { base: taken.base }).catch((error) => {
        taken.restore();
        throw error;
      });
      this.#receive(state);
    } finally {
      this.#heard = undefined;
      for (const revision of heard) this.#written(revision);
    }
  }

  /** Brings the file's changes into the buffer. */
  async #pull(): Promise<void> {
    this.#willRead = false;
    this.#receive(await this.#agent.files.read(this.path));
  }

  #at(state: FileState | null): void {
    this.#revision = state?.revision ?? Math.max(this.#revision, 0);
    this.#name = state?.path ?? this.#name;
  }

  /** Takes in a text of the file, and gives its changes to the buffer. */
  #receive(state: FileState | null): void {
    const causes = [...this.#causes];
    this.#causes.clear();
    const cause = causes.length === 1 ? causes[0]! : "agent";
    if (this.#ended) return;
    this.#at(state);
    const changes = this.#text.receive(state?.text ?? "");
    const isDecision = cause === "decision" && this.#buffer.decisions === true;
    if (changes.length > 0 || isDecision) this.#apply({ changes, cause, text: this.#text.text });
    if (this.#text.hasUnsent) this.#writeLater();
    else this.#guarded(() => this.#buffer.onSync?.());
  }

  #apply(transaction: BufferTransaction): void {
    if (transaction.cause === "decision") this.#steps.note(transaction);
    this.#guarded(() => {
      this.#applying = true;
      try {
        this.#buffer.apply(transaction);
        // A buffer may carry out a transaction in another way. The difference is the user's.
        this.#text.found(this.#buffer.read());
      } finally {
        this.#applying = false;
      }
    });
  }

  /** Runs code of the host. An exception of it ends this binding only. */
  #guarded(work: () => void): void {
    if (this.#ended) return;
    try {
      work();
    } catch (cause) {
      const why = `the buffer of ${JSON.stringify(this.path)} failed: ${messageOf(cause)}`;
      this.#end(new EmendError("io_error", why, { cause }));
    }
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(() => {
      if (this.#ended) throw this.#failure ?? new ClosedError("closed", "the buffer is no longer bound");
      return work();
    });
    this.#queue = done.catch(() => {});
    return done;
  }

  /** Runs work that nobody waits for. */
  #background(work: () => Promise<void>): void {
    this.#enqueue(work).catch((error) => this.#failed(error));
  }

  #failed(error: unknown): void {
    if (this.#ended) return;
    const failure = isEmendError(error) ? error : new EmendError("internal", messageOf(error), { cause: error });
    // Without the file there is nothing to be in step with.
    if (failure.code === "closed" || failure.code === "internal" || this.#revision === -1) this.#end(failure);
    else {
      this.#failure = failure;
      this.#guarded(() => this.#buffer.onError?.(failure));
    }
  }

  #end(error?: EmendError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#failure = error;
    clearTimeout(this.#timer);
    for (const stop of this.#stops) {
      try {
        stop();
      } catch {
        // The buffer has been told; whether it can still end its own reports is its own affair.
      }
    }
    try {
      this.#buffer.onEnd?.(error);
    } catch (thrown) {
      queueMicrotask(() => {
        throw thrown;
      });
    }
  }
}

/**
 * Keeps a text buffer of the host, such as an editor, and a file of the agent in step both ways. A change by the user in
 * the buffer is an edit of the user in the file; changes of the file by the agent and by decisions arrive in the buffer as
 * small ones. Typing while the agent edits is never lost: both edits stay, and on lines that both changed, the user's.
 *
 * @throws {EmendError} with code `invalid_argument` if an argument is wrong, `closed` if the agent is closed.
 */
export function bindBuffer(agent: Agent, path: string, buffer: TextBuffer & BindOptions): Binding {
  return new Binding(agent, path, buffer);
}
