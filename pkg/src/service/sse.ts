/** Server-sent events: their texts, and a reader of a stream of them. */

/** One event. */
export interface SseEvent {
  /** Number for `Last-Event-ID`; absent if the event has none. */
  id?: string;
  /** JSON text. */
  data: string;
}

/** Returns the text of an event, as the HTTP server writes it. JSON has no line breaks. */
export function sseText(id: number | null, data: string): string {
  return `${id === null ? "" : `id: ${id}\n`}data: ${data}\n\n`;
}

interface OpenEvent {
  id?: string;
  data: string[];
}

/** Returns the events of a response. Ends with the response. */
export async function* sseEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<SseEvent, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let open: OpenEvent = { data: [] };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      for (let end = lineEnd(rest); end !== undefined; end = lineEnd(rest)) {
        const line = rest.slice(0, end.at);
        rest = rest.slice(end.next);
        if (line !== "") {
          takeField(open, line);
          continue;
        }
        if (open.data.length > 0) yield { ...open, data: open.data.join("\n") };
        open = { data: [] };
      }
    }
  } finally {
    // Cancelling tells the server that its client is gone.
    await reader.cancel().catch(() => {});
  }
}

function lineEnd(text: string): { at: number; next: number } | undefined {
  const at = text.search(/\r|\n/);
  // A line feed may follow a carriage return in the next piece.
  if (at < 0 || (text[at] === "\r" && at + 1 === text.length)) return undefined;
  return { at, next: text[at] === "\r" && text[at + 1] === "\n" ? at + 2 : at + 1 };
}

function takeField(event: OpenEvent, line: string): void {
  const colon = line.indexOf(":");
  const [name, raw] = colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 1)];
  const value = raw.startsWith(" ") ? raw.slice(1) : raw;
  if (name === "data") event.data.push(value);
  else if (name === "id") event.id = value;
}
