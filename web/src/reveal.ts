/**
 * Makes invisible and misleading characters of untrusted text visible.
 *
 * Characters that change the direction of text can make a name look like another one: with U+202E, `gnp.exe` is shown
 * as `exe.png`. They, other invisible characters and control characters are shown by their number. A Cyrillic or Greek letter
 * that looks like a Latin one is followed by its number in a word with Latin letters: `p⟨U+0430⟩y` is not `pay`.
 */

// Controls but tab and line endings; soft hyphen, zero-width and bidirectional characters, tags.
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to show.
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu;

// Letters of other scripts that fonts draw as Latin ones. Letters with a form of their own, as in `Δt`, are left alone.
const LOOK_ALIKE =
  /[\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03b9\u03bd\u03bf\u0405\u0406\u0408\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u04bb\u0501\u051b\u051d]/gu;

const WORD = /[\p{L}\p{N}_]+/gu;

function numberOf(found: string): string {
  return `⟨U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/**
 * Returns the text with the number of each invisible character, such as `⟨U+202E⟩`, in its place, and behind each letter
 * that looks like a Latin one in a word with Latin letters.
 */
export function reveal(text: string): string {
  const shown = text.replace(HIDDEN, numberOf);
  // Most texts have none; the search for words is ten times slower.
  if (shown.search(LOOK_ALIKE) < 0) return shown;
  return shown.replace(WORD, (word) =>
    /[A-Za-z]/.test(word) ? word.replace(LOOK_ALIKE, (letter) => letter + numberOf(letter)) : word,
  );
}
