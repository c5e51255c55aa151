/** Checks names of files that are to exist on every operating system. */

import { EmendError } from "../errors.js";

/** Names of devices on Windows, with any extension. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?: *\..*)?$/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const NOT_ON_WINDOWS = /[\u0001-\u001f\u007f<>:"|?*]/;
/** Characters that change the direction of text, so that a name looks like another one. */
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/** Checks the paths of an archive. */
export class PortableNames {
  /** The spelling of each path, by the form in which some systems compare names. */
  readonly #spellings = new Map<string, string>();

  /**
   * Checks a clean path and the directories above it.
   *
   * @throws {EmendError} with code `invalid_argument` if some system cannot have the name, and `already_exists` if some
   *   system takes it for the name of an earlier file: names that differ in case only, or in the form of their accents.
   */
  check(path: string): void {
    let above = "";
    for (const name of path.split("/")) {
      if (name === "") continue;
      const problem = problemOf(name);
      if (problem !== undefined) throw refused("invalid_argument", `${JSON.stringify(path)} ${problem}`);
      above = above === "" ? name : `${above}/${name}`;
      // Both conversions: some letters have a lower case only, some only an upper case.
      const compared = above.normalize("NFC").toUpperCase().toLowerCase().normalize("NFC");
      const known = this.#spellings.get(compared);
      if (known === undefined) this.#spellings.set(compared, above);
      else if (known !== above) {
        const both = `${JSON.stringify(known)} and ${JSON.stringify(above)}`;
        throw refused("already_exists", `${both} are the same name on systems that ignore case or the form of accents`);
      }
    }
  }
}

function problemOf(name: string): string | undefined {
  if (DEVICE.test(name)) return "is the name of a device on Windows";
  if (/[. ]$/.test(name)) return "ends with a dot or a blank, which Windows removes";
  if (NOT_ON_WINDOWS.test(name)) return "contains a character that Windows does not allow in names";
  if (DIRECTION.test(name)) return "contains a character that changes the direction of text";
  return undefined;
}

function refused(code: string, message: string): EmendError {
  return new EmendError(code, `${message}; nothing was imported or exported`, {
    suggestions: ["rename it, or exclude it with `filter`"],
  });
}
