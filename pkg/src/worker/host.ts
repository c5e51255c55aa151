/** The worker's side: opens the agent that the page asks for, and answers its calls. */

import type { Agent } from "../agent/agent.js";
import type { AgentOptions, RunOptions } from "../agent/options.js";
import type { AgentEvent } from "../agent/types.js";
import { EmendError } from "../errors.js";
import type { CoreInitOptions } from "../wasm/init.js";
import { Link, type Send } from "./link.js";
import { BEGUN, type Offered, type OfferedRun, OPEN, type Opening } from "./protocol.js";

type AgentClass = Pick<typeof Agent, "create" | "resume" | "fork">;

/** Connects to the page. Returns the function that takes its messages. */
export function host(
  agents: AgentClass,
  init: (options: CoreInitOptions) => Promise<void>,
  send: Send,
): (message: unknown) => void {
  const link = new Link(send);
  link.offer(OPEN, async ({ how, id, options, wasm, regex }: Opening): Promise<Offered> => {
    send(BEGUN);
    if (wasm !== undefined || regex !== undefined) await init({ wasm, regex } as CoreInitOptions);
    const given = options as AgentOptions;
    return offered(await (how === "create" ? agents.create(given) : agents[how](id, given)));
  });
  return (message) => link.receive(message);
}

function offered(agent: Agent): Offered {
  const parts = { agent, files: agent.files, canvas: agent.canvas };
  return {
    call: (part, name, args) => {
      const methods = parts[part] as unknown as Record<string, (...given: unknown[]) => unknown>;
      const method = Object.hasOwn(Object.getPrototypeOf(methods) as object, name) ? methods[name] : undefined;
      if (typeof method !== "function" || name === "constructor")
        throw new EmendError("unsupported", `an agent in a worker has no \`${name}\``);
      return method.apply(methods, args);
    },
    sessionId: () => agent.sessionId,
    idle: () => new Promise((resolve) => setTimeout(resolve, 0)),
    events: (options) => agent.events(options as object | undefined),
    subscribe: (listener) => agent.subscribe((change) => void listener(change)),
    run: (text, options, begin) => run(agent, text, options, begin),
  };
}

/** Starts a run and waits for its end, without making it advance. */
function run(agent: Agent, text: string, options: RunOptions, begin: (run: OfferedRun) => void): Promise<void> {
  return new Promise((ended) => {
    const run = agent.run(text, options);
    let events: AsyncIterator<AgentEvent, undefined> | undefined;
    const reader = (): NonNullable<typeof events> => {
      events ??= run[Symbol.asyncIterator]();
      return events;
    };
    const orEnd = async <T>(work: () => Promise<T>, isEnd: (value: T) => boolean): Promise<T> => {
      try {
        const value = await work();
        if (isEnd(value)) ended();
        return value;
      } catch (thrown) {
        ended();
        throw thrown;
      }
    };
    begin({
      next: () =>
        orEnd(
          () => reader().next(),
          ({ done }) => done === true,
        ),
      return: () =>
        orEnd(
          async () => reader().return?.(),
          () => true,
        ),
      result: () =>
        orEnd(
          () => run.result,
          () => true,
        ),
      steer: (message, options) => run.steer(message, options),
      cancel: () => run.cancel(),
    });
  });
}
