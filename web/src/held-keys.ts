/** Keys that are typed while the code of their target is being loaded. */

/**
 * Keeps keys from the element with the focus until `isReady`, which is asked once a frame. Typed characters then go to the
 * field that has got the focus. Escape calls `cancel`, for a connection that is slow. Other keys are dropped.
 *
 * A click into a text calls `cancel`, too: the user has gone elsewhere, and keys for that place must not be lost, or press
 * buttons of the target when it comes.
 */
export function holdKeys(isReady: () => boolean, cancel: () => void): void {
  let typed = "";
  const hold = (event: KeyboardEvent): void => {
    if (event.key === "Escape") cancel();
    else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) typed += event.key;
    event.preventDefault();
    event.stopPropagation();
  };
  const leave = ({ target }: Event): void => {
    if (!(target instanceof Element && target.closest("textarea, input, [contenteditable]"))) return;
    typed = "";
    cancel();
    stop();
  };
  const stop = (): void => {
    removeEventListener("keydown", hold, { capture: true });
    removeEventListener("pointerdown", leave, { capture: true });
  };
  const look = (): void => {
    if (!isReady()) {
      requestAnimationFrame(look);
      return;
    }
    stop();
    const field = document.activeElement;
    if (typed === "" || !(field instanceof HTMLInputElement)) return;
    // The only way of insertion that the field reports as typed text. The search reads its field after each key.
    document.execCommand("insertText", false, typed);
    field.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
  };
  addEventListener("keydown", hold, { capture: true });
  addEventListener("pointerdown", leave, { capture: true });
  requestAnimationFrame(look);
}
