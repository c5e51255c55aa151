/** The worker that parses the open file for its symbols. It starts with the first list of symbols. */
import { isEmendError, type Outline, outlineOf } from "emend/outline";

/** A text to parse. */
export interface OutlineRequest {
  readonly id: number;
  readonly path: string;
  readonly text: string;
}

/** The outline of a request, or the reason why there is none. */
export type OutlineReply =
  | { readonly id: number; readonly outline: Outline }
  | { readonly id: number; readonly problem: string; readonly code: string };

addEventListener("message", async ({ data }: MessageEvent<OutlineRequest>) => {
  const { id, path, text } = data;
  let reply: OutlineReply;
  try {
    reply = { id, outline: await outlineOf(path, text) };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    reply = { id, problem, code: isEmendError(error) ? error.code : "unexpected" };
  }
  postMessage(reply);
});
