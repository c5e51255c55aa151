/** What is told of a command while it runs: pieces of what it prints, and then its end. */

/** How long a piece of printed text grows, in characters, while nobody takes it; then another begins. */
const JOINED_MAX = 1 << 16;

/** Which of its outputs a command wrote to. */
export type OutputStream = "stdout" | "stderr";

/** What the core says of a command. */
export interface CommandSettings {
  root: string;
  /** From the root. */
  workingDir: string;
  timeoutMs: number;
  envVars: Record<string, string>;
  /** What the shell is given. */
  text: string;
}

/** How a command ended. */
export interface CommandEnd {
  exitCode: number;
  timedOut: boolean;
  cancelled: boolean;
}

/** Reads what the core says: fields with a NUL between, the text of the command last. */
export function settingsOf(fields: string): CommandSettings {
  const [root = "", workingDir = "", timeoutMs, nVars, ...rest] = fields.split("\0");
  const vars = rest.splice(0, 2 * Number(nVars));
  const envVars: Record<string, string> = {};
  for (let at = 0; at < vars.length; at += 2) envVars[vars[at] as string] = vars[at + 1] as string;
  return { root, workingDir, timeoutMs: Number(timeoutMs), envVars, text: rest.join("\0") };
}

/** A command as the core sees it. Neither method runs anything of the command's before it returns. */
export interface Command {
  /**
   * Gives `1` or `2` and the next text that it printed there; or its end, `e`, `t` if its time was up or `c` if it was
   * cancelled, and its status. Rejects with the reason as text.
   */
  next(): Promise<string>;
  cancel(): void;
}

export class CommandFeed {
  readonly #told: { stream: OutputStream; text: string }[] = [];
  #end: string | undefined;
  #failure: string | undefined;
  #waiting: { resolve(text: string): void; reject(reason: string): void } | undefined;

  next(): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#answer();
    });
  }

  tell(stream: OutputStream, text: string): void {
    if (text === "" || this.isOver) return;
    const last = this.#told.at(-1);
    if (last?.stream === stream && last.text.length < JOINED_MAX) last.text += text;
    else this.#told.push({ stream, text });
    this.#answer();
  }

  /** Ends it; what was told before still comes first. */
  end({ exitCode, timedOut, cancelled }: CommandEnd): void {
    if (this.isOver) return;
    this.#end = `${timedOut ? "t" : cancelled ? "c" : "e"}${exitCode}`;
    this.#answer();
  }

  fail(reason: string): void {
    if (this.isOver) return;
    this.#failure = reason;
    this.#answer();
  }

  get isOver(): boolean {
    return this.#end !== undefined || this.#failure !== undefined;
  }

  /** Gives whoever waits what there is. */
  #answer(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    const piece = this.#told.shift();
    const text = piece === undefined ? this.#end : `${piece.stream === "stdout" ? 1 : 2}${piece.text}`;
    if (text === undefined && this.#failure === undefined) return;
    this.#waiting = undefined;
    if (text === undefined) waiting.reject(this.#failure as string);
    else waiting.resolve(text);
  }
}
