/** Moves the focus: to the review and back, between the panes, and to a place near an element that is gone. */
import { editor, hasProject, pane, view } from "../store.js";

/** Shows the review with the focus on its first change, so that the keys of the review work at once. */
export function showReview(): void {
  view.value = "review";
  // A phone may show the conversation while the view is the review already.
  pane.value = "review";
  focusWhenDrawn(DRAWN_FRAMES_MAX);
}

/** Switches between review and editor, and moves the focus there. */
export function switchView(): void {
  view.value = view.value === "review" ? "editor" : "review";
  focusWhenDrawn(DRAWN_FRAMES_MAX);
}

/** Number of frames after which the review, which is loaded when it is first shown, is not waited for. */
const DRAWN_FRAMES_MAX = 120;

function focusWhenDrawn(frames: number): void {
  requestAnimationFrame(() => {
    const isDrawn = view.value !== "review" || document.querySelector(".review, .review-end") !== null;
    if (isDrawn || frames === 0) focusMiddle();
    else focusWhenDrawn(frames - 1);
  });
}

function focusMiddle(): void {
  const card = document.querySelector<HTMLElement>(".review .hunk-card");
  if (card) card.focus();
  else if (view.value === "review") focusReviewEnd();
  else if (document.querySelector(".editor-host:not([hidden])")) editor.focus();
  else document.getElementById("tab-editor")?.focus();
}

function focusReviewEnd(): void {
  (document.querySelector<HTMLElement>(".review-end") ?? document.getElementById("tab-review"))?.focus();
}

/** Focuses a place near an element that has lost the focus: a part of the page that takes keys, and decides nothing. */
export function focusNear(ancestors: readonly HTMLElement[]): void {
  if (!hasProject.value || document.querySelector("dialog[open]")) return;
  const part = PARTS.find(({ root }) => ancestors.some((node) => node.matches(root)));
  // A button of the header could act on the next key.
  (part === HEADER || part === undefined ? focusMiddle : part.focus)();
}

/** A part of the page: its element, and the way to focus a place in it. */
interface Part {
  root: string;
  focus(): void;
}

const HEADER: Part = { root: ".top-bar", focus: () => firstShown(".top-bar button:not(:disabled)")?.focus() };

/** The parts that F6 cycles through: the header, the tree, the middle pane, the message box. */
const PARTS: readonly Part[] = [
  HEADER,
  { root: ".files-pane", focus: () => document.querySelector<HTMLElement>(".tree [tabindex='0']")?.focus() },
  { root: ".editor-pane", focus: focusMiddle },
  { root: ".chat-pane", focus: () => document.querySelector<HTMLElement>(".composer textarea")?.focus() },
];

function firstShown(selector: string): HTMLElement | undefined {
  return [...document.querySelectorAll<HTMLElement>(selector)].find((element) => element.offsetParent !== null);
}

export function nextPane(direction: 1 | -1): void {
  const at = PARTS.findIndex(({ root }) => document.querySelector(root)?.contains(document.activeElement));
  const from = at < 0 ? (direction === 1 ? -1 : 0) : at;
  PARTS[(from + direction + PARTS.length) % PARTS.length]?.focus();
}
