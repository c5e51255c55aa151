/** Passes a command's output, and then its end, to the core. */

/**
 * Length at which a piece of unread output is no longer extended, in UTF-16 units. Further output starts a new piece.
 */
const PIECE_MAX = 1 << 16;

/** One of a command's output streams. */
export type OutputStream = "stdout" | "stderr";

/** A command as the core requests it. */
export interface CommandSettings {
  root: string;
  /** Path relative to the root. */
  workingDir: string;
  timeoutMs: number;
  envVars: Record<string, string>;
  /** The command line. */
  text: string;
}

/** The end of a command. */
export interface CommandEnd {
  exitCode: number;
  timedOut: boolean;
  cancelled: boolean;
}

/** Parses a request: fields separated by NUL, the command line last. */
export function commandSettings(fields: string): CommandSettings {
  const [root = "", workingDir = "", timeoutMs, nVars, ...rest] = fields.split("\0");
  const vars = rest.splice(0, 2 * Number(nVars));
  const envVars: Record<string, string> = {};
  for (let at = 0; at < vars.length; at += 2) envVars[vars[at] as string] = vars[at + 1] as string;
  return { root, workingDir, timeoutMs: Number(timeoutMs), envVars, text: rest.join("\0") };
}

/** A running command as the core uses it. Neither method runs the host's code before it returns. */
export interface Command {
  /**
   * Resolves to the next output: `1` (stdout) or `2` (stderr), then the text. At the end it resolves to `e` (ended),
   * `t` (timed out) or `c` (cancelled), then the exit status. Rejects with the reason as text.
   */
  next(): Promise<string>;
  cancel(): void;
}

/** A queue of a command's output with one reader. */
export class CommandFeed {
  readonly #unread: { stream: OutputStream; text: string }[] = [];
  #end: string | undefined;
  #failure: string | undefined;
  #waiting: { resolve(text: string): void; reject(reason: string): void } | undefined;

  next(): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#deliver();
    });
  }

  /** Adds output, unless the command has ended. */
  print(stream: OutputStream, text: string): void {
    if (text === "" || this.hasEnded) return;
    const last = this.#unread.at(-1);
    if (last?.stream === stream && last.text.length < PIECE_MAX) last.text += text;
    else this.#unread.push({ stream, text });
    this.#deliver();
  }

  /** Ends the command. Output from before is still delivered first. */
  end({ exitCode, timedOut, cancelled }: CommandEnd): void {
    if (this.hasEnded) return;
    this.#end = `${timedOut ? "t" : cancelled ? "c" : "e"}${exitCode}`;
    this.#deliver();
  }

  /** Ends the command with a failure. */
  fail(reason: string): void {
    if (this.hasEnded) return;
    this.#failure = reason;
    this.#deliver();
  }

  get hasEnded(): boolean {
    return this.#end !== undefined || this.#failure !== undefined;
  }

  /** Delivers the next item to the reader, if both exist. */
  #deliver(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    const piece = this.#unread.shift();
    const text = piece === undefined ? this.#end : `${piece.stream === "stdout" ? 1 : 2}${piece.text}`;
    if (text === undefined && this.#failure === undefined) return;
    this.#waiting = undefined;
    if (text === undefined) waiting.reject(this.#failure as string);
    else waiting.resolve(text);
  }
}
