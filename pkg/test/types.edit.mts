// Compiled by types.test.mjs, never run: `emend/edit` as a consumer's program sees it.

import {
  type DiffHunk,
  type Edit,
  type FileChange,
  isEmendError,
  type LineLog,
  type LogHunk,
  load,
  type PatchInput,
  type Planned,
  patchProblem,
  type Text,
  type TextEdit,
} from "emend/edit";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function holds<_T extends true>(): void {}

const edit: Edit = await load({ wasm: new URL("file:///edit.wasm") });
const { diff, plan } = edit;

const hunks: DiffHunk[] = diff("a", "b", { context: 1, words: true });
for (const line of hunks[0]!.lines) {
  if (line.kind === "context") holds<Equal<typeof line.newNumber, number>>();
  // @ts-expect-error a removed line is not in the new text
  if (line.kind === "removed") line.newNumber satisfies number;
  line.spans?.[0]?.[1] satisfies number | undefined;
}

const patch: PatchInput = { format: "replace", path: "a", oldText: "x", newText: "y" };
// @ts-expect-error no such format
const unknown: PatchInput = { format: "ed", text: "" };
// @ts-expect-error a replacement names its file
const nowhere: PatchInput = { format: "replace", oldText: "x", newText: "y" };
const planned: Planned = plan(patch, (path) => (path === "a" ? "x" : null));
plan(patch, new Map<string, string>());
for (const change of planned.changes satisfies FileChange[]) {
  switch (change.operation) {
    case "create":
      holds<Equal<typeof change.before, null>>();
      break;
    case "delete":
      holds<Equal<typeof change.after, null>>();
      break;
    case "rename":
      holds<Equal<typeof change.from, string>>();
      break;
    case "update":
      // @ts-expect-error only a renamed file has `from`
      change.from;
      break;
  }
}
const files: Record<string, string> = edit.apply(patch, { a: "x" });
const edited: TextEdit<string> = edit.editText("x", patch);
edited.hunks[0]?.matched satisfies string | undefined;
{
  using held: Text = edit.openText(new Uint8Array());
  using made = held.apply(patch).text;
  made.toString() satisfies string;
  // @ts-expect-error a text never changes
  made.lineCount = 3;
}

try {
  edit.apply(patch, files);
} catch (error) {
  const problem = patchProblem(error);
  if (isEmendError(error, "conflict") && problem?.kind === "hunk" && problem.error.reason.kind === "not_found") {
    problem.error.reason.nearest[0]!.difference?.found satisfies string | null | undefined;
  }
}

const stream = edit.parseStream();
stream.push("*** Begin Patch\n");
for (const parsed of stream.edits)
  if (parsed.operation === "update") parsed.hunks[0]?.anchors satisfies string[] | undefined;

const log: LineLog = edit.openLog(null);
log.write("text", { origin: "agent", status: "pending" });
// @ts-expect-error the origin is required
log.write("text", {});
const reviewed: LogHunk[] = log.hunks({ statuses: ["pending"] });
log.reject([reviewed[0]!.id, 7], { dependents: "with", by: "user" });
// @ts-expect-error a decision has no status
log.accept([1], { dependents: "with" });
log.split(1, 2)?.[0] satisfies number | undefined;

{
  using scoped = edit.loadLog(log.save());
  scoped.undo()?.edits[0]?.inserted satisfies string[] | undefined;
}

declare const flag: boolean | undefined;
declare const path: string | undefined;
const patches: PatchInput[] = [
  { format: "v4a", text: "", overwrite: flag },
  { format: "unified", text: "", path },
  { format: "replace", path: "a", oldText: "", newText: "", replaceAll: flag },
  { format: "lines", path: "a", edits: [], expectedHash: path },
];
patches.length;
