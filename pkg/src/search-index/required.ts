/** The texts that every match of a pattern contains. Uncertain texts are left out, so there may be too few. */

const encoder = new TextEncoder();

/** The escapes that stand for a class of characters or a position, or for a control character. */
const NO_LITERAL = /[a-zA-Z<>]/;

/** The escapes whose meaning goes on after the letter. Patterns with them require nothing here. */
const LONGER = /[xuUpPQ0-9]/;

/**
 * Returns the required texts of a pattern of Rust's `regex`, as bytes with ASCII letters in lower case; none if an alternation or
 * a flag makes everything uncertain.
 */
export function requiredTexts(pattern: string, ignoreCase: boolean): Uint8Array[] {
  const found: string[] = [];
  let run: string[] = [];
  const end = (): void => {
    if (run.length > 0) found.push(run.join(""));
    run = [];
  };
  const chars = [...pattern];
  for (let at = 0; at < chars.length; at += 1) {
    let char = chars[at] as string;
    if ("?*{".includes(char)) {
      // The last character may be absent.
      run.pop();
      end();
      if (char === "{") at = chars.indexOf("}", at);
      if (at < 0) return [];
      continue;
    }
    if (char === "|" || char === ")") return [];
    if ("+.^$".includes(char)) {
      end();
      continue;
    }
    if (char === "(" || char === "[") {
      end();
      const close = char === "(" ? endOfGroup(chars, at) : endOfClass(chars, at);
      if (close === undefined) return [];
      at = close;
      continue;
    }
    if (char === "\\") {
      at += 1;
      char = chars[at] ?? "x";
      if (LONGER.test(char)) return [];
      if (NO_LITERAL.test(char)) {
        end();
        continue;
      }
    }
    // Characters beyond ASCII have cases of their own, and so have "k" and "s": the Kelvin sign and the long s.
    const isUncertain = ignoreCase && (char > "\x7f" || /[ks]/i.test(char));
    if (isUncertain || char < " ") end();
    // A quantifier after it finds an empty run.
    else run.push(char);
  }
  end();
  return found.map((text) => lowered(encoder.encode(text)));
}

/** Returns the place of the end of a group; `undefined` if it sets flags or does not end. */
function endOfGroup(chars: readonly string[], start: number): number | undefined {
  if (chars[start + 1] === "?" && !/^\(\?(:|P?<)/.test(chars.slice(start, start + 4).join(""))) return undefined;
  for (let at = start + 1; at < chars.length; at += 1) {
    const char = chars[at];
    if (char === "\\") at += 1;
    else if (char === ")") return at;
    else if (char === "(" || char === "[") {
      const close = char === "(" ? endOfGroup(chars, at) : endOfClass(chars, at);
      if (close === undefined) return undefined;
      at = close;
    }
  }
  return undefined;
}

/** Returns the place of the end of a class of characters, which may contain others. */
function endOfClass(chars: readonly string[], start: number): number | undefined {
  // A bracket at the start stands for itself.
  let first = start + 1;
  if (chars[first] === "^") first += 1;
  for (let at = first; at < chars.length; at += 1) {
    const char = chars[at];
    if (char === "\\") at += 1;
    else if (char === "]" && at > first) return at;
    else if (char === "[") {
      const close = endOfClass(chars, at);
      if (close === undefined) return undefined;
      at = close;
    }
  }
  return undefined;
}

/** Puts ASCII letters in lower case, in place. */
export function lowered(bytes: Uint8Array): Uint8Array {
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte >= 0x41 && byte <= 0x5a) bytes[at] = byte + 0x20;
  }
  return bytes;
}
