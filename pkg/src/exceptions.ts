/** Reads the exceptions of a caller's code. No function of this file throws, whatever was thrown. */

/** Returns a property of `thrown`, or `undefined` if reading it fails. */
export function fieldOf(thrown: unknown, name: string): unknown {
  try {
    return (Object(thrown) as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}

/** Returns a property of `thrown` if it is a text with at least one character. */
export function textOf(thrown: unknown, name: string): string | undefined {
  const text = fieldOf(thrown, name);
  return typeof text === "string" && text !== "" ? text : undefined;
}

/** Returns the message of an exception. */
export function messageOf(thrown: unknown): string {
  const message = textOf(thrown, "message") ?? textOf(thrown, "name");
  if (message !== undefined) return message;
  try {
    return String(thrown);
  } catch {
    return "an exception without a message";
  }
}
