/** The cursor of a session's newest event. */

import { isEmendError } from "../errors.js";
import type { EventFeed } from "./event-feed.js";

/** Returns the cursor of the newest event. `open` subscribes after a cursor; an impossible one is answered with the newest. */
export function newestCursor(open: (after: number) => EventFeed): number {
  try {
    void open(Number.MAX_SAFE_INTEGER).return();
  } catch (error) {
    const last = isEmendError(error, "resync_required") ? (error.data as { last?: unknown }).last : undefined;
    if (typeof last !== "number") throw error;
    return last;
  }
  return 0;
}
