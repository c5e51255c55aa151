/**
 * Selects the operations that remain if the project goes back to before a run.
 *
 * The runs from there on and the decisions since then are left out. The user's own edits since then stay: they carry the
 * text on which they are based, so that their changes can be moved to the older text.
 */
import type { Op } from "./journal.js";
import type { Step } from "./protocol.js";

/** An operation, and the number of the run to which it belongs; -1 before the first run. */
interface Placed {
  readonly op: Op;
  readonly run: number;
}

/** The kinds of operations that are edits of the user. */
const EDITS: ReadonlySet<Op["op"]> = new Set(["write", "remove", "rename", "putBack"]);

/** Kinds of operations that hold without the runs that came before them. */
const LASTING: ReadonlySet<Op["op"]> = new Set(["write", "remove", "rename", "canvas", "options", "model"]);

/**
 * Returns the operations that give the state before the run with number `run`, counted from 0 over all conversations,
 * with the user's later edits unless it is `hard`. `ops` may contain earlier returns to a run, and their undoing.
 */
export function opsBefore(ops: readonly Op[], run: number, hard = false): readonly Op[] {
  return without(resolved(ops), run, hard).map(({ op }) => op);
}

/** Numbers the runs, and replaces each return to a run by the operations that it left. */
function resolved(ops: readonly Op[]): readonly Placed[] {
  let list: readonly Placed[] = [];
  let number = -1;
  const before: (readonly Placed[])[] = [];
  const undone: (readonly Placed[])[] = [];
  for (const op of ops) {
    const kind = "step" in op && op.op !== "write" ? op.step?.kind : undefined;
    if (op.op === "run") number += 1;
    if (op.op === "goBack") {
      before.push(list);
      undone.length = 0;
      list = [...without(list, op.run, op.hard === true), ...settled(op, number)];
    } else if (op.op === "undo" && kind === "go back") {
      undone.push(list);
      list = before.pop() ?? list;
    } else if (op.op === "redo" && kind === "go back") {
      before.push(list);
      list = undone.pop() ?? list;
    } else list = [...list, { op, run: number }];
  }
  return list;
}

/** Returns the texts that a return to a run gave files beside it, as edits. */
function settled({ texts = [] }: Extract<Op, { op: "goBack" }>, run: number): readonly Placed[] {
  return texts.map(({ path, text }): Placed => {
    const step = { kind: "typing", path } as const;
    return {
      op: text === null ? { op: "remove", path, at: 0 } : { op: "write", path, text, base: null, step, at: 0 },
      run,
    };
  });
}

/** Leaves out the runs from `run` on, and what depends on them; with `hard`, also the user's edits since then. */
function without(list: readonly Placed[], run: number, hard: boolean): readonly Placed[] {
  const first = list.findIndex((each) => each.op.op === "run" && each.run >= run);
  if (first < 0) return list;
  const kept: Placed[] = list.slice(0, first);
  const later: Placed[] = [];
  const undone: Placed[] = [];
  for (const each of list.slice(first)) {
    const { op } = each;
    if (op.op === "undo" || op.op === "redo") revert(op.op, op.step, later, undone, each);
    else if (op.op === "putBack") later.push({ op, run: each.run });
    else if (hard && EDITS.has(op.op)) later.push({ op, run: each.run });
    // Edits are repeated without a run, so their place in one does not count.
    else if (op.op === "write") {
      // The decision that it belongs to is left out.
      const { joins: _, ...step } = op.step;
      later.push({ op: { ...op, step, at: 0, moved: true }, run: each.run });
    } else if (LASTING.has(op.op)) later.push({ op: { ...op, at: 0 }, run: each.run });
  }
  // Files that were put back are as before some task: going back to before another one leaves nothing of it.
  return [...kept, ...later.filter(({ op }) => op.op !== "putBack" && !(hard && EDITS.has(op.op)))];
}

/** Takes an undone edit out of the later operations, or puts it back. Undoing an earlier step stays an operation. */
function revert(
  direction: "undo" | "redo",
  step: Step | undefined,
  later: Placed[],
  undone: Placed[],
  each: Placed,
): void {
  const isJoined = step?.kind === "reject" && (step.count ?? 1) > 1;
  const isEdit = isJoined || ["typing", "new file", "delete", "rename", "put back"].includes(step?.kind ?? "");
  if (!isEdit || step === undefined) return;
  if (direction === "redo") {
    const last = undone.pop();
    later.push(last ?? { op: { ...each.op, at: 0 }, run: each.run });
    return;
  }
  const at = later.findLastIndex(({ op }) => EDITS.has(op.op) && "path" in op && op.path === step.path);
  const [taken] = at < 0 ? [] : later.splice(at, 1);
  if (taken) undone.push(taken);
  else later.push({ op: { ...each.op, at: 0 }, run: each.run });
}
