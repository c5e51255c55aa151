/**
 * `<emend-agent>`: the conversation with an agent, with a box for tasks, buttons to stop it, and cards for its questions.
 *
 * All texts stay texts: nothing that a model or a file says becomes HTML.
 */

import type { EventFeed } from "../agent/event-feed.js";
import { newestCursor } from "../agent/newest-cursor.js";
import type { Run } from "../agent/run.js";
import type { AgentEvent } from "../agent/types.js";
import { type EmendError, isEmendError } from "../errors.js";
import type { ApprovalAnswer, Approve } from "../host/types.js";
import { AgentElement } from "./agent-element.js";
import { approvalCard, questionCard } from "./cards.js";
import { make, makeButton } from "./dom.js";
import { AGENT_STYLES, adoptStyles } from "./styles.js";
import { Transcript } from "./transcript.js";

declare global {
  interface HTMLElementTagNameMap {
    "emend-agent": EmendAgent;
  }
}

/** A log that is scrolled up by fewer pixels follows new rows. */
const AT_END_PIXELS = 40;

/**
 * The element. Set its {@link agent}; it draws the conversation and follows it, also runs that other code starts. Give its
 * {@link approve} to `Agent.create` if tool calls need the user's decision.
 */
export class EmendAgent extends AgentElement {
  readonly #log = make("div", "log");
  readonly #transcript = new Transcript(this.#log);
  readonly #cards = make("div", "cards");
  readonly #box = make("textarea", "");
  readonly #send = make("button", "send", "Send");
  readonly #stop = makeButton("stop", "Stop", "Stop", () => this.#run?.cancel());
  readonly #notice = make("div", "notice");
  /** Cards of tool calls by the id of the call. */
  readonly #approvals = new Map<string, (answer: ApprovalAnswer) => void>();
  /** The run that this element has started. */
  #run: Run | undefined;
  #isRunning = false;
  /** Whether the log is at its end, so that it follows new rows. */
  #atEnd = true;
  #willScroll = false;

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    adoptStyles(root, AGENT_STYLES);
    this.#log.setAttribute("role", "log");
    this.#log.setAttribute("aria-label", "Conversation");
    this.#log.setAttribute("part", "log");
    // A long conversation scrolls, also by keys.
    this.#log.tabIndex = 0;
    this.#log.addEventListener("scroll", () => {
      const { scrollHeight, scrollTop, clientHeight } = this.#log;
      this.#atEnd = scrollHeight - scrollTop - clientHeight < AT_END_PIXELS;
    });
    this.#cards.setAttribute("aria-live", "assertive");
    this.#notice.setAttribute("role", "status");
    this.#box.rows = 2;
    this.#box.setAttribute("aria-label", "Message");
    this.#box.setAttribute("part", "box");
    this.#box.placeholder = "Ask for a change";
    this.#send.type = "submit";
    this.#send.setAttribute("part", "button send");
    this.#stop.setAttribute("part", "button stop");
    const form = make("form", "", this.#box, this.#send, this.#stop);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.#box.addEventListener("keydown", (event) => {
      // Enter that ends the composition of a character sends nothing.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#submit();
    });
    root.append(this.#log, this.#cards, form, this.#notice);
    this.#show();
  }

  /** Asks the user about a tool call. A bound function for the option `approve` of `Agent.create`. */
  readonly approve: Approve = (request) =>
    new Promise((resolve) => {
      const card = approvalCard(request, (answer) => this.#approvals.get(request.callId)?.(answer));
      this.#approvals.set(request.callId, (answer) => {
        this.#approvals.delete(request.callId);
        this.#remove(card);
        resolve(answer);
      });
      this.#addCard(card);
    });

  protected override changed(): void {
    this.#run = undefined;
    this.#isRunning = false;
    this.#denyAll();
    this.#cards.replaceChildren();
    this.#notice.textContent = "";
    this.#show();
  }

  protected override follow(): (() => void) | undefined {
    const { agent } = this;
    let feed: EventFeed | undefined;
    let ended = false;
    const open = (): void => {
      void feed?.return();
      feed = undefined;
      this.#transcript.reset([]);
      if (agent === undefined || ended) return;
      try {
        const last = newestCursor((after) => agent.events({ after }));
        this.#transcript.reset(agent.turns());
        const own = agent.events({ after: last });
        feed = own;
        void this.#read(own, () => feed === own);
      } catch (error) {
        // A closed agent has no conversation.
        if (!isEmendError(error)) throw error;
      }
      this.#atEnd = true;
      this.#scroll();
    };
    open();
    let stop: (() => void) | undefined;
    try {
      stop = agent?.subscribe(({ kind }) => {
        if (kind === "session") open();
      });
    } catch (error) {
      if (!isEmendError(error)) throw error;
    }
    return () => {
      ended = true;
      stop?.();
      void feed?.return();
    };
  }

  async #read(feed: EventFeed, isOpen: () => boolean): Promise<void> {
    try {
      for await (const event of feed) {
        if (!isOpen()) return;
        this.#take(event);
        this.#scroll();
      }
    } catch (error) {
      if (isOpen()) this.#failed(error);
    }
  }

  #take(event: AgentEvent): void {
    const question = this.#transcript.take(event);
    const { kind, data } = event;
    if (kind === "USER_INPUT") this.#running(true);
    else if (kind === "PROCESSING_END") this.#running(false);
    else if (kind === "APPROVAL_RESOLVED") this.#approvals.get(data.callId)?.("deny");
    // The model did not get it: it stands before a newer draft.
    else if (kind === "STEERING_RETURNED") this.#returned(data.content);
    if (question !== undefined) {
      const card = questionCard(question, (option) => this.#start(option));
      card.classList.add("question");
      this.#addCard(card);
    }
  }

  #returned(content: string): void {
    this.#box.value = this.#box.value === "" ? content : `${content}\n${this.#box.value}`;
  }

  #running(isRunning: boolean): void {
    this.#isRunning = isRunning;
    if (isRunning) for (const card of this.#cards.querySelectorAll(".question")) this.#remove(card);
    else {
      this.#run = undefined;
      this.#denyAll();
    }
    this.#show();
  }

  /** Removes the cards of tool calls. Nothing waits for them after the end of a run. */
  #denyAll(): void {
    for (const answer of [...this.#approvals.values()]) answer("deny");
  }

  #show(): void {
    const hadFocus = this.shadowRoot?.activeElement === this.#stop;
    this.#stop.hidden = this.#run === undefined;
    if (hadFocus && this.#stop.hidden) this.#box.focus();
    this.#log.setAttribute("aria-busy", String(this.#isRunning));
  }

  #submit(): void {
    const text = this.#box.value;
    if (text.trim() === "") return;
    if (this.#start(text)) this.#box.value = "";
  }

  /** Sends a message. Returns whether the agent has taken it. */
  #start(text: string): boolean {
    const { agent } = this;
    if (agent === undefined) return false;
    try {
      this.#notice.textContent = "";
      if (this.#isRunning) {
        if (this.#run === undefined) agent.followUp(text);
        else this.#run.steer(text);
        this.#transcript.waits(text);
        this.#atEnd = true;
        this.#scroll();
      } else {
        const run = agent.run(text);
        this.#run = run;
        run.result.then(
          () => this.#done(run),
          (error) => {
            this.#done(run);
            this.#failed(error);
          },
        );
        this.#running(true);
      }
      return true;
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  #done(run: Run): void {
    if (this.#run === run) this.#running(false);
  }

  #failed(error: unknown): void {
    if (!isEmendError(error)) throw error;
    this.#notice.textContent = error.message;
    this.dispatchEvent(new CustomEvent<EmendError>("emend-error", { bubbles: true, composed: true, detail: error }));
  }

  #addCard(card: Element): void {
    this.#cards.append(card);
    this.#scroll();
  }

  /** Removes a card. The focus goes from it to the message box. */
  #remove(card: Element): void {
    const hadFocus = card.contains(this.shadowRoot?.activeElement ?? null);
    card.remove();
    if (hadFocus) this.#box.focus();
  }

  /** Follows new rows once per frame: to ask for the height after each event would lay the page out each time. */
  #scroll(): void {
    if (this.#willScroll) return;
    this.#willScroll = true;
    requestAnimationFrame(() => {
      this.#willScroll = false;
      if (this.#atEnd) this.#log.scrollTop = this.#log.scrollHeight;
    });
  }
}

/** Registers the element, by default as `<emend-agent>`. A second call with the same name does nothing. */
export function defineAgent(name = "emend-agent"): void {
  if (customElements.get(name) === undefined) customElements.define(name, EmendAgent);
}
