/**
 * Keeps texts that an environment failed to write, so that a write that stops half-way loses nothing.
 *
 * After a failed write the core reads the file and puts the old text back. If that fails too, the old text would exist
 * nowhere. It is kept here: reads return it as long as the file holds the rest that the failed write left, and the write
 * is repeated before the next read.
 */

import { sameBytes } from "../bytes.js";
import { makeError } from "../core-errors.js";
import { EmendError } from "../errors.js";

interface Failed {
  /** The content that the file should have. */
  content: Uint8Array;
  /** The content that the failed write left. */
  left: Uint8Array;
  /** Whether the write changed the file. */
  changed: boolean;
  /** Whether the error of the change was reported: nobody but the reader repeats the write. */
  reported: boolean;
}

/** Reads the present content of a file; `undefined` if that fails. */
type ReadNow = () => Promise<Uint8Array | undefined>;

/** The failed writes of one environment. */
export class FailedWrites {
  readonly #failed = new Map<string, Failed>();
  /** The last read, which the core makes before each write. */
  #last: { path: string; bytes: Uint8Array } | undefined;

  /** Returns the content of a file that was read as `bytes`. `again` repeats a write. */
  async seen(path: string, bytes: Uint8Array, again: (content: Uint8Array) => Promise<void>): Promise<Uint8Array> {
    const failed = this.#failed.get(path);
    let content = bytes;
    if (failed !== undefined && !sameBytes(bytes, failed.left)) {
      // Another program has written the file since.
      this.#failed.delete(path);
    } else if (failed?.reported || failed?.changed) {
      content = failed.content;
      if (failed.reported) {
        await again(content.slice()).then(
          () => this.#failed.delete(path),
          () => {},
        );
      }
    }
    this.#last = { path, bytes };
    return content;
  }

  /** Records that a write has succeeded, or that the file was removed. */
  done(path: string): void {
    this.#failed.delete(path);
  }

  /** Records that a write has failed. */
  async fail(path: string, content: Uint8Array, readNow: ReadNow): Promise<void> {
    const before = this.#last?.path === path ? this.#last.bytes : undefined;
    const left = await readNow();
    if (left === undefined) return;
    const changed = before !== undefined && !sameBytes(left, before);
    const was = this.#failed.get(path);
    this.#failed.set(path, {
      content: content.slice(),
      left,
      changed: changed || was?.changed === true,
      reported: false,
    });
  }

  /** Adds the texts to the error of a change that could not be taken back; returns other errors as they are. */
  explained(error: unknown): unknown {
    if (!(error instanceof EmendError)) return error;
    const [, names] = /^(.+?): could not be put back as it was, after: /s.exec(error.message) ?? [];
    if (names === undefined) return error;
    const originals: Record<string, string | Uint8Array> = {};
    for (const [path, failed] of this.#failed) {
      if (!names.split(", ").includes(path)) continue;
      failed.reported = true;
      Object.defineProperty(originals, path, { value: textOrBytes(failed.content), enumerable: true });
    }
    return makeError("EmendError", error.code, error.message, {
      data: { originals },
      retryable: true,
      suggestions: [
        "remove the cause, for example free some space, and repeat the call: the agent first puts the files back",
        "write the texts in `error.data.originals` yourself",
      ],
      cause: error.cause,
    });
  }
}

function textOrBytes(bytes: Uint8Array): string | Uint8Array {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return bytes.slice();
  }
}
