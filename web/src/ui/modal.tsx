/**
 * The frame of a modal dialog. The browser's `<dialog>` keeps the focus inside. The element with `data-focus` gets it
 * first.
 */

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { dialog } from "../store.js";

/** The frame of every dialog. `onCancel` also runs on Esc. */
export function Modal(props: { title: string; wide?: boolean; onCancel: () => void; children: ComponentChildren }) {
  const node = useRef<HTMLDialogElement>(null);
  const title = useId();
  useLayoutEffect(() => {
    const shown = node.current;
    shown?.showModal();
    // The attribute `autofocus` would also act when the element is inserted, and the browser would warn.
    shown?.querySelector<HTMLElement>("[data-focus]")?.focus();
    return () => {
      // The browser returns the focus to the opener, unless the opener is gone or disabled.
      shown?.close();
      if (document.activeElement === document.body) document.querySelector<HTMLElement>(".composer textarea")?.focus();
    };
  }, []);
  return (
    <dialog
      ref={node}
      class={props.wide ? "modal wide" : "modal"}
      aria-labelledby={title}
      onCancel={(event) => {
        event.preventDefault();
        props.onCancel();
      }}
    >
      <h2 id={title}>{props.title}</h2>
      {props.children}
    </dialog>
  );
}

/** Closes the open dialog. */
export function closeDialog(): void {
  dialog.value = null;
}
