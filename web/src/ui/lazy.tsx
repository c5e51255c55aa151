/**
 * Draws a part of a long list only while it is near the visible area. Elsewhere it is an empty box of the same height.
 *
 * A part that has the focus stays, and so does one whose `keep` is set.
 */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** Distance from the visible area in pixels at which a part is drawn. */
const MARGIN = 1_200;

type Seen = (near: boolean) => void;

/** One observer for each scrolled list. */
const observers = new WeakMap<
  Element,
  { readonly observer: IntersectionObserver; readonly seen: WeakMap<Element, Seen> }
>();

function observe(node: Element, seen: Seen): () => void {
  const root = node.closest(".review-list");
  if (!root) return () => undefined;
  let found = observers.get(root);
  if (!found) {
    const callbacks = new WeakMap<Element, Seen>();
    const observer = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) callbacks.get(entry.target)?.(entry.isIntersecting);
      },
      { root, rootMargin: `${MARGIN}px 0px` },
    );
    found = { observer, seen: callbacks };
    observers.set(root, found);
  }
  const { observer, seen: callbacks } = found;
  callbacks.set(node, seen);
  observer.observe(node);
  return () => observer.unobserve(node);
}

interface LazyProps {
  /** Height in pixels before the part was drawn once. */
  readonly estimate: number;
  /** Whether the part is drawn at first. */
  readonly initial: boolean;
  readonly children: () => ComponentChildren;
}

export function Lazy({ estimate, initial, children }: LazyProps) {
  const node = useRef<HTMLDivElement>(null);
  const height = useRef(estimate);
  const [near, setNear] = useState(initial);
  useLayoutEffect(() => {
    const box = node.current;
    if (!box) return undefined;
    return observe(box, (isNear) => {
      if (!isNear && box.contains(document.activeElement)) return;
      if (!isNear && box.firstChild) height.current = box.offsetHeight;
      setNear(isNear);
    });
  }, []);
  return (
    <div class={near ? "lazy" : "lazy far"} ref={node} style={near ? {} : { height: `${height.current}px` }}>
      {near && children()}
    </div>
  );
}
