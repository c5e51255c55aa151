/** Converts the bodies of a server into the types of the package. */
import type { Hunk, HunkLine, Review, ReviewFile } from "emend";
import type {
  AttachedEvent,
  ResyncEvent,
  ReviewBody,
  ServiceClient,
  ServiceEvent,
  ServiceReading,
  StateEvent,
} from "emend/service-client";

type HunkBody = ReviewBody["files"][number]["hunks"][number];

/** The review of a server, with the files whose text waits for a save. */
export interface RemoteReview extends Review {
  readonly unsaved: readonly string[];
}

export function moved({ revision, files, unsaved = [] }: ReviewBody): RemoteReview {
  return {
    revision,
    unsaved,
    files: files.map(({ file_path: path, operation, hunks, added, removed }) => {
      return { path, operation: operation as ReviewFile["operation"], hunks: hunks.map(hunkOf), added, removed };
    }),
  };
}

function hunkOf(body: HunkBody): Hunk {
  return {
    id: body.hunk_id,
    status: "pending",
    oldStart: body.old_start,
    oldLines: body.old_lines,
    newStart: body.new_start,
    newLines: body.new_lines,
    lines: body.lines.map((line): HunkLine => {
      const { kind, text, old_number: oldNumber, new_number: newNumber, spans } = line;
      return {
        kind: kind as HunkLine["kind"],
        text,
        ...(oldNumber != null && { oldNumber }),
        ...(newNumber != null && { newNumber }),
        ...(spans && { spans }),
      };
    }),
    keptByUser: body.kept_by_user,
    dependents: body.dependents,
    contested: body.contested,
    ...(body.yours && { yours: body.yours }),
    removesUserLines: body.removes_user_lines,
    oversized: body.oversized_hunk,
  };
}

function hunkIds({ files }: ReviewBody): string[] {
  return files.flatMap((file) => file.hunks.map((hunk) => hunk.hunk_id));
}

/** Returns the ids of the pending hunks that are not of a job. */
export async function hunksOfOthers(client: ServiceClient, job: string): Promise<readonly string[]> {
  const [all, ofJob] = await Promise.all([client.call("GetReview", {}), client.call("GetReview", { job_id: job })]);
  const own = new Set(hunkIds(ofJob));
  return hunkIds(all).filter((id) => !own.has(id));
}

export function scopeOf(path: string | null) {
  return path === null ? { all: true } : { file_path: path };
}

/** Returns whether an event of another session can change files or the review, which all sessions have in common. */
export function changesFiles({ type }: ServiceEvent): boolean {
  return /^(review|apply|conflict|checkpoint\.rollback|session\.rew|job\.(completed|reopened|settled|failed|cancelled))/.test(
    type,
  );
}

export function isAttached(item: AttachedEvent | ServiceReading): item is AttachedEvent {
  return item.type === "attached";
}

export function isState(item: AttachedEvent | ServiceReading): item is StateEvent {
  return item.type === "state.changed";
}

export function isResync(item: AttachedEvent | ServiceReading): item is ResyncEvent {
  return item.type === "resync_required";
}
