/** The whole page: its three panes, toasts, dialogs, and the keys that work everywhere. */
import { useEffect } from "preact/hooks";
import { takeOver } from "../actions/edit.js";
import { hasUnsettled, save } from "../actions/project.js";
import { readLease } from "../actions/refresh.js";
import { undo } from "../actions/review.js";
import { editor, filesShown, leaseHeld, spoken, spokenUrgent, theme, toast, view } from "../store.js";
import { ChatPane } from "./chat-pane.js";
import { Dialogs } from "./dialogs.js";
import { EditorPane } from "./editor-pane.js";
import { FilesPane } from "./files-pane.js";
import { TopBar } from "./top-bar.js";

export function App() {
  useEffect(listen, []);
  const held = leaseHeld.value;
  useEffect(() => {
    if (!held) return undefined;
    // A lease can expire without an event while a model is slow.
    const timer = setInterval(readLease, 500);
    return () => clearInterval(timer);
  }, [held]);
  const chosen = theme.value;
  useEffect(() => {
    document.documentElement.dataset.theme = chosen;
  }, [chosen]);
  return (
    <div class="app">
      <TopBar />
      <div class="panes">
        <FilesPane />
        {/* biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/noStaticElementInteractions: Esc does the same. */}
        {filesShown.value && <div class="scrim" onClick={hideFiles} />}
        <EditorPane />
        <ChatPane />
      </div>
      <ToastView />
      <Dialogs />
      <div class="visually-hidden" aria-live="polite">
        {spoken.value}
      </div>
      <div class="visually-hidden" aria-live="assertive">
        {spokenUrgent.value}
      </div>
    </div>
  );
}

function hideFiles(): void {
  filesShown.value = false;
}

const TOAST_MS = 6_000;

function ToastView() {
  const shown = toast.value;
  useEffect(() => {
    if (!shown) return undefined;
    const timer = setTimeout(
      () => {
        if (toast.value === shown) toast.value = null;
      },
      shown.level === "error" ? 2 * TOAST_MS : TOAST_MS,
    );
    return () => clearTimeout(timer);
  }, [shown]);
  if (!shown) return null;
  return (
    // Screen readers get the text from the live regions, which exist before the text.
    <div class={`toast ${shown.level}`} key={shown.id}>
      <span>{shown.text}</span>
      {shown.undo && (
        <button class="link" type="button" onClick={() => void undo()}>
          Undo
        </button>
      )}
      <button
        class="link faint"
        type="button"
        onClick={() => {
          toast.value = null;
        }}
      >
        Dismiss
      </button>
    </div>
  );
}

function listen(): () => void {
  const onUnload = (event: BeforeUnloadEvent): void => {
    if (hasUnsettled()) event.preventDefault();
  };
  window.addEventListener("keydown", onKey);
  window.addEventListener("beforeunload", onUnload);
  return () => {
    window.removeEventListener("keydown", onKey);
    window.removeEventListener("beforeunload", onUnload);
  };
}

function onKey(event: KeyboardEvent): void {
  if (document.querySelector("dialog[open]")) return;
  const command = (event.ctrlKey || event.metaKey) && !event.altKey;
  if (command && event.key.toLowerCase() === "s") void save();
  else if (event.key === "F6") nextPane(event.shiftKey ? -1 : 1);
  else if (event.altKey && event.code === "KeyR") switchView();
  else if (event.key === "Escape" && filesShown.value) hideFiles();
  else if (event.key === "Escape" && leaseHeld.value && !event.isComposing) takeOver();
  else return;
  event.preventDefault();
}

/** Switches between review and editor, and moves the focus there. */
function switchView(): void {
  view.value = view.value === "review" ? "editor" : "review";
  // The view is drawn in a microtask after the state changed.
  requestAnimationFrame(focusMiddle);
}

function focusMiddle(): void {
  const card = document.querySelector<HTMLElement>(".review .hunk-card");
  if (card) card.focus();
  else if (view.value === "review") document.getElementById("tab-review")?.focus();
  else editor.focus();
}

/** The parts of the page that F6 cycles through: the tree, the middle pane, the message box. */
const PANES: readonly (() => void)[] = [
  () => document.querySelector<HTMLElement>(".tree [tabindex='0']")?.focus(),
  focusMiddle,
  () => document.querySelector<HTMLElement>(".composer textarea")?.focus(),
];

function nextPane(direction: 1 | -1): void {
  const roots = [".files-pane", ".editor-pane", ".chat-pane"];
  const at = roots.findIndex((root) => document.querySelector(root)?.contains(document.activeElement));
  const from = at < 0 ? (direction === 1 ? -1 : 0) : at;
  PANES[(from + direction + PANES.length) % PANES.length]?.();
}
