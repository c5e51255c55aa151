/**
 * `<emend-review>`: the pending hunks of an agent, with buttons and keys to keep and reject them.
 *
 * A change of the review draws only the hunks that differ, so the focus and the scroll positions stay. After a decision the
 * focus goes to the hunk that takes the place.
 */

import type { Hunk, ReviewFile } from "../agent/types.js";
import { EmendError, isEmendError } from "../errors.js";
import { messageOf } from "../exceptions.js";
import { AgentElement } from "./agent-element.js";
import { make, makeButton, revealed } from "./dom.js";
import { type Decide, hunkView, nameHunk, showProblem } from "./hunk-view.js";
import { adoptStyles, REVIEW_STYLES } from "./styles.js";

/** The events of {@link EmendReview}, by name. They bubble, also out of other shadow roots. */
export interface EmendReviewEvents {
  /** Hunks were kept or rejected. */
  "emend-decided": CustomEvent<{ readonly decision: "keep" | "reject"; readonly ids: readonly string[] }>;
  /** A decision failed. The element shows it, too. */
  "emend-error": CustomEvent<EmendError>;
}

declare global {
  interface HTMLElementEventMap extends EmendReviewEvents {}
  interface HTMLElementTagNameMap {
    "emend-review": EmendReview;
  }
}

/** Number of hunks that are drawn at once. A button draws as many again. */
const HUNKS_STEP = 200;

/** A drawn hunk, and what it shows. */
interface Drawn {
  readonly shown: string;
  readonly view: HTMLElement;
}

/** The element. Set its {@link agent}; it draws the review and follows it. */
export class EmendReview extends AgentElement {
  #willDraw = false;
  #hunksMax = HUNKS_STEP;
  /** The headers of files by path. */
  #headers = new Map<string, HTMLElement>();
  /** The drawn hunks by id. */
  #views = new Map<string, Drawn>();
  readonly #list = make("div", "list");
  readonly #status = make("div", "status");

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    adoptStyles(root, REVIEW_STYLES);
    this.#status.setAttribute("role", "status");
    root.append(this.#list, this.#status);
    root.addEventListener("keydown", (event) => this.#pressed(event as KeyboardEvent));
  }

  protected override changed(): void {
    this.#hunksMax = HUNKS_STEP;
  }

  protected override follow(): (() => void) | undefined {
    let stop: (() => void) | undefined;
    try {
      stop = this.agent?.subscribe(({ kind }) => {
        if (kind !== "run") this.#drawSoon();
      });
    } catch (error) {
      // A closed agent has no review.
      if (!isEmendError(error)) throw error;
    }
    this.#draw();
    return stop;
  }

  /** Draws once for all changes of one turn. */
  #drawSoon(): void {
    if (this.#willDraw) return;
    this.#willDraw = true;
    queueMicrotask(() => {
      this.#willDraw = false;
      if (this.isConnected) this.#draw();
    });
  }

  #files(): readonly ReviewFile[] {
    try {
      return this.agent?.review().files ?? [];
    } catch (error) {
      if (isEmendError(error)) return [];
      throw error;
    }
  }

  #draw(): void {
    const files = this.#files();
    const place = this.#focusedPlace();
    const views = new Map<string, Drawn>();
    const headers = new Map<string, HTMLElement>();
    const nodes: Node[] = [];
    let left = this.#hunksMax;
    for (const file of files) {
      if (left <= 0) break;
      const header = this.#headerOf(file);
      headers.set(file.path, header);
      nodes.push(header);
      file.hunks.slice(0, left).forEach((hunk, index) => {
        const name = `change ${index + 1} of ${file.hunks.length} in ${revealed(file.path)}`;
        const view = this.#viewOf(hunk, name);
        views.set(hunk.id, view);
        nodes.push(view.view);
      });
      left -= file.hunks.length;
    }
    const total = files.reduce((sum, { hunks }) => sum + hunks.length, 0);
    if (total === 0) nodes.push(make("p", "empty", "No changes to review."));
    if (total > views.size) {
      const text = `Show more of ${total} changes`;
      nodes.push(
        makeButton("more", text, text, () => {
          this.#hunksMax += HUNKS_STEP;
          this.#draw();
        }),
      );
    }
    [this.#views, this.#headers] = [views, headers];
    this.#show(nodes);
    this.#keepTabStop();
    if (place !== undefined) this.#restoreFocus(place);
  }

  /** Gives the list these nodes. Nodes that stay are not moved: they would lose the focus and their scroll positions. */
  #show(nodes: readonly Node[]): void {
    const wanted = new Set(nodes);
    for (const node of [...this.#list.childNodes]) if (!wanted.has(node)) node.remove();
    let at = this.#list.firstChild;
    for (const node of nodes) {
      if (node === at) at = at.nextSibling;
      else this.#list.insertBefore(node, at);
    }
  }

  #viewOf(hunk: Hunk, name: string): Drawn {
    const shown = JSON.stringify([hunk.lines, hunk.keptByUser, hunk.removesUserLines]);
    const known = this.#views.get(hunk.id);
    if (known?.shown !== shown) return { shown, view: hunkView(hunk, name, this.#decide) };
    nameHunk(known.view, name);
    return known;
  }

  /** Returns the header of a file. It stays the same node, so that the focus stays at its buttons. */
  #headerOf({ path, hunks }: ReviewFile): HTMLElement {
    const header = this.#headers.get(path) ?? this.#newHeader(path);
    for (const button of header.querySelectorAll("button")) {
      button.hidden = hunks.length === 1;
      button.setAttribute("aria-label", `${button.textContent} ${hunks.length} in ${revealed(path)}`);
    }
    return header;
  }

  #newHeader(path: string): HTMLElement {
    const all = (decision: "keep" | "reject", text: string): HTMLButtonElement =>
      makeButton("all", text, "", () => void this.#decideAll(path, decision));
    const buttons = [all("keep", "Keep all"), all("reject", "Reject all")];
    const header = make("div", "file", make("h3", "", revealed(path)), ...buttons);
    header.setAttribute("part", "file");
    return header;
  }

  readonly #decide: Decide = (id, decision, insists) => {
    const { agent } = this;
    if (agent === undefined) return;
    const decided =
      decision === "keep"
        ? agent.accept([id], { over: insists })
        : agent.reject([id], { dependents: insists ? "only" : "refuse" });
    decided.then(
      () => this.#told(decision, [id]),
      (error) => this.#failed(error, decision, id),
    );
  };

  async #decideAll(path: string, decision: "keep" | "reject"): Promise<void> {
    const { agent } = this;
    if (agent === undefined) return;
    const idsIn = (files: readonly ReviewFile[]): string[] =>
      (files.find((file) => file.path === path)?.hunks ?? []).map(({ id }) => id);
    const before = idsIn(this.#files());
    try {
      // Contested hunks stay: each of them is a decision of its own.
      const left = idsIn((await (decision === "keep" ? agent.acceptAll(path) : agent.rejectAll(path))).files);
      this.#told(
        decision,
        before.filter((id) => !left.includes(id)),
      );
    } catch (error) {
      this.#failed(error, decision);
    }
  }

  #told(decision: "keep" | "reject", ids: readonly string[]): void {
    const verb = decision === "keep" ? "Kept" : "Rejected";
    this.#status.textContent = ids.length === 1 ? `${verb} one change.` : `${verb} ${ids.length} changes.`;
    this.#tell("emend-decided", { decision, ids });
  }

  #failed(thrown: unknown, decision: "keep" | "reject", id = ""): void {
    const error = isEmendError(thrown) ? thrown : new EmendError("internal", messageOf(thrown), { cause: thrown });
    const view = this.#views.get(id)?.view;
    if (view === undefined) this.#status.textContent = error.message;
    else showProblem(view, error, decision, this.#decide);
    this.#tell("emend-error", error);
  }

  #tell(name: keyof EmendReviewEvents, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(name, { bubbles: true, composed: true, detail }));
  }

  /** Arrows go from hunk to hunk; Y keeps and N rejects the focused one. */
  #pressed(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = event.target as HTMLElement;
    const hunks = this.#hunkViews();
    const index = hunks.findIndex((view) => view.contains(target));
    if (index < 0) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp")
      this.#focus(hunks[index + (event.key === "ArrowDown" ? 1 : -1)]);
    else if (event.key === "y" || event.key === "n") {
      this.#decide(hunks[index]?.dataset.hunk ?? "", event.key === "y" ? "keep" : "reject", false);
    } else return;
    event.preventDefault();
  }

  #hunkViews(): HTMLElement[] {
    return [...this.#list.querySelectorAll<HTMLElement>(".hunk")];
  }

  #focus(view: HTMLElement | undefined): void {
    view?.focus();
    this.#keepTabStop();
  }

  /** One hunk is in the tab order: the focused one, or the first. */
  #keepTabStop(): void {
    const hunks = this.#hunkViews();
    const focused = hunks.find((view) => view === this.shadowRoot?.activeElement);
    for (const view of hunks) view.tabIndex = view === (focused ?? hunks[0]) ? 0 : -1;
  }

  /** Returns the focused node, the number of its hunk, and which button of it has the focus. */
  #focusedPlace(): { readonly node: Element; readonly index: number; readonly selector: string } | undefined {
    const node = this.shadowRoot?.activeElement;
    if (!node || !this.#list.contains(node)) return undefined;
    const index = this.#hunkViews().findIndex((view) => view.contains(node));
    return { node, index, selector: node.matches(".keep") ? ".keep" : node.matches(".reject") ? ".reject" : "" };
  }

  #restoreFocus({ node, index, selector }: { node: Element; index: number; selector: string }): void {
    if (this.#list.contains(node)) return;
    const hunks = this.#hunkViews();
    const next = hunks[Math.min(Math.max(index, 0), hunks.length - 1)];
    if (next === undefined) {
      // The list stays reachable, and is where a screen reader goes on.
      this.#list.tabIndex = -1;
      this.#list.focus();
    } else this.#focus(selector === "" ? next : (next.querySelector<HTMLElement>(selector) ?? next));
  }
}

/** Registers the element, by default as `<emend-review>`. A second call with the same name does nothing. */
export function defineReview(name = "emend-review"): void {
  if (customElements.get(name) === undefined) customElements.define(name, EmendReview);
}
