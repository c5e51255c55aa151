/**
 * Repeats the recorded operations on a project, so that its review, undo order and conversation are as before.
 *
 * The models' recorded responses take the place of requests. Operations of the user during a run are repeated after the
 * same event of that run.
 */
import type { Op } from "./journal.js";
import type { ModelChoice } from "./protocol.js";
import type { RecordedResponse, Recorder } from "./recorder.js";

/** The operations that are repeated. */
export interface Repeatable {
  repeat(op: Op): Promise<void>;
  run(text: string, reached: (at: number) => Promise<void>): Promise<void>;
  stop(): Promise<void>;
  useRecorded(choice: ModelChoice): void;
  stateSum(): number;
}

/** Repeats `ops`. Returns whether the state is as it was recorded after the last run. */
export async function replay(ops: readonly Op[], core: Repeatable, recorder: Recorder): Promise<boolean> {
  let exact = true;
  for (let index = 0; index < ops.length; index++) {
    const op = ops[index]!;
    if (op.op === "model") core.useRecorded(op.model);
    else if (op.op === "state") exact &&= core.stateSum() === op.sum;
    else if (op.op === "run") {
      const end = ops.findIndex((each, at) => at > index && (each.op === "end" || each.op === "run"));
      const last = end < 0 ? ops.length : end;
      await repeatRun(op.text, ops.slice(index + 1, last), ops[last]?.op === "end" ? ops[last] : null, core, recorder);
      index = ops[last]?.op === "end" ? last : last - 1;
    } else await attempt(core, op);
  }
  return exact;
}

async function repeatRun(
  text: string,
  inside: readonly Op[],
  end: Extract<Op, { op: "end" }> | null,
  core: Repeatable,
  recorder: Recorder,
): Promise<void> {
  const isCut = end === null || inside.some((op) => op.op === "stop");
  const recorded = inside.filter((op) => op.op === "response");
  // The engine may stop reading at the last event of a response. Only the last response of a stopped run is cut.
  const responses = recorded.map((op, index): RecordedResponse => {
    return { ...op, whole: op.whole || !isCut || index < recorded.length - 1 };
  });
  const steps = inside.filter((op) => op.op !== "response" && op.op !== "seen" && op.op !== "model");
  // The page was closed during the run: it goes as far as its last event that was seen.
  const lastSeen = Math.max(0, ...inside.map((op) => op.at));
  recorder.repeat(responses, () => {
    if (!end?.failed) void core.stop();
  });
  try {
    await core.run(text, async (at) => {
      while (steps[0] && steps[0].at <= at) await attempt(core, steps.shift()!);
      if (end === null && at >= lastSeen) await core.stop();
    });
  } catch {
    // The run failed or was stopped, as it did before.
  }
  // Operations after the last event of the run.
  for (const op of steps) await attempt(core, op);
}

/** Repeats one operation. One that failed before fails again. */
async function attempt(core: Repeatable, op: Op): Promise<void> {
  try {
    await core.repeat(op);
  } catch {
    // Its failure was shown when it was first tried.
  }
}
