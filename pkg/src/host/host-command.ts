/** Runs a command with the `exec` method of a host's environment. */

import { messageOf } from "../exceptions.js";
import { type Command, CommandFeed, type CommandSettings, commandSettings } from "./command-feed.js";
import type { ExecResult, ExecutionEnvironment } from "./environment-types.js";

/** Time that a command has to end after its signal fired, in milliseconds. */
const GRACE_MS = 2_000;

/** The longest delay that `setTimeout` accepts, in milliseconds. */
const DELAY_MAX_MS = 2 ** 31 - 1;

/** Exit status of a command that ends because of a signal (128 + SIGTERM). */
const TERMINATED = 128 + 15;

/** A running command of a host. */
export class HostCommand implements Command {
  readonly #feed = new CommandFeed();
  readonly #abort = new AbortController();
  readonly #timers: ReturnType<typeof setTimeout>[] = [];
  #stopped: "timedOut" | "cancelled" | undefined;

  constructor(host: ExecutionEnvironment, settings: string) {
    this.#run(host, commandSettings(settings))
      .catch((thrown: unknown) => {
        // After a timeout or cancellation an exception is expected.
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
    if (!this.#feed.hasEnded) queueMicrotask(() => this.#stop("cancelled"));
  }

  async #run(host: ExecutionEnvironment, { text, workingDir, envVars, timeoutMs }: CommandSettings): Promise<void> {
    // Runs after the core has returned: the host's code may call the agent.
    await undefined;
    this.#timers.push(setTimeout(() => this.#stop("timedOut"), Math.min(timeoutMs, DELAY_MAX_MS)));
    const result: unknown = await host.exec?.(text, {
      workingDirectory: workingDir,
      env: envVars,
      timeoutMs,
      signal: this.#abort.signal,
      onOutput: (printed, stream = "stdout") =>
        this.#feed.print(stream === "stderr" ? "stderr" : "stdout", String(printed)),
    });
    const { exitCode, stdout = "", stderr = "" } = Object(result) as ExecResult;
    if (
      !Number.isInteger(exitCode) ||
      exitCode !== (exitCode | 0) ||
      typeof stdout !== "string" ||
      typeof stderr !== "string"
    ) {
      throw new TypeError("`exec` must return a whole number as `exitCode`, and strings as `stdout` and `stderr`");
    }
    this.#feed.print("stdout", stdout);
    this.#feed.print("stderr", stderr);
    this.#end(exitCode);
  }

  #stop(why: "timedOut" | "cancelled"): void {
    if (this.#stopped !== undefined || this.#feed.hasEnded) return;
    this.#stopped = why;
    this.#timers.push(setTimeout(() => this.#end(TERMINATED), GRACE_MS));
    const [message, name] =
      why === "timedOut" ? ["the command timed out", "TimeoutError"] : ["the command was cancelled", "AbortError"];
    this.#abort.abort(new DOMException(message, name));
  }

  #end(exitCode: number): void {
    const [timedOut, cancelled] = [this.#stopped === "timedOut", this.#stopped === "cancelled"];
    this.#feed.end({ exitCode, timedOut, cancelled });
  }
}
