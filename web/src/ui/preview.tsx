/** The open Markdown file as it reads, beside its text on a wide page. Loaded with its first use. */
import "../styles/preview.css";
import { useEffect, useRef } from "preact/hooks";
import { cursor, editor, openPath, review } from "../store.js";
import { Markdown } from "./markdown.js";

/** The preview has the changes under review. It follows the text while it changes, and the place in it. */
export function Preview() {
  const box = useRef<HTMLDivElement>(null);
  // Drawn again when the text changes by the user or the assistant.
  void [cursor.value, review.value];
  useEffect(() => {
    const scroller = document.querySelector(".editor-host .cm-scroller");
    const follow = (): void => {
      const to = box.current;
      if (!scroller || !to) return;
      const range = scroller.scrollHeight - scroller.clientHeight;
      if (range > 0) to.scrollTop = (scroller.scrollTop / range) * (to.scrollHeight - to.clientHeight);
    };
    scroller?.addEventListener("scroll", follow, { passive: true });
    return () => scroller?.removeEventListener("scroll", follow);
  }, []);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex lint/a11y/useSemanticElements: the keyboard must be able to scroll it.
    <div class="preview" ref={box} tabIndex={0} role="group" aria-label={`Preview of ${openPath.value}`}>
      <Markdown text={editor.text ?? ""} />
    </div>
  );
}
