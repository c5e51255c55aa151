/** The canvas: the file that the user's editor shows. */

import { requireText } from "../validate.js";
import type { HandleBridge } from "./handle-bridge.js";
import type { CanvasState } from "./types.js";

/**
 * The file that is open in the user's editor. The agent edits it under a lease, which the user can take back at any
 * time.
 */
export class Canvas {
  readonly #bridge: HandleBridge;

  /** @internal */
  constructor(bridge: HandleBridge) {
    this.#bridge = bridge;
  }

  /** Opens a file in the canvas. If the agent holds the lease of another file, the lease is taken back. */
  open(path: string): CanvasState {
    const file = requireText("the path", path);
    return this.#bridge.callJson((handle) => handle.openCanvas(file));
  }

  /** Closes the open file. */
  close(): CanvasState {
    return this.#bridge.callJson((handle) => handle.openCanvas(undefined));
  }

  /** Returns which file is open and whether the agent holds the lease. */
  state(): CanvasState {
    return this.#bridge.callJson((handle) => handle.canvas());
  }

  /** Takes the lease back at once. Call it at the user's first keystroke and at Esc. */
  takeBack(): CanvasState {
    return this.#bridge.callJson((handle) => handle.takeBack());
  }
}
