/** The changes of files as one patch in Git's format. */
import { type DiffRow, lineDiff } from "./line-diff.js";

export interface ChangedFile {
  readonly path: string;
  /** The text before and after. A missing file is null. */
  readonly before: string | null;
  readonly after: string | null;
}

const SIGNS = { context: " ", added: "+", removed: "-" };

/** Returns the patch that makes these changes. */
export function patchOf(files: readonly ChangedFile[]): string {
  return files.map(patchOfFile).join("");
}

function patchOfFile({ path, before, after }: ChangedFile): string {
  if (before === after) return "";
  const [old, now] = [quoted(`a/${path}`), quoted(`b/${path}`)];
  const mode = before === null ? "new file mode 100644\n" : after === null ? "deleted file mode 100644\n" : "";
  const parts = lineDiff(before, after);
  const names = `--- ${before === null ? "/dev/null" : old}\n+++ ${after === null ? "/dev/null" : now}\n`;
  return `diff --git ${old} ${now}\n${mode}${parts.length > 0 ? names : ""}${parts.map(hunk).join("")}`;
}

function hunk(rows: readonly DiffRow[]): string {
  const numbers = (side: "oldNumber" | "newNumber", other: "oldNumber" | "newNumber"): string => {
    const own = rows.flatMap((row) => row[side] ?? []);
    // Without lines of its own, a side has the number of the line before.
    const first = own[0] ?? Math.max(0, (rows.find((row) => row[other] !== undefined)?.[other] ?? 1) - 1);
    return `${first},${own.length}`;
  };
  const lines = rows.map(({ kind, text }) => {
    return `${SIGNS[kind]}${text}${text.endsWith("\n") ? "" : "\n\\ No newline at end of file\n"}`;
  });
  return `@@ -${numbers("oldNumber", "newNumber")} +${numbers("newNumber", "oldNumber")} @@\n${lines.join("")}`;
}

/** Quotes a name as Git does if it has a character that a header cannot have. */
function quoted(name: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to quote.
  return /["\\\u0000-\u001f\u007f]/.test(name) ? JSON.stringify(name) : name;
}
