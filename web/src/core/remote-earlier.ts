/** The tasks of a server and the earlier texts of its files, which its checkpoints have, and rollbacks to them. */
import type { JobRecord, ServiceClient } from "emend/service-client";
import type { PastFile, PutBack, Rollback, RolledBack, RunInfo, Version } from "./protocol.js";

/** The texts of a file before a task and at its end. */
interface Texts {
  readonly before: string | null;
  readonly after: string | null;
}

/** The states of a job that can still change files. */
const WORKING: ReadonlySet<JobRecord["status"]> = new Set(["queued", "running", "waiting_for_user"]);

/** A file of the server with its text on the disk. */
interface Buffer {
  readonly content?: string | null | undefined;
  readonly saved_content?: string | null | undefined;
}

export class RemoteEarlier {
  /** The texts by checkpoint and path. Those of a task that has done its work stay as they are. */
  readonly #known = new Map<string, Promise<Texts>>();

  constructor(
    private readonly client: ServiceClient,
    private readonly buffer: (path: string) => Promise<Buffer | null>,
  ) {}

  #texts(job: JobRecord | undefined, path: string): Promise<Texts> {
    const checkpoint = job?.checkpoint_id ?? "";
    const key = `${checkpoint} ${job?.n_reruns ?? 0} ${path}`;
    const known = this.#known.get(key);
    if (known) return known;
    const read = this.client.call("Diff3", { checkpoint_id: checkpoint, file_path: path }).then((found) => {
      return { before: found.checkpoint_base ?? null, after: found.agent_proposed ?? null };
    });
    // A job that runs writes more.
    if (job && !WORKING.has(job.status)) this.#known.set(key, read);
    read.catch(() => this.#known.delete(key));
    return read;
  }

  /** Lists the runs of a session. `tasks` are the jobs of the user's messages in its conversation. */
  async runs(session: string, jobs: readonly JobRecord[], tasks: readonly string[]): Promise<readonly RunInfo[]> {
    const { checkpoints } = await this.client.call("ListCheckpoints", { session_id: session });
    return jobs.map((job, number) => {
      const point = checkpoints.find((each) => each.job_id === job.job_id);
      return {
        number,
        conversation: 0,
        task: tasks.indexOf(job.job_id),
        text: job.instruction,
        began: Date.parse(job.started_at ?? job.created_at),
        files: point?.affected_files ?? [],
        undone: point !== undefined && !point.is_on,
      };
    });
  }

  /** Compares the files that a task and later ones changed with their texts before it. */
  files(run: number, runs: readonly RunInfo[], jobs: readonly JobRecord[]): Promise<readonly PastFile[]> {
    const later = runs.slice(run);
    const paths = [...new Set(later.flatMap((each) => each.files))].sort();
    return Promise.all(
      paths.map(async (path): Promise<PastFile> => {
        // The first job that changed the file has its text from before.
        const first = later.find((each) => each.files.includes(path));
        const isOwn = first?.number === run;
        const { before, after } = await this.#texts(jobs[first?.number ?? run], path);
        const found = await this.buffer(path);
        const [now, saved] = [found?.content ?? null, found?.saved_content ?? null];
        return { path, before, after: isOwn ? after : before, now, saved, own: [], byTask: true };
      }),
    );
  }

  /** Lists the texts of a file before each task that changed it. */
  versions(path: string, runs: readonly RunInfo[], jobs: readonly JobRecord[]): Promise<readonly Version[]> {
    const changed = runs.filter((run) => run.files.includes(path));
    return Promise.all(
      changed.map(async ({ number: run, began: time, text: title }): Promise<Version> => {
        const { before: text } = await this.#texts(jobs[run], path);
        return { kind: "task", run, time, title, text };
      }),
    );
  }

  /** Gives files texts. Returns those that differed. */
  async putBack(files: readonly PutBack[]): Promise<readonly PutBack[]> {
    const done: PutBack[] = [];
    for (const { path, text } of files) {
      if (((await this.buffer(path))?.content ?? null) === text) continue;
      await this.client.call("UserEdit", { body: { file_path: path, content: text } });
      done.push({ path, text });
    }
    return done;
  }

  /** Takes files back. Returns also the number of steps that undo it. */
  async rollBack(
    jobs: readonly JobRecord[],
    run: number,
    { hard, paths, preview }: Rollback,
  ): Promise<RolledBack & { count: number }> {
    // Hard: all since the first job. Otherwise the hunks of this job and of each later one, the last first.
    const points = (hard ? jobs.slice(run, run + 1) : jobs.slice(run).reverse()).map((job) => job.checkpoint_id ?? "");
    const changed = new Set<string>();
    const conflicts = new Set<string>();
    const lost = new Map<string, number>();
    let count = 0;
    for (const checkpoint of points) {
      const mode = hard ? "hard_all" : "scoped_selected";
      const body = { mode, preview, save: true, ...(paths && { file_paths: [...paths] }) } as const;
      const reply = await this.client.call("RollBack", { checkpoint_id: checkpoint, body });
      for (const file of reply.files) {
        if (file.reverted + file.reverted_from_user > 0) changed.add(file.file_path);
        if (file.conflicts.length > 0) conflicts.add(file.file_path);
        if (file.reverted_from_user > 0) lost.set(file.file_path, file.reverted_from_user);
      }
      if (reply.undoable) count += 1;
    }
    return {
      changed: [...changed],
      conflicts: [...conflicts],
      lost: [...lost].map(([path, edits]) => ({ path, edits })),
      count,
    };
  }
}
