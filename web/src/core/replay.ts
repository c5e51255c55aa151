/**
 * Repeats the recorded operations on a project, so that its review, undo order and conversation are as before.
 *
 * The models' recorded responses take the place of requests. Operations of the user during a run are repeated after the
 * same event of that run.
 */
import type { Op } from "./journal.js";
import type { CoreApi, GoingBack, ModelChoice, OfServer, Picture } from "./protocol.js";
import { rebase } from "./rebase.js";
import type { RecordedResponse, Recorder } from "./recorder.js";

/** The operations that are repeated. */
export interface Repeatable
  extends Omit<
    CoreApi,
    "goBack" | "noteSaved" | "run" | "stop" | "join" | "enter" | "rewind" | "rollBack" | keyof OfServer
  > {
  goBack(run: number, how: GoingBack, ops: readonly Op[]): Promise<void>;
  run(
    text: string,
    pictures: readonly string[],
    reached: (at: number, chars: number) => Promise<void>,
    time?: number,
  ): Promise<void>;
  noteSaved(path: string, text: string | null, time?: number): Promise<void>;
  /** Stops the run; `limit` is the limit of time that ended it. */
  stop(limit?: number): Promise<void>;
  keepPicture(picture: Picture, data: string): void;
  /** The number of events of the run that were read, or -1 while one is shown. */
  progress(): number;
  /** The number of requests of the run so far. */
  asked(): number;
  useRecorded(choice: ModelChoice): void;
  stateSum(): number;
}

/** Answers the requests of the next run. */
type Repeater = Pick<Recorder, "repeat">;

/** Repeats `ops`. Returns whether the state is as it was recorded after the last run. */
export async function replay(ops: readonly Op[], core: Repeatable, recorder: Repeater): Promise<boolean> {
  let exact = true;
  for (let index = 0; index < ops.length; index++) {
    const op = ops[index]!;
    if (op.op === "model") core.useRecorded(op.model);
    else if (op.op === "goBack") {
      const how = { ...(op.hard && { hard: true }), ...(op.texts && { texts: op.texts }) };
      await core.goBack(op.run, how, ops.slice(0, index)).catch(() => undefined);
    } else if (op.op === "state") exact &&= core.stateSum() === op.sum;
    else if (op.op === "run") {
      const end = ops.findIndex((each, at) => at > index && (each.op === "end" || each.op === "run"));
      const last = end < 0 ? ops.length : end;
      await repeatRun(op, ops.slice(index + 1, last), ops[last]?.op === "end" ? ops[last] : null, core, recorder);
      index = ops[last]?.op === "end" ? last : last - 1;
    } else await attempt(core, op);
  }
  return exact;
}

async function repeatRun(
  { text, time, pictures = [] }: Extract<Op, { op: "run" }>,
  inside: readonly Op[],
  end: Extract<Op, { op: "end" }> | null,
  core: Repeatable,
  recorder: Repeater,
): Promise<void> {
  const isCut = end === null || inside.some((op) => op.op === "stop");
  const recorded = responsesOf(inside);
  // The engine may stop reading at the last event of a response. Only the last response of a stopped run is cut.
  const responses = recorded.map((each, index): RecordedResponse => {
    return { ...each, whole: each.whole || !isCut || index < recorded.length - 1 };
  });
  const steps = inside.filter((op) => !PASSIVE.has(op.op));
  // The page was closed during the run: it goes as far as its last event that was seen.
  const lastSeen = inside.reduce<Place>((last, op) => (isReached(op, last.at, last.chars) ? last : op), { at: 0 });
  let isOver = false;
  recorder.repeat(responses, () => {
    if (!end?.failed) void idle(core).then(() => (isOver ? undefined : core.stop()));
  });
  try {
    await core.run(
      text,
      pictures,
      async (at, chars) => {
        while (steps[0] && isReached(steps[0], at, chars) && isAsked(steps[0], core))
          await attempt(core, steps.shift()!);
        if (end === null && isReached(lastSeen, at, chars)) await core.stop();
      },
      time,
    );
  } catch {
    // The run failed or was stopped, as it did before.
  }
  isOver = true;
  // Operations after the last event of the run.
  for (const op of steps) await attempt(core, op);
}

/** Operations in a run that are not repeated: they tell how far it went and what the model said. */
const PASSIVE: ReadonlySet<Op["op"]> = new Set(["response", "part", "seen", "model"]);

type Place = Pick<Op, "at" | "chars">;

/** Whether a run with `at` events and `chars` characters after the last of them is at a place or beyond it. */
function isReached(place: Place, at: number, chars = 0): boolean {
  return place.at < at || (place.at === at && (place.chars ?? 0) <= chars);
}

/** Whether the request is under way during which a message was sent, so that the message comes after its response. */
function isAsked(op: Op, core: Repeatable): boolean {
  return op.op !== "steer" || op.asked === undefined || core.asked() >= op.asked;
}

/** Puts the responses of a run together from their parts. The order is that of their beginnings. */
export function responsesOf(ops: readonly Op[]): readonly RecordedResponse[] {
  const found = new Map<number, RecordedResponse>();
  for (const [index, op] of ops.entries()) {
    if (op.op === "response") found.set(-1 - index, op);
    if (op.op !== "part") continue;
    const known = found.get(op.of);
    // The rest of a stopped response can come in the run after it.
    if (!known && (op.end !== "open" || op.body !== "")) continue;
    const { status, type, body, end, why } = op;
    const whole = end === "whole";
    found.set(op.of, { status, type, body: (known?.body ?? "") + body, whole, ...(why !== undefined && { why }) });
  }
  return [...found.values()];
}

/** Pause in milliseconds after which a run that shows nothing new waits for the model. */
const IDLE_MS = 20;

/** Resolves when a run has shown everything that the model has said. */
async function idle(core: Repeatable): Promise<void> {
  for (let [before, calm] = [-1, 0]; calm < 2; ) {
    await new Promise((done) => setTimeout(done, IDLE_MS));
    const now = core.progress();
    calm = now >= 0 && now === before ? calm + 1 : 0;
    before = now;
  }
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
    case "split":
      return core.split(op.id, op.line, op.path);
    case "acceptAll":
    case "rejectAll":
      return core[op.op](op.path);
    case "putBack":
      return core.putBack(op.run, op.files);
    case "canvas":
      return core.openCanvas(op.path);
    case "saved":
      return core.noteSaved(op.path, op.text, op.time);
    case "converse":
      return core.converse(op.index);
    case "title":
      return core.entitle(op.index, op.title);
    case "branch":
      return core.branch(op.tasks);
    case "answer":
      return core.answer(op.call, op.decision, op.reason);
    case "options":
      return core.setOptions(op.options);
    case "picture":
      return core.keepPicture(op.picture, op.data);
    case "steer":
      return core.steer(op.text, op.pictures ?? []);
    case "undo":
    case "redo":
    case "takeBack":
      return core[op.op]();
    case "stop":
      return core.stop(op.limit);
    default:
      return undefined;
  }
}
