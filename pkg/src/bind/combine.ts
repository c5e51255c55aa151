/**
 * Joins changes of the user with changes of the file that were made at the same time to the same text.
 *
 * Both stay if they concern different lines. Where both changed the same lines, the user's text stays. Whole lines that
 * one side inserts beside lines that the other changes never conflict with them.
 */

import { smallest } from "./line-diff.js";
import { applyChanges, trimmed } from "./text-changes.js";
import type { TextChange } from "./types.js";

/** The result of {@link combine}. */
export interface Combined {
  /** The changes that remain to be made in the text with the user's changes. */
  readonly shown: readonly TextChange[];
  /** The user's changes, at positions in the file's text. */
  readonly unsent: readonly TextChange[];
}

/** A range of the common text, with what each side made of it. A side without changes in it has none. */
interface Part {
  readonly from: number;
  readonly to: number;
  readonly user: readonly TextChange[];
  readonly file: readonly TextChange[];
}

/** Combines changes of the user with changes of whole lines of the file. Both are changes of `text`. */
export function combine(text: string, user: readonly TextChange[], file: readonly TextChange[]): Combined {
  if (user.length === 0) return { shown: smallest(text, file), unsent: [] };
  const shown: TextChange[] = [];
  const unsent: TextChange[] = [];
  let [inBuffer, inFile] = [0, 0];
  for (const part of partsOf(text, user, file)) {
    const old = text.slice(part.from, part.to);
    const [mine, theirs] = [inside(part, old, part.user), inside(part, old, part.file)];
    const change = part.user.length > 0 ? trimmed(part.from + inFile, theirs, mine) : undefined;
    if (change !== undefined) unsent.push(change);
    if (part.user.length === 0) shown.push(...smallest(text, part.file).map((each) => moved(each, inBuffer)));
    inBuffer += mine.length - old.length;
    inFile += theirs.length - old.length;
  }
  return { shown, unsent };
}

function inside(part: Part, old: string, changes: readonly TextChange[]): string {
  return applyChanges(
    old,
    changes.map((change) => moved(change, -part.from)),
  );
}

function moved({ from, to, insert }: TextChange, by: number): TextChange {
  return { from: from + by, to: to + by, insert };
}

/** Groups the changes: those of both sides that concern the same lines are one part. */
function partsOf(text: string, user: readonly TextChange[], file: readonly TextChange[]): Part[] {
  const all = [
    ...user.map((change) => claimOf(text, change)),
    ...file.map((change): Part => ({ from: change.from, to: change.to, user: [], file: [change] })),
  ];
  // Insertions come before the lines that begin there, those without a line ending last.
  const rank = (part: Part): number => (part.to > part.from ? 2 : isOpen(text, part) ? 1 : 0);
  all.sort((a, b) => a.from - b.from || rank(a) - rank(b));
  const parts: Part[] = [];
  for (const part of all) {
    const last = parts.at(-1);
    if (last === undefined || !meet(text, last, part)) parts.push(part);
    else {
      const [users, files] = [
        [...last.user, ...part.user],
        [...last.file, ...part.file],
      ];
      parts[parts.length - 1] = { from: last.from, to: Math.max(last.to, part.to), user: users, file: files };
    }
  }
  return parts;
}

/** Returns whether two parts, in order, share lines. */
function meet(text: string, first: Part, second: Part): boolean {
  return second.from < first.to || (second.from === first.to && isOpen(text, first));
}

/** Returns whether what follows a part would continue its last line. */
function isOpen(text: string, part: Part): boolean {
  const old = text.slice(part.from, part.to);
  return [part.user, part.file].some((changes) => {
    const made = changes.length > 0 ? inside(part, old, changes) : "";
    return made !== "" && !made.endsWith("\n");
  });
}

/** Returns the lines that a change of the user concerns. */
function claimOf(text: string, change: TextChange): Part {
  const own = asWholeLines(text, change);
  // A negative start counts as 0 there.
  const from = own.from === 0 ? 0 : text.lastIndexOf("\n", own.from - 1) + 1;
  if (own.from === own.to && own.from === from && own.insert.endsWith("\n")) {
    return { from, to: from, user: [own], file: [] };
  }
  const atStart = own.to > own.from && (own.to === 0 || text[own.to - 1] === "\n");
  const end = text.indexOf("\n", own.to);
  const to = atStart ? own.to : end < 0 ? text.length : end + 1;
  return { from, to, user: [own], file: [] };
}

/** A line that is typed after the end of another one is an insertion before the next line. */
function asWholeLines(text: string, change: TextChange): TextChange {
  const { from, to, insert } = change;
  if (from !== to || text[from] !== "\n" || !insert.startsWith("\n")) return change;
  return { from: from + 1, to: to + 1, insert: `${insert.slice(1)}\n` };
}
