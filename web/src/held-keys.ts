/** Keys that are typed while the code of their target is being loaded. */

/**
 * Keeps keys from the element with the focus until `isReady`, which is asked once a frame. Typed characters then go to the
 * field that has got the focus. Escape calls `cancel`, for a connection that is slow. Other keys are dropped.
 */
export function holdKeys(isReady: () => boolean, cancel: () => void): void {
  let typed = "";
  const hold = (event: KeyboardEvent): void => {
    if (event.key === "Escape") cancel();
    else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) typed += event.key;
    event.preventDefault();
    event.stopPropagation();
  };
  const look = (): void => {
    if (!isReady()) {
      requestAnimationFrame(look);
      return;
    }
    removeEventListener("keydown", hold, { capture: true });
    const field = document.activeElement;
    if (typed === "" || !(field instanceof HTMLInputElement)) return;
    // The only way of insertion that the field reports as typed text. The search reads its field after each key.
    document.execCommand("insertText", false, typed);
    field.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
  };
  addEventListener("keydown", hold, { capture: true });
  requestAnimationFrame(look);
}
