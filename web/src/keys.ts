/**
 * Keys with Alt, and the names of keys as the user's keyboard has them.
 *
 * On a Mac, Option with a letter types a character such as "∆". These keys are therefore matched by their place on the
 * keyboard (`event.code`) where the typed character is not a letter.
 *
 * The code names each action by its usual letter. Users can bind another letter to it.
 */

import { signal } from "@preact/signals";
import { ACTIONS, type Action, type Letters, USUAL_LETTERS } from "./letters.js";

export const isMac = /mac|iphone|ipad/i.test(globalThis.navigator?.platform ?? "");

type Pressed = Pick<KeyboardEvent, "altKey" | "ctrlKey" | "metaKey" | "shiftKey" | "key" | "code">;

export const letters = signal(USUAL_LETTERS);

/** Returns the usual letter of the action that a letter is bound to. A usual letter that is bound to nothing has none. */
export function meantBy(letter: string): string | null {
  const bound = Object.entries(letters.value).find(([, own]) => own === letter);
  if (bound) return bound[0];
  return Object.hasOwn(ACTIONS, letter) ? null : letter;
}

/** Returns the letters with another one for an action. An action that has this letter gets the former one. */
export function rebound(all: Letters, action: Action, letter: string): Letters {
  const moved = Object.entries(all).map(([name, own]) => [name, own === letter ? all[action] : own]);
  return { ...Object.fromEntries(moved), [action]: letter } as Letters;
}

/** Returns the usual letter of the action that is bound to a key pressed with Alt alone, else null. */
export function altLetter(event: Pressed & { getModifierState?(name: string): boolean }): string | null {
  const letter = pressedLetter(event);
  return letter === null ? null : meantBy(letter);
}

/** Returns the lower-case letter of a key pressed with Alt alone, else null. */
function pressedLetter(event: Pressed & { getModifierState?(name: string): boolean }): string | null {
  if (!event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return null;
  // AltGr types characters.
  if (event.getModifierState?.("AltGraph")) return null;
  if (/^[a-z]$/i.test(event.key)) return event.key.toLowerCase();
  return /^Key[A-Z]$/.test(event.code) ? event.code.slice(3).toLowerCase() : null;
}

/** Returns the name of keys such as "Ctrl+Shift+Z": "⌘⇧Z" on a Mac. The letters of actions are those that the user has chosen. */
export function keyName(keys: string, mac = isMac): string {
  const own = keys.replace(/(?<=^|, |Alt\+)[A-Z](?=$|, )/g, (usual) => {
    const letter = letters.value[usual.toLowerCase() as Action];
    return letter?.toUpperCase() ?? usual;
  });
  if (!mac) return own;
  const named = own.replaceAll("Ctrl+", "⌘").replaceAll("Alt+", "⌥").replaceAll("Shift+", "⇧");
  return named.replaceAll("Enter", "↩").replaceAll("Esc", "⎋");
}
