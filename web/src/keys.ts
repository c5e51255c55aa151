/**
 * Keys with Alt, and the names of keys as the user's keyboard has them.
 *
 * On a Mac, Option with a letter types a character such as "∆". These keys are therefore matched by their place on the
 * keyboard (`event.code`) where the typed character is not a letter.
 */

export const isMac = /mac|iphone|ipad/i.test(globalThis.navigator?.platform ?? "");

type Pressed = Pick<KeyboardEvent, "altKey" | "ctrlKey" | "metaKey" | "shiftKey" | "key" | "code">;

/** Returns the lower-case letter of a key pressed with Alt alone, else null. */
export function altLetter(event: Pressed & { getModifierState?(name: string): boolean }): string | null {
  if (!event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return null;
  // AltGr types characters.
  if (event.getModifierState?.("AltGraph")) return null;
  if (/^[a-z]$/i.test(event.key)) return event.key.toLowerCase();
  return /^Key[A-Z]$/.test(event.code) ? event.code.slice(3).toLowerCase() : null;
}

/** Returns the name of keys such as "Ctrl+Shift+Z": "⌘⇧Z" on a Mac. */
export function keyName(keys: string, mac = isMac): string {
  if (!mac) return keys;
  const named = keys.replaceAll("Ctrl+", "⌘").replaceAll("Alt+", "⌥").replaceAll("Shift+", "⇧");
  return named.replaceAll("Enter", "↩").replaceAll("Esc", "⎋");
}
