/**
 * The additions of the user to a message: selected lines, comments on changed lines, and pictures. Lines and comments become a
 * part of the message's text, so that the user and the model read the same.
 */
import type { Picture } from "./core/protocol.js";

export interface Selection {
  readonly kind: "selection";
  readonly id: number;
  readonly path: string;
  /** Numbers of the first and last line, from 1. */
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export interface Comment {
  readonly kind: "comment";
  readonly id: number;
  readonly path: string;
  readonly line: number;
  /** The hunk that it is about. */
  readonly hunk: string;
  /** The line as it was when the user wrote the comment. */
  readonly text: string;
  readonly note: string;
}

export type Addition = Selection | Comment | Picture;

/** Returns the pictures among additions. */
export function picturesIn(additions: readonly Addition[]): readonly Picture[] {
  return additions.filter((each) => each.kind === "picture");
}

/** Returns the message with its additions. */
export function composed(text: string, additions: readonly Addition[]): string {
  const parts = additions.flatMap((each) => {
    if (each.kind === "picture") return [];
    return each.kind === "selection"
      ? `In ${each.path}, ${linesName(each)}:\n${fenced(each.text)}`
      : `About ${each.path}, line ${each.line}:\n${quoted(each.text)}\n${each.note}`;
  });
  return [...(text.trim() === "" ? [] : [text]), ...parts].join("\n\n");
}

/** Returns "line 3" or "lines 3 to 7". */
export function linesName({ from, to }: Pick<Selection, "from" | "to">): string {
  return from === to ? `line ${from}` : `lines ${from} to ${to}`;
}

/** Puts a text between fences that are longer than any in it. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text.replace(/\n$/, "")}\n${fence}`;
}

function quoted(text: string): string {
  return text
    .replace(/\r?\n$/, "")
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n");
}
