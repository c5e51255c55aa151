/** One hunk of the review as nodes: its lines, its buttons, and what to do if a decision meets the user's own lines. */

import type { Hunk } from "../agent/types.js";
import type { EmendError } from "../errors.js";
import { make, makeButton, revealed } from "./dom.js";

/** A decision about a hunk. `insists` decides although the user has changed the same lines. */
export type Decide = (id: string, decision: "keep" | "reject", insists: boolean) => void;

/** Number of lines of a hunk that are shown. */
const LINES_MAX = 200;

const SIGNS = { added: "+", removed: "-", context: " " } as const;
const NAMES = { added: "Added: ", removed: "Removed: ", context: "" } as const;

/** The reason of a conflict, as the user sees it. */
const CONFLICTS = {
  keep: "Lines of yours are in the place of this change.",
  reject: "Lines that came later belong to this change.",
} as const;

/** Creates the node of a hunk. `name` tells it from the others, e.g. `change 1 of 3 in a.txt`. */
export function hunkView(hunk: Hunk, name: string, decide: Decide): HTMLElement {
  const view = make("div", "hunk");
  view.setAttribute("part", "hunk");
  view.setAttribute("role", "group");
  view.tabIndex = -1;
  view.dataset.hunk = hunk.id;
  const lines = make("div", "lines");
  // A long line scrolls sideways, also by keys.
  lines.tabIndex = 0;
  lines.setAttribute("role", "region");
  // Also on a page from right to left.
  lines.dir = "ltr";
  for (const { kind, text } of hunk.lines.slice(0, LINES_MAX)) {
    const line = make("span", `line ${kind}`, `${SIGNS[kind]} ${revealed(text.replace(/\r?\n$|\r$/, ""))}`);
    line.setAttribute("part", `line ${kind}`);
    if (NAMES[kind] !== "") line.prepend(hidden(NAMES[kind]));
    lines.append(line);
  }
  const rest = hunk.lines.length - LINES_MAX;
  if (rest > 0) lines.append(make("span", "line", `… and ${rest} more lines`));
  const notes = [
    hunk.keptByUser ? "You edited inside this change." : "",
    hunk.removesUserLines ? "It deletes a line that you wrote." : "",
  ].filter((note) => note !== "");
  const keep = makeButton("keep", "Keep", "", () => decide(hunk.id, "keep", false));
  const reject = makeButton("reject", "Reject", "", () => decide(hunk.id, "reject", false));
  keep.setAttribute("part", "button keep");
  reject.setAttribute("part", "button reject");
  view.append(lines, make("div", "actions", keep, reject, ...notes.map((note) => make("span", "note", note))));
  nameHunk(view, name);
  return view;
}

/** Names a hunk and its buttons. The names change with the number of hunks. */
export function nameHunk(view: HTMLElement, name: string): void {
  view.setAttribute("aria-label", capital(name));
  view.querySelector(".lines")?.setAttribute("aria-label", `Lines of ${name}`);
  view.querySelector(".keep")?.setAttribute("aria-label", `Keep ${name}`);
  view.querySelector(".reject")?.setAttribute("aria-label", `Reject ${name}`);
}

/** Shows that a decision failed. A conflict with the user's own lines gets a button that decides all the same. */
export function showProblem(view: HTMLElement, error: EmendError, decision: "keep" | "reject", decide: Decide): void {
  view.querySelector(".problem")?.remove();
  const problem = make(
    "div",
    "problem",
    make("p", "", error.code === "conflict" ? CONFLICTS[decision] : error.message),
  );
  problem.setAttribute("part", "problem");
  problem.setAttribute("role", "alert");
  if (error.code === "conflict") {
    const text = decision === "keep" ? "Keep it in place of my lines" : "Reject it, and leave my lines";
    problem.append(makeButton("insist", text, text, () => decide(view.dataset.hunk ?? "", decision, true)));
  }
  view.append(problem);
}

function hidden(text: string): HTMLElement {
  return make("span", "status", text);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
