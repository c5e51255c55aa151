/** The headings of a Markdown text and the keys of a JSON text. Other languages have grammars of `emend/outline`. */
import type { OutlineSymbol } from "emend/outline";

/** A symbol of any text. `kind` is shown beside its name. */
export type TextSymbol = Omit<OutlineSymbol, "kind"> & { readonly kind: string };

/** JSON files of data have thousands of keys, and those of the outer levels tell the parts. */
const JSON_DEPTH_MAX = 3;

/** Returns the symbols of a text by the ending of its path, or null if it is neither Markdown nor JSON. */
export async function textOutline(path: string, text: string): Promise<TextSymbol[] | null> {
  if (/\.(md|markdown)$/i.test(path)) return headings(text);
  return /\.json$/i.test(path) ? keys(text) : null;
}

async function headings(text: string): Promise<TextSymbol[]> {
  const { parser } = await import("@lezer/markdown");
  const lineAt = lines(text);
  const found: TextSymbol[] = [];
  const around: number[] = [];
  parser.parse(text).iterate({
    enter: ({ name, from, to }) => {
      const level = /^(?:ATX|Setext)Heading(\d)$/.exec(name)?.[1];
      if (level === undefined) return;
      while ((around.at(-1) ?? 0) >= Number(level)) around.pop();
      const [first = ""] = text.slice(from, to).split(/\r\n?|\n/);
      const title = first.replace(/^#{1,6}[ \t]*/, "").replace(/[ \t]+#+[ \t]*$/, "");
      found.push({
        name: title.trim() || "(no text)",
        kind: `h${level}`,
        firstLine: lineAt(from),
        lastLine: lineAt(to),
        depth: around.length,
      });
      around.push(Number(level));
    },
  });
  return found;
}

async function keys(text: string): Promise<TextSymbol[]> {
  const { parser } = await import("@lezer/json");
  const lineAt = lines(text);
  const found: TextSymbol[] = [];
  let depth = -1;
  parser.parse(text).iterate({
    enter: ({ name, from, to, node }) => {
      if (name !== "Property") return true;
      depth += 1;
      if (depth >= JSON_DEPTH_MAX) return true;
      const key = node.getChild("PropertyName");
      if (key) {
        const written = text.slice(key.from, key.to);
        found.push({ name: unquoted(written), kind: "key", firstLine: lineAt(from), lastLine: lineAt(to), depth });
      }
      return true;
    },
    leave: ({ name }) => {
      if (name === "Property") depth -= 1;
    },
  });
  return found;
}

function unquoted(key: string): string {
  try {
    return String(JSON.parse(key));
  } catch {
    return key;
  }
}

/** Returns a function from places in a text to numbers of lines, from 1. */
function lines(text: string): (place: number) => number {
  const starts = [0];
  for (const found of text.matchAll(/\r\n?|\n/g)) starts.push(found.index + found[0].length);
  return (place) => {
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (starts[middle]! <= place) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}
