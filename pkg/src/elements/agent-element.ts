/** The base of the elements: an `agent` property that is followed while the element is in a document. */

import type { Agent } from "../agent/agent.js";

/** Node has no elements: there the modules can be imported, but not used. */
const Base = globalThis.HTMLElement ?? (class {} as typeof HTMLElement);

/** An element that shows an agent. */
export abstract class AgentElement extends Base {
  #agent: Agent | undefined;
  #stop: (() => void) | undefined;

  /** The agent that is shown. */
  get agent(): Agent | undefined {
    return this.#agent;
  }

  set agent(agent: Agent | null | undefined) {
    this.#agent = agent ?? undefined;
    this.changed();
    this.#restart();
  }

  connectedCallback(): void {
    // Set before the class was registered, the property is on the object itself.
    if (Object.hasOwn(this, "agent")) {
      const { agent } = this;
      delete (this as { agent?: unknown }).agent;
      this.agent = agent;
    } else this.#restart();
  }

  disconnectedCallback(): void {
    this.#stop?.();
    this.#stop = undefined;
  }

  #restart(): void {
    this.#stop?.();
    this.#stop = this.isConnected ? this.follow() : undefined;
  }

  /** Called after another agent was set. */
  protected changed(): void {}

  /** Draws the agent and follows it. Returns the function that stops that. */
  protected abstract follow(): (() => void) | undefined;
}
