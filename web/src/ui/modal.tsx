/** The frame of a modal dialog. The browser's `<dialog>` keeps the focus inside. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { dialog } from "../store.js";

/** The frame of every dialog. `onCancel` also runs on Esc. */
export function Modal(props: { title: string; onCancel: () => void; children: ComponentChildren }) {
  const node = useRef<HTMLDialogElement>(null);
  const title = useId();
  useEffect(() => node.current?.showModal(), []);
  return (
    <dialog
      ref={node}
      class="modal"
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
