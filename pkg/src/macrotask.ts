/** Runs functions in a new turn of the event loop, so that timers, input and other tasks get their turn before. */

/** Returns the fastest way to a new turn. `setTimeout` waits 4 ms in browsers if it is nested. */
function starter(): (work: () => void) => void {
  // Node, where an open `MessageChannel` would keep the process alive.
  const { setImmediate: immediate } = globalThis as { setImmediate?: (work: () => void) => unknown };
  if (typeof immediate === "function") return (work) => void immediate(work);
  if (typeof MessageChannel !== "function") return (work) => void setTimeout(work, 0);
  const { port1, port2 } = new MessageChannel();
  const waiting: (() => void)[] = [];
  port1.onmessage = () => waiting.shift()?.();
  return (work) => {
    waiting.push(work);
    port2.postMessage(undefined);
  };
}

let start: ((work: () => void) => void) | undefined;

/** Runs `work` in a new turn of the event loop. */
export function inNewTurn(work: () => void): void {
  start ??= starter();
  start(work);
}
