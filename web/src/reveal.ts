/**
 * Makes invisible characters of untrusted text visible.
 *
 * Characters that change the direction of text can make a name look like another one: with U+202E, `gnp.exe` is shown
 * as `exe.png`. They, other invisible characters and control characters are shown by their number.
 */

// Controls but tab and line endings; soft hyphen, zero-width and bidirectional characters, tags.
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to show.
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu;

/** Returns the text with the number of each invisible character, such as `⟨U+202E⟩`, in its place. */
export function reveal(text: string): string {
  return text.replace(HIDDEN, (found) => {
    const number = (found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    return `⟨U+${number}⟩`;
  });
}
