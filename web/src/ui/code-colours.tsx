/** Colours a code block of a message. Loaded with the first block in a language that has colours. */
import type { ComponentChildren } from "preact";
import { loadColourer, segments } from "../editor/colours.js";
import { reveal } from "../reveal.js";

/** Endings of the languages that models name by another word. */
const ENDINGS: ReadonlyMap<string, string> = new Map([
  ["javascript", "js"],
  ["typescript", "ts"],
  ["python", "py"],
  ["rust", "rs"],
  ["jsonc", "json"],
]);

/** Length in UTF-16 units from which a block stays without colours, because its parsing would hold up the page. */
const LENGTH_MAX = 100_000;

/** Returns the text with its colours, or null if the language has none. */
export async function coloured(text: string, language: string): Promise<ComponentChildren | null> {
  if (text.length > LENGTH_MAX) return null;
  const name = language.toLowerCase();
  const colourer = await loadColourer(`block.${ENDINGS.get(name) ?? name}`);
  if (!colourer) return null;
  const lines = text.split(/(?<=\n)/);
  return colourer(lines).map((parts, line) =>
    segments(lines[line] ?? "", parts, []).map((part, index) =>
      part.classes === "" ? (
        reveal(part.text)
      ) : (
        <span key={index} class={part.classes}>
          {reveal(part.text)}
        </span>
      ),
    ),
  );
}
