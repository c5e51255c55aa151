/** The runs of a project: the tasks of the user, and what each of them changed. */
import type { Picture, RunInfo, Step } from "./protocol.js";

/** A run, while the project is open. */
export interface RunRecord extends Omit<RunInfo, "files" | "undone"> {
  readonly files: Set<string>;
  /** Ids of the hunks that were pending before it. */
  readonly hunksBefore: ReadonlySet<string>;
}

export class RunList {
  readonly #runs: RunRecord[] = [];
  /** Number of tasks of each conversation. */
  readonly #tasks: number[] = [];

  get count(): number {
    return this.#runs.length;
  }

  /** Adds a run that begins now. `hunks` are the ids of the pending hunks. */
  begin(
    text: string,
    pictures: readonly Picture[],
    conversation: number,
    hunks: readonly string[],
    began: number,
  ): RunRecord {
    const task = this.#tasks[conversation] ?? 0;
    this.#tasks[conversation] = task + 1;
    const run: RunRecord = {
      number: this.#runs.length,
      conversation,
      task,
      text,
      pictures,
      began,
      files: new Set(),
      hunksBefore: new Set(hunks),
    };
    this.#runs.push(run);
    return run;
  }

  /** Records that a conversation has taken over tasks of another one. */
  branched(conversation: number, tasks: number): void {
    this.#tasks[conversation] = tasks;
  }

  /** Lists the runs. `done` are the user's steps, some of which took runs back. */
  list(done: readonly Step[]): readonly RunInfo[] {
    const isUndone = (number: number): boolean =>
      done.some(({ runs }) => runs !== undefined && runs[0] <= number && number < runs[1]);
    return this.#runs.map(({ hunksBefore: _ids, files, ...run }) => {
      return { ...run, files: [...files].sort(), undone: isUndone(run.number) };
    });
  }

  /** Returns all paths that a run changed. */
  changedPaths(): readonly string[] {
    return this.#runs.flatMap((run) => [...run.files]);
  }

  /** Returns the ids of the hunks that were pending before a run, or before the last one. */
  hunksBefore(run = -1): readonly string[] {
    return [...(this.#runs.at(run)?.hunksBefore ?? [])];
  }
}
