/** The whole page: its three panes, toasts, dialogs, and the keys that work everywhere. */
import { effect } from "@preact/signals";
import { useEffect, useLayoutEffect } from "preact/hooks";
import { takeOver } from "../actions/edit.js";
import { save } from "../actions/late-save.js";
import { dropKept, hasUnsettled, keepTyped, openDrop } from "../actions/project.js";
import { readLease } from "../actions/refresh.js";
import { redo, undo } from "../actions/review.js";
import { addFiles } from "../actions/run.js";
import { keepFocus } from "../focus-keeper.js";
import { holdKeys } from "../held-keys.js";
import { altLetter } from "../keys.js";
import {
  asksUser,
  chat,
  dialog,
  dropping,
  editor,
  filesShown,
  hasProject,
  leaseHeld,
  pane,
  project,
  spoken,
  spokenUrgent,
  theme,
  toast,
  totals,
  unsaved,
  view,
} from "../store.js";
import { ChatPane } from "./chat-pane.js";
import { EditorPane } from "./editor-pane.js";
import { FilesPane } from "./files-pane.js";
import { focusNear, nextPane, switchView } from "./focus.js";
import { later } from "./later.js";
import { PaneBar, shownPane } from "./pane-bar.js";
import { StartView } from "./start-view.js";
import { TopBar } from "./top-bar.js";

// Loaded when a server is joined, so that it is there when the server is not.
const LinkNote = later(async () => (await import("./link-note.js")).LinkNote);

const Dialogs = later(async () => (await import("./dialogs.js")).Dialogs, { failed: cancelDialog });

/** Closes a dialog that is not shown. */
function cancelDialog(): void {
  const open = dialog.value;
  dialog.value = null;
  if (open && "answer" in open) open.answer(null);
}

/** The open dialog. Keys that are typed before its code is loaded wait for it. */
function OpenDialog() {
  const isOpen = dialog.value !== null;
  useLayoutEffect(() => {
    if (isOpen && !Dialogs.isLoaded) holdKeys(() => dialog.value === null || isDialogShown(), cancelDialog);
  }, [isOpen]);
  return isOpen ? <Dialogs /> : null;
}

function isDialogShown(): boolean {
  return document.querySelector("dialog[open]") !== null;
}

export function App() {
  useEffect(listen, []);
  useEffect(() => keepFocus(focusNear), []);
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
  const title = pageTitle();
  useEffect(() => {
    document.title = title;
  }, [title]);
  return (
    <div class={hasProject.value ? "app" : "app at-start"} data-pane={shownPane()}>
      <div>
        <TopBar />
        {project.value.remote && <LinkNote />}
      </div>
      {hasProject.value ? (
        <>
          <div class="panes">
            <FilesPane />
            {/* biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/noStaticElementInteractions: Esc does the same. */}
            {filesShown.value && <div class="scrim" onClick={hideFiles} />}
            <EditorPane />
            <ChatPane />
          </div>
          <PaneBar />
        </>
      ) : (
        <StartView />
      )}
      <ToastView />
      {dropping.value && (
        <div class="drop-target">
          <p>Drop a folder or files to open them, or a picture on the message box</p>
        </div>
      )}
      <OpenDialog />
      <div class="visually-hidden" aria-live="polite">
        {spoken.value}
      </div>
      <div class="visually-hidden" aria-live="assertive">
        {spokenUrgent.value}
      </div>
    </div>
  );
}

/** Returns the title of the page: whether something is unsaved, running or waiting, and the project. */
function pageTitle(): string {
  const { changes } = totals.value;
  const state = chat.value.running ? "… " : changes > 0 ? `(${changes}) ` : "";
  if (!hasProject.value) return "Emend";
  const name = project.value.name === "" ? "" : `${project.value.name} – `;
  return `${unsaved.value.size > 0 ? "● " : ""}${state}${name}Emend`;
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
    <section class={`toast ${shown.level}`} key={shown.id} aria-label="Message">
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
    </section>
  );
}

// A phone shows the pane of the chosen view.
let lastView = view.peek();
effect(() => {
  if (view.value === lastView) return;
  lastView = view.value;
  pane.value = lastView === "review" ? "review" : "text";
});

/** Time in milliseconds after a key in the editor in which the user still types. */
const TYPING_MS = 3_000;
let lastInput = Number.NEGATIVE_INFINITY;

// A request of the assistant comes first: a phone shows the conversation, unless the user types in the editor.
effect(() => {
  if (asksUser.value === null) return;
  if (performance.now() - lastInput > TYPING_MS) pane.value = "chat";
  requestAnimationFrame(() => {
    document.querySelector(".card.approval, .card.question:not(.answered)")?.scrollIntoView({ block: "nearest" });
  });
});

function listen(): () => void {
  const onUnload = (event: BeforeUnloadEvent): void => {
    if (hasUnsettled()) event.preventDefault();
  };
  // A phone may close a hidden page without a word.
  const onHidden = (): void => {
    if (document.hidden) void editor.flush();
  };
  const onShow = (event: PageTransitionEvent): void => {
    if (event.persisted) dropKept();
  };
  const onInput = ({ target }: Event): void => {
    if (target instanceof Element && target.closest(".editor-pane")) lastInput = performance.now();
  };
  // Many buttons open a dialog. Its code then comes between the press and the click.
  const onPress = ({ target }: Event): void => {
    if (hasProject.value && target instanceof Element && target.closest("button")) Dialogs.preload();
  };
  const dragged = ["dragenter", "dragover", "dragleave", "drop"] as const;
  window.addEventListener("keydown", onKey);
  window.addEventListener("input", onInput, { capture: true });
  window.addEventListener("pointerdown", onPress, { capture: true });
  window.addEventListener("beforeunload", onUnload);
  window.addEventListener("pagehide", keepTyped);
  window.addEventListener("pageshow", onShow);
  document.addEventListener("visibilitychange", onHidden);
  // Before the editor, which would insert the text of a dropped file.
  for (const kind of dragged) window.addEventListener(kind, onDrag, { capture: true });
  return () => {
    window.removeEventListener("keydown", onKey);
    window.removeEventListener("input", onInput, { capture: true });
    window.removeEventListener("pointerdown", onPress, { capture: true });
    window.removeEventListener("beforeunload", onUnload);
    window.removeEventListener("pagehide", keepTyped);
    window.removeEventListener("pageshow", onShow);
    document.removeEventListener("visibilitychange", onHidden);
    for (const kind of dragged) window.removeEventListener(kind, onDrag, { capture: true });
  };
}

/** Opens files that are dropped anywhere on the page, except pictures for a message. Dragged text is left to the editor and the message box. */
function onDrag(event: DragEvent): void {
  const transfer = event.dataTransfer;
  if (!transfer?.types.includes("Files")) return;
  event.preventDefault();
  event.stopPropagation();
  // A drag leaves the page if it enters no other element of it.
  const isOver = event.type !== "drop" && !(event.type === "dragleave" && event.relatedTarget === null);
  const isInBox = event.target instanceof Element && event.target.closest(".composer") !== null;
  dropping.value = !isOver ? null : isInBox ? "box" : "page";
  if (event.type === "dragover") transfer.dropEffect = "copy";
  if (event.type !== "drop" || isDialogShown()) return;
  if (isInBox) addFiles(transfer.files);
  else void openDrop(transfer);
}

function onKey(event: KeyboardEvent): void {
  if (isDialogShown()) return;
  const command = (event.ctrlKey || event.metaKey) && !event.altKey;
  const key = event.key.toLowerCase();
  if (!hasProject.value) return;
  if (command && key === "s") void save();
  else if (command && key === "p" && !event.shiftKey) dialog.value = { kind: "find", mode: "files" };
  else if (command && key === "f" && event.shiftKey) dialog.value = { kind: "find", mode: "text" };
  else if (command && key === "o" && event.shiftKey) dialog.value = { kind: "find", mode: "symbols" };
  else if (command && "zy".includes(event.key.toLowerCase()) && !takesText(event.target)) {
    void (event.shiftKey || event.key.toLowerCase() === "y" ? redo() : undo());
  } else if (event.key === "F6") nextPane(event.shiftKey ? -1 : 1);
  else if (altLetter(event) === "r") switchView();
  else if (event.key === "Escape" && filesShown.value) hideFiles();
  else if (event.key === "Escape" && leaseHeld.value && !event.isComposing) takeOver();
  else return;
  event.preventDefault();
}

/**
 * Whether keys typed there are text, which the browser or the editor undoes. The buttons of changes stand inside the
 * editor's text, but take none.
 */
function takesText(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.closest("input, textarea, select, .cm-panel") !== null;
}
