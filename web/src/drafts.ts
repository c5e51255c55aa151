/**
 * Text that was typed just before the page closed.
 *
 * The worker's record needs some milliseconds, in which a closing page loses its worker. The page therefore keeps the last
 * edits itself, at once, in the browser's storage. Each has a key, by which an edit that is in the record is not repeated.
 */
import type { WrittenById } from "./core/protocol.js";

/** An edit of the user: the text of a file, and the text on which it is based. */
export interface Draft {
  readonly key: string;
  readonly path: string;
  readonly text: string;
  readonly base: string;
  readonly written: WrittenById;
}

/** The part of the browser's storage that is used. */
export type DraftStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** Time in milliseconds after which a sent edit is in the record. */
const RECORDED_MS = 4_000;

/** Collects the edits that may be missing in the record. */
export class Drafts {
  readonly #storage: DraftStorage | null;
  #sent: { readonly draft: Draft; readonly at: number }[] = [];

  constructor(storage: DraftStorage | null) {
    this.#storage = storage;
  }

  /** Notes an edit that is being sent to the worker. */
  sent(draft: Draft, now: number): void {
    this.#sent = [...this.#recent(now), { draft, at: now }];
  }

  /** Keeps the last edits of a project that closes: those that were sent, and `unsent` ones. */
  keep(project: string, unsent: readonly Draft[], now: number): void {
    const drafts = [...this.#recent(now).map(({ draft }) => draft), ...unsent];
    // Too large for the storage: the oldest were sent first, and are in the record most likely.
    while (drafts.length > 0 && !this.#stored(project, drafts)) drafts.shift();
  }

  #stored(project: string, drafts: readonly Draft[]): boolean {
    try {
      this.#storage?.setItem(nameOf(project), JSON.stringify(drafts));
      return true;
    } catch {
      // The storage is full or not allowed.
      return false;
    }
  }

  /** Returns the kept edits of a project, in the order of typing. */
  of(project: string): readonly Draft[] {
    try {
      return JSON.parse(this.#storage?.getItem(nameOf(project)) ?? "[]") as readonly Draft[];
    } catch {
      return [];
    }
  }

  /** Forgets the kept edits of a project, which are in its record now. */
  forget(project: string): void {
    try {
      this.#storage?.removeItem(nameOf(project));
    } catch {
      // Nothing was kept either.
    }
  }

  /** Forgets the edits that were sent, for another project. */
  reset(): void {
    this.#sent = [];
  }

  #recent(now: number): { readonly draft: Draft; readonly at: number }[] {
    return this.#sent.filter(({ at }) => now - at < RECORDED_MS);
  }
}

function nameOf(project: string): string {
  return `emend.typed.${project}`;
}

function storage(): DraftStorage | null {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    return null;
  }
}

/** The edits of this page. */
export const drafts = new Drafts(storage());
