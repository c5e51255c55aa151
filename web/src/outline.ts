/** The symbols of a text, which a worker of their own finds. Loaded with the first list of symbols. */
import type { OutlineReply, OutlineRequest } from "./outline-worker.js";
import type { TextSymbol } from "./text-outline.js";

/** The symbols of a file, or the reason why there are none. */
export type Symbols = { readonly symbols: readonly TextSymbol[] } | { readonly problem: string };

let worker: Worker | null = null;
let last = 0;
const awaited = new Map<number, (found: Symbols) => void>();

/** Returns the symbols of a text. */
export function symbolsOf(path: string, text: string): Promise<Symbols> {
  worker ??= started();
  last += 1;
  const request: OutlineRequest = { id: last, path, text };
  worker.postMessage(request);
  return new Promise((done) => awaited.set(request.id, done));
}

function started(): Worker {
  const made = new Worker(new URL("./outline-worker.ts", import.meta.url), { type: "module" });
  made.onmessage = ({ data }: MessageEvent<OutlineReply>) => {
    awaited.get(data.id)?.("symbols" in data ? data : { problem: noteOf(data.code, data.problem) });
    awaited.delete(data.id);
  };
  made.onerror = () => {
    // The script could not be loaded. The next list tries again.
    worker = null;
    for (const done of awaited.values()) done({ problem: NOT_LOADED });
    awaited.clear();
  };
  return made;
}

const NOT_LOADED = "The symbols need a part of the page that could not be loaded. Check the connection and try again.";

function noteOf(code: string, problem: string): string {
  if (code === "load_failed") return NOT_LOADED;
  if (code === "timeout") return "Finding the symbols of this file takes too long.";
  return /ending/.test(problem) ? "Symbols are not known for files of this kind." : `No symbols: ${problem}.`;
}
