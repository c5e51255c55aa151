/** Carries out the keys of the list of the review, one after another, and moves the focus from card to card. */
import { openFile } from "../actions/edit.js";
import { decide, undoDecision } from "../actions/review.js";
import type { Decision } from "../editor/handle.js";
import { pendingHunks } from "../hunk-text.js";
import { meantBy } from "../keys.js";
import { waiting } from "../store.js";

/** Carries out a decision, then focuses the card that takes the place of this one. */
export async function decideInList(
  card: HTMLElement | null,
  id: string,
  kind: Decision,
  selector: string,
): Promise<boolean> {
  const list = card?.closest(".review-list") ?? null;
  const shown = cardsOf(list);
  const index = card === null ? -1 : shown.indexOf(card);
  const follows = shown[index + 1]?.dataset.hunk;
  const done = await decide(id, kind);
  // The list renders in a microtask after the state changed.
  await new Promise(requestAnimationFrame);
  const cards = cardsOf(list);
  const stays = cards.find((each) => each.dataset.hunk === id);
  const after = cards.find((each) => each.dataset.hunk === follows);
  const next = stays ?? after ?? cards[Math.min(index, cards.length - 1)];
  if (!next) document.querySelector<HTMLElement>(".review-end")?.focus();
  else (selector === "" ? next : next.querySelector<HTMLElement>(selector))?.focus();
  return done;
}

/** Undoes the last decision, then focuses the first change that it brought back: the next key is about that one. */
async function undoInList(): Promise<void> {
  const before = new Set(pendingIds());
  await undoDecision();
  await new Promise(requestAnimationFrame);
  const back = pendingIds().find((id) => !before.has(id));
  if (back === undefined) return;
  // Without a card to show, no other change may keep the focus.
  (cardOf(back) ?? document.querySelector<HTMLElement>(".review-list"))?.focus();
}

export function pendingIds(): readonly string[] {
  return waiting.value.flatMap(pendingHunks).map((hunk) => hunk.id);
}

/** Returns the id of the first hunk below a file, or of the first of all. */
export function cardAfter(path: string): string | undefined {
  const cards = cardsOf(document.querySelector(".review-list"));
  const last = cards.findLastIndex((card) => card.dataset.path === path);
  return (cards[last + 1] ?? cards.find((card) => card.dataset.path !== path))?.dataset.hunk;
}

export function cardOf(id: string | undefined): HTMLElement | undefined {
  return cardsOf(document.querySelector(".review-list")).find((card) => card.dataset.hunk === id);
}

export function cardsOf(list: Element | null): readonly HTMLElement[] {
  return list ? [...list.querySelectorAll<HTMLElement>(".hunk-card")] : [];
}

const ARROWS: Record<string, string> = { ArrowDown: "j", ArrowUp: "k" };

export function onListKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const card = (event.target as HTMLElement).closest<HTMLElement>(".hunk-card");
  const { hunk: id, path } = card?.dataset ?? {};
  const onCard = event.target === card;
  const key = (onCard && ARROWS[event.key]) || meantBy(event.key) || "";
  if (event.key === "Enter" && onCard && path) void openFile(path, id);
  else if (["j", "k", "y", "n", "u"].includes(key)) {
    // A key that is held down is not collected: it would go on after it is released.
    if (pressed === 0 || !event.repeat) press(key);
  } else return;
  event.preventDefault();
}

/** Number of keys whose actions are not done, and the last of these actions. */
let pressed = 0;
let acting: Promise<void> = Promise.resolve();
/** Changes when a decision was not carried out. The keys that were pressed after it meant another change. */
let round = 0;

/** Whether the action of a key is not done. */
export function isKeyAtWork(): boolean {
  return pressed > 0;
}

/** Waits for the actions of all keys. */
export function keysDone(): Promise<void> {
  return acting;
}

/** Carries out a key after those that were pressed before it. Each acts on the card that has the focus then. */
function press(key: string): void {
  const mine = round;
  const run = async (): Promise<void> => {
    if (mine === round && !(await act(key))) round += 1;
  };
  if (pressed === 0 && (key === "j" || key === "k") && step(key)) return;
  pressed += 1;
  acting = acting.then(run).finally(() => {
    pressed -= 1;
  });
}

/** Carries out a key. Returns false if a decision was not carried out. */
async function act(key: string): Promise<boolean> {
  const card = document.activeElement?.closest<HTMLElement>(".hunk-card") ?? null;
  if (key === "u") await undoInList();
  else if (key === "j" || key === "k") await stepFar(key);
  else if (card) return decideInList(card, card.dataset.hunk ?? "", key === "y" ? "accept" : "reject", "");
  return true;
}

/** Focuses the next or previous card. Returns false if there is one that is not drawn yet. */
function step(key: "j" | "k"): boolean {
  const cards = cardsOf(document.querySelector(".review-list"));
  const card = document.activeElement?.closest<HTMLElement>(".hunk-card") ?? null;
  const next = cards[(card ? cards.indexOf(card) : -1) + (key === "j" ? 1 : -1)];
  const far = beyond(key);
  // After a jump of the scroll bar, drawn cards stand on both sides of a part that is not drawn.
  if (next && far && isAhead(next, far, key)) return false;
  next?.focus();
  return next !== undefined || far === undefined;
}

/** Returns whether `node` is farther than `from` in the direction of the key. */
function isAhead(node: Element, from: Element, key: "j" | "k"): boolean {
  const wanted = key === "j" ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING;
  return (from.compareDocumentPosition(node) & wanted) !== 0;
}

/** Returns the nearest part of the list after or before the focus that is not drawn. */
function beyond(key: "j" | "k"): Element | undefined {
  const from = document.activeElement;
  if (!from) return undefined;
  const far = [...document.querySelectorAll(".review-list .lazy.far")].filter((node) => isAhead(node, from, key));
  return far.at(key === "j" ? 0 : -1);
}

/** Number of frames in which a part that is scrolled to is drawn. */
const FAR_FRAMES_MAX = 60;

/** Focuses the next or previous card, and waits until it is drawn. */
async function stepFar(key: "j" | "k"): Promise<void> {
  for (let frame = 0; frame < FAR_FRAMES_MAX && !step(key); frame++) {
    beyond(key)?.scrollIntoView({ block: "nearest" });
    await new Promise(requestAnimationFrame);
  }
}
