/**
 * Repeats the recorded operations on a project, so that its review, undo order and conversation are as before.
 *
 * The models' recorded responses take the place of requests. Operations of the user during a run are repeated after the
 * same event of that run.
 */
import type { Op } from "./journal.js";
import type { CoreApi, ModelChoice } from "./protocol.js";
import { rebase } from "./rebase.js";
import type { RecordedResponse, Recorder } from "./recorder.js";

/** The operations that are repeated. */
export interface Repeatable extends Omit<CoreApi, "goBack" | "run" | "join"> {
  goBack(run: number, ops: readonly Op[]): Promise<void>;
  run(text: string, reached: (at: number) => Promise<void>): Promise<void>;
  useRecorded(choice: ModelChoice): void;
  stateSum(): number;
}

/** Repeats `ops`. Returns whether the state is as it was recorded after the last run. */
export async function replay(ops: readonly Op[], core: Repeatable, recorder: Recorder): Promise<boolean> {
  let exact = true;
  for (let index = 0; index < ops.length; index++) {
    const op = ops[index]!;
    if (op.op === "model") core.useRecorded(op.model);
    else if (op.op === "goBack") await core.goBack(op.run, ops.slice(0, index)).catch(() => undefined);
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
    await repeat(op, core);
  } catch {
    // Its failure was shown when it was first tried.
  }
}

/** Repeats an operation that is not part of the running of a model. */
async function repeat(op: Op, core: Repeatable): Promise<unknown> {
  switch (op.op) {
    case "write": {
      const current = op.moved && op.base !== null ? await core.read(op.path) : null;
      if (current === null || op.base === null) return core.write(op.path, op.text, op.base, op.step, op.written);
      return core.write(op.path, rebase(op.base, op.text, current), current, op.step, op.written);
    }
    case "remove":
      return core.remove(op.path);
    case "rename":
      return core.rename(op.path, op.to);
    case "accept":
      return core.accept(op.ids, op.over, op.path);
    case "reject":
      return core.reject(op.ids, op.dependents, op.path);
    case "acceptAll":
    case "rejectAll":
      return core[op.op](op.path);
    case "canvas":
      return core.openCanvas(op.path);
    case "saved":
      return core.noteSaved(op.path, op.text);
    case "converse":
      return core.converse(op.index);
    case "branch":
      return core.branch(op.tasks);
    case "answer":
      return core.answer(op.call, op.decision, op.reason);
    case "options":
      return core.setOptions(op.options);
    case "steer":
      return core.steer(op.text);
    case "undo":
    case "redo":
    case "takeBack":
    case "stop":
      return core[op.op]();
    default:
      return undefined;
  }
}
