/** The worker that parses the open file for its symbols. It starts with the first list of symbols. */
import { isEmendError, outlineOf } from "emend/outline";
import { type TextSymbol, textOutline } from "./text-outline.js";

/** A text to parse. */
export interface OutlineRequest {
  readonly id: number;
  readonly path: string;
  readonly text: string;
}

/** The outline of a request, or the reason why there is none. */
export type OutlineReply =
  | { readonly id: number; readonly symbols: readonly TextSymbol[] }
  | { readonly id: number; readonly problem: string; readonly code: string };

addEventListener("message", async ({ data }: MessageEvent<OutlineRequest>) => {
  const { id, path, text } = data;
  let reply: OutlineReply;
  try {
    reply = { id, symbols: (await textOutline(path, text)) ?? (await outlineOf(path, text)).symbols };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    reply = { id, problem, code: isEmendError(error) ? error.code : "unexpected" };
  }
  postMessage(reply);
});
