/**
 * Keeps the keyboard focus on the page.
 *
 * An element that disappears or is disabled gives its focus to the body, where keys do nothing and a screen reader starts
 * from the top. Actions move the focus themselves if they know a good place; this is the net below them.
 */

/** Time in milliseconds that actions have to move the focus themselves. */
const GRACE_MS = 120;

/** Watches the focus. `restore` gets the place of the element that lost it. Returns the function that ends watching. */
export function keepFocus(restore: (ancestors: readonly HTMLElement[]) => void): () => void {
  let last: HTMLElement | null = null;
  let ancestors: readonly HTMLElement[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const isGone = (): boolean =>
    last !== null && (!last.isConnected || last.matches(":disabled") || last.closest("[hidden]") !== null);
  const check = (): void => {
    timer = undefined;
    const now = document.activeElement;
    if (!isGone() || (now !== null && now !== document.body && now !== last)) return;
    last = null;
    restore(ancestors.filter((node) => node.isConnected));
  };
  const onFocus = ({ target }: FocusEvent): void => {
    if (!(target instanceof HTMLElement)) return;
    last = target;
    ancestors = ancestorsOf(target);
  };
  const onBlur = ({ relatedTarget }: FocusEvent): void => {
    if (relatedTarget !== null || !document.hasFocus()) return;
    const left = last;
    // The event also comes while the element is being removed. Otherwise the user clicked beside everything.
    setTimeout(() => {
      if (last === left && !isGone()) last = null;
    });
  };
  const observer = new MutationObserver(() => {
    if (timer === undefined && isGone()) timer = setTimeout(check, GRACE_MS);
  });
  observer.observe(document.body, { childList: true, subtree: true, attributeFilter: ["disabled", "hidden"] });
  document.addEventListener("focusin", onFocus);
  document.addEventListener("focusout", onBlur);
  return () => {
    clearTimeout(timer);
    observer.disconnect();
    document.removeEventListener("focusin", onFocus);
    document.removeEventListener("focusout", onBlur);
  };
}

/** Returns the elements around `node`, innermost first. */
function ancestorsOf(node: HTMLElement): readonly HTMLElement[] {
  const found: HTMLElement[] = [];
  for (let at = node.parentElement; at !== null; at = at.parentElement) found.push(at);
  return found;
}
