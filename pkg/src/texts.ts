/**
 * Texts on their way into wasm, where a text is UTF-8 and has no lone surrogates: each becomes U+FFFD, as it does in
 * `TextEncoder`.
 */

/** Returns `text` with U+FFFD for each lone surrogate. */
export function wellFormed(text: string): string {
  // With the flag `u`, surrogates of a pair do not match. `toWellFormed` is missing in browsers before 2024.
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}

/** Returns whether `text` ends with the first half of a surrogate pair. */
export function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

/**
 * Encodes `value` as JSON, with U+FFFD for each lone surrogate. `JSON.stringify` escapes them, and the parser in wasm
 * rejects such an escape.
 */
export function toJson(
  value: unknown,
  replacer?: (this: object, name: string, value: unknown) => unknown,
): string | undefined {
  const json = JSON.stringify(value, replacer) as string | undefined;
  if (json === undefined || !json.includes("\\ud")) return json;
  // Escapes are matched one by one, so that an escaped backslash before `ud800` is not half of a match.
  return json.replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/gs, (found) => (found.length > 2 ? "\ufffd" : found));
}
