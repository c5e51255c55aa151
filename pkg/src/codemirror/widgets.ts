/** The two block widgets of a hunk: its buttons and its removed lines. Their texts go through `state.phrase`. */

import { type EditorView, WidgetType } from "@codemirror/view";
import type { Hunk, HunkLine } from "../agent/types.js";
import { decide } from "./connection.js";

/** The buttons above a hunk. */
export class ButtonsWidget extends WidgetType {
  constructor(readonly hunk: Hunk) {
    super();
  }

  override eq(other: ButtonsWidget): boolean {
    return this.hunk.id === other.hunk.id;
  }

  override get estimatedHeight(): number {
    return 26;
  }

  override toDOM(view: EditorView): HTMLElement {
    const bar = document.createElement("div");
    bar.className = "cm-emend-buttons";
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", view.state.phrase("Proposed change"));
    for (const decision of ["keep", "reject"] as const) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = `cm-emend-${decision}`;
      button.textContent = view.state.phrase(decision === "keep" ? "Keep" : "Reject");
      button.addEventListener("click", () => {
        decide(view, decision, this.hunk.id);
        view.focus();
      });
      bar.append(button);
    }
    return bar;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

/** Number of removed lines that are shown. */
const REMOVED_MAX = 200;

/** The removed lines of a hunk. The cursor cannot enter them. */
export class RemovedWidget extends WidgetType {
  readonly #text: string;

  constructor(lines: readonly HunkLine[]) {
    super();
    const shown = lines.slice(0, REMOVED_MAX).map(({ text }) => text.replace(/\r?\n$|\r$/, ""));
    this.#text = [...shown, ...(lines.length > REMOVED_MAX ? ["…"] : [])].join("\n");
  }

  override eq(other: RemovedWidget): boolean {
    return this.#text === other.#text;
  }

  override toDOM(): HTMLElement {
    const lines = document.createElement("del");
    lines.className = "cm-emend-removed";
    // Text only: what the file contains never becomes HTML. A newline gives an empty line its height.
    lines.textContent = this.#text || "\n";
    return lines;
  }

  override ignoreEvent(): boolean {
    return false;
  }
}
