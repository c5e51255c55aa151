/** A command in a host's own shell, as the core follows it. */

import { type Command, CommandFeed, type CommandSettings, settingsOf } from "./command-feed.js";
import { messageOf } from "./environment-errors.js";
import type { ExecResult, ExecutionEnvironment } from "./environment-types.js";

/** How long a command may take to end once it was told to. */
const GRACE_MS = 2_000;

/** The longest delay that timers know. */
const DELAY_MAX_MS = 2 ** 31 - 1;

/** The exit status of what a signal ended. */
const TERMINATED = 128 + 15;

export class HostCommand implements Command {
  readonly #feed = new CommandFeed();
  readonly #abort = new AbortController();
  readonly #timers: ReturnType<typeof setTimeout>[] = [];
  #stopped: "timedOut" | "cancelled" | undefined;

  constructor(host: ExecutionEnvironment, settings: string) {
    this.#run(host, settingsOf(settings))
      .catch((thrown: unknown) => {
        // One that was stopped may well throw.
        if (this.#stopped === undefined) this.#feed.fail(messageOf(thrown));
        else this.#end(TERMINATED);
      })
      .finally(() => {
        for (const timer of this.#timers) clearTimeout(timer);
      });
  }

  next(): Promise<string> {
    return this.#feed.next();
  }

  cancel(): void {
    if (!this.#feed.isOver) queueMicrotask(() => this.#stop("cancelled"));
  }

  async #run(host: ExecutionEnvironment, { text, workingDir, envVars, timeoutMs }: CommandSettings): Promise<void> {
    // The host's code runs after the core has returned: it may call back in.
    await undefined;
    this.#timers.push(setTimeout(() => this.#stop("timedOut"), Math.min(timeoutMs, DELAY_MAX_MS)));
    const result: unknown = await host.exec?.(text, {
      workingDirectory: workingDir,
      env: envVars,
      timeoutMs,
      signal: this.#abort.signal,
      onOutput: (printed, stream = "stdout") => this.#feed.tell(stream === "stderr" ? "stderr" : "stdout", String(printed)),
    });
    const { exitCode, stdout = "", stderr = "" } = Object(result) as ExecResult;
    if (!Number.isInteger(exitCode) || exitCode !== (exitCode | 0) || typeof stdout !== "string" || typeof stderr !== "string") {
      throw new TypeError("`exec` must give an `exitCode` that is a whole number, and texts");
    }
    this.#feed.tell("stdout", stdout);
    this.#feed.tell("stderr", stderr);
    this.#end(exitCode);
  }

  #stop(why: "timedOut" | "cancelled"): void {
    if (this.#stopped !== undefined || this.#feed.isOver) return;
    this.#stopped = why;
    this.#timers.push(setTimeout(() => this.#end(TERMINATED), GRACE_MS));
    const [message, name] = why === "timedOut" ? ["the command's time is up", "TimeoutError"] : ["the command was cancelled", "AbortError"];
    this.#abort.abort(new DOMException(message, name));
  }

  #end(exitCode: number): void {
    const [timedOut, cancelled] = [this.#stopped === "timedOut", this.#stopped === "cancelled"];
    this.#feed.end({ exitCode, timedOut, cancelled });
  }
}
