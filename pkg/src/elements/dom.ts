/** Nodes from texts only: the contents of files never become HTML. */

/** Creates an element with a class, and children that are nodes or texts. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className: string,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...children);
  return made;
}

/** Creates a button that calls `pressed`. */
export function makeButton(className: string, text: string, label: string, pressed: () => void): HTMLButtonElement {
  const button = make("button", className, text);
  button.type = "button";
  button.setAttribute("aria-label", label);
  button.addEventListener("click", pressed);
  return button;
}

/** Controls but tab and line endings; soft hyphen, zero-width and bidirectional characters, tags. */
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to show.
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu;

/** Returns a text with the numbers of characters that nobody sees: they can make a line or a name look like another one. */
export function revealed(text: string): string {
  return text.replace(HIDDEN, (found) => {
    const number = (found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    return `⟨U+${number}⟩`;
  });
}
