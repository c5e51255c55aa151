/**
 * Moves the focus at the end of an action that took time, unless the user has gone elsewhere meanwhile.
 *
 * An element that takes the focus from a menu closes it, and the next key goes to a place that the user did not choose.
 */

/** Number of keys and presses of the pointer so far. */
let gestures = 0;

for (const type of ["keydown", "pointerdown"]) {
  document.addEventListener(
    type,
    () => {
      gestures += 1;
    },
    true,
  );
}

/** Call this when the action begins. The returned function runs `focus` if the focus may still move. */
export function lateFocus(): (focus: () => void) => void {
  const before = document.activeElement;
  const gesturesBefore = gestures;
  return (focus) => {
    const now = document.activeElement;
    // A dialog that closes gives the focus to its opener, which is not the choice of the user.
    const isUnmoved = now === before || now === null || now === document.body || gestures === gesturesBefore;
    if (isUnmoved) focus();
  };
}
