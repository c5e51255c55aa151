// Test data that needs no Node: a small project, and a response of Anthropic.

/** Two files with `Price` as a whole name, and two places where it is part of another name. */
export const SHOP = {
  "src/cart.js": 'import { Price } from "./price.js";\n\nexport const total = (items) => items.map(Price).length;\n',
  "src/price.js": "export function Price(item) {\n  return item.cents;\n}\n\nexport const PriceList = [];\n",
  "notes.md": "# Shop\n\nPrices are in cents.\n",
};

/** Writes server-sent events as Anthropic does. */
export function sse(events) {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

/** Returns the events of a response with the text `text`. */
export function answerEvents(text) {
  const usage = { input_tokens: 10, output_tokens: 1 };
  return [
    {
      type: "message_start",
      message: { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], usage },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: "message_stop" },
  ];
}
