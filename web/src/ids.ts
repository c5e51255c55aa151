/** Returns a new id. `crypto.randomUUID` is missing in a page that a server sends by HTTP to another computer. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
