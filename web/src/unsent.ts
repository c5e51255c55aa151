/** Keeps the message that is being written, its additions, and the queued ones, over a reload of the tab. */
import { effect } from "@preact/signals";
import { requeue } from "./actions/run.js";
import type { Addition } from "./context.js";
import { additions, draft, project, type Queued, queue } from "./store.js";

const KEY = "emend.unsent";

interface Unsent {
  readonly draft: string;
  /** A message was a text before there were pictures. */
  readonly queue: readonly (string | Pick<Queued, "text" | "pictures">)[];
  readonly additions?: readonly Addition[];
}

function read(): Unsent | null {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  } catch {
    // A browser may refuse the storage.
    return null;
  }
}

/** Brings back what the tab had before a reload, once `opened` is done, and keeps it from then on. */
export async function keepUnsent(opened: Promise<void>): Promise<void> {
  const before = read();
  await opened.catch(() => undefined);
  if (before) {
    if (draft.value === "") draft.value = before.draft;
    if (additions.value.length === 0) additions.value = before.additions ?? [];
    requeue(before.queue.map((each) => (typeof each === "string" ? { text: each } : each)));
  }
  effect(() => {
    const unsent: Unsent = {
      draft: draft.value,
      // A server keeps its own.
      queue: project.value.remote ? [] : queue.value,
      additions: additions.value,
    };
    try {
      sessionStorage.setItem(KEY, JSON.stringify(unsent));
    } catch {
      // Too large, or refused: only a reload would lose it.
    }
  });
}
