/**
 * The two block widgets of a hunk in the text: its controls and its removed lines.
 *
 * They are plain DOM, because the editor owns the nodes. If only its number changes, a block is updated in place: a new
 * block would lose the focus of its button.
 */
import { Facet } from "@codemirror/state";
import { type EditorView, WidgetType } from "@codemirror/view";
import type { Hunk } from "../engine.js";
import { countLines, hunkSummary, signed, tightSpans, withoutBreak } from "../hunk-text.js";
import { altLetter, keyName } from "../keys.js";
import { reveal } from "../reveal.js";

/** Actions of the controls of a hunk. */
export interface HunkActions {
  readonly accept: (id: string) => void;
  readonly reject: (id: string) => void;
}

export const hunkActions = Facet.define<HunkActions, HunkActions | null>({ combine: (given) => given[0] ?? null });

/** The warning at a hunk on lines that another program, or the user, has changed since. */
const REPLACES = "Accept replaces your lines";

/** The bar above a hunk: its number, its size, Accept and Reject. */
export class ControlsWidget extends WidgetType {
  constructor(
    readonly hunk: Hunk,
    readonly number: number,
    readonly total: number,
  ) {
    super();
  }

  override eq(other: ControlsWidget): boolean {
    return this.hunk.id === other.hunk.id && this.#signature === other.#signature;
  }

  get #signature(): string {
    const { hunk, number, total } = this;
    return [number, total, hunkSummary(hunk), hunk.keptByUser, hunk.yours].join();
  }

  override get estimatedHeight(): number {
    return 28;
  }

  override toDOM(view: EditorView): HTMLElement {
    const bar = document.createElement("div");
    bar.className = "hunk-bar";
    bar.setAttribute("role", "group");
    const label = element("span", "hunk-label");
    const size = element("span", "hunk-size");
    size.append(element("span", "plus"), " ", element("span", "minus"));
    const kept = element("span", "hunk-kept");
    const spacer = element("span", "spacer");
    bar.append(label, size, kept, spacer, button("reject", "Reject", bar, view), button("accept", "Accept", bar, view));
    this.#fill(bar);
    return bar;
  }

  override updateDOM(bar: HTMLElement): boolean {
    // Only for the same hunk: otherwise the focused button would silently act on another hunk.
    if (bar.dataset.hunk !== this.hunk.id) return false;
    this.#fill(bar);
    return true;
  }

  #fill(bar: HTMLElement): void {
    const { hunk, number, total } = this;
    const name = `change ${number} of ${total}`;
    bar.dataset.hunk = hunk.id;
    bar.setAttribute("aria-label", `Change ${number} of ${total}: ${hunkSummary(hunk)}`);
    setText(bar, ".hunk-label", `Change ${number} of ${total}`);
    setText(bar, ".plus", signed(countLines(hunk, "added"), "+"));
    setText(bar, ".minus", signed(countLines(hunk, "removed"), "−"));
    const replaced = (hunk.yours ?? []).map((line) => withoutBreak(line)).join("\n");
    setText(bar, ".hunk-kept", hunk.contested ? REPLACES : hunk.keptByUser ? "you edited this" : "");
    bar.querySelector(".hunk-kept")?.setAttribute("title", hunk.contested ? `${REPLACES}:\n${reveal(replaced)}` : "");
    bar.querySelector(".accept")?.setAttribute("aria-label", `Accept ${name}`);
    bar.querySelector(".reject")?.setAttribute("aria-label", `Reject ${name}`);
  }

  /** The keys with Alt act in the editor also from a button of the bar. */
  override ignoreEvent(event: Event): boolean {
    return !(event instanceof KeyboardEvent && altLetter(event) !== null);
  }
}

/** Number of removed lines that are shown. The review shows all of them. */
const REMOVED_SHOWN = 200;

/** The removed lines of a hunk. The cursor cannot enter them. */
export class RemovedWidget extends WidgetType {
  constructor(readonly lines: Hunk["lines"]) {
    super();
  }

  override eq(other: RemovedWidget): boolean {
    return (
      this.lines.length === other.lines.length && this.lines.every((line, i) => line.text === other.lines[i]?.text)
    );
  }

  override get estimatedHeight(): number {
    return Math.min(this.lines.length, REMOVED_SHOWN + 1) * 20;
  }

  override toDOM(): HTMLElement {
    const block = element("div", "removed-lines");
    block.setAttribute("role", "group");
    block.setAttribute(
      "aria-label",
      this.lines.length === 1 ? "Removed line" : `${this.lines.length.toLocaleString("en")} removed lines`,
    );
    block.append(...this.lines.slice(0, REMOVED_SHOWN).map(removedRow));
    const rest = this.lines.length - REMOVED_SHOWN;
    if (rest > 0) {
      const more = element("div", "removed-line removed-rest");
      more.textContent = `… and ${rest.toLocaleString("en")} more removed lines`;
      block.append(more);
    }
    return block;
  }

  override ignoreEvent(): boolean {
    return false;
  }
}

function removedRow(line: Hunk["lines"][number]): HTMLElement {
  const text = withoutBreak(line.text);
  const row = element("del", "removed-line");
  let at = 0;
  for (const [from, to] of tightSpans(text, line.spans)) {
    const mark = element("span", "removed-text");
    mark.textContent = reveal(text.slice(from, to));
    row.append(reveal(text.slice(at, from)), mark);
    at = to;
  }
  // A newline gives an empty line its height.
  row.append(reveal(text.slice(at)) || (at === 0 ? "\n" : ""));
  return row;
}

function button(action: "accept" | "reject", text: string, bar: HTMLElement, view: EditorView): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.className = `hunk-button ${action}`;
  made.textContent = text;
  made.title = `${text} (${keyName(action === "accept" ? "Alt+Y" : "Alt+N")})`;
  made.addEventListener("click", () => view.state.facet(hunkActions)?.[action](bar.dataset.hunk ?? ""));
  return made;
}

function element(tag: "div" | "span" | "del", className: string): HTMLElement {
  const made = document.createElement(tag);
  made.className = className;
  return made;
}

function setText(parent: HTMLElement, selector: string, text: string): void {
  const found = parent.querySelector(selector);
  if (found && found.textContent !== text) found.textContent = text;
}
