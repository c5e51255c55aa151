/** Ranks paths for a few typed letters, which must occur in the path in this order. */
import { baseName } from "./tree.js";

/** Returns the best paths for `typed`, at most `max`. Without letters, the first ones. */
export function rankPaths(paths: readonly string[], typed: string, max: number): readonly string[] {
  const letters = typed.toLowerCase().replace(/\s/g, "");
  if (letters === "") return paths.slice(0, max);
  const ranked = paths.flatMap((path) => {
    const score = scoreOf(path, letters);
    return score === null ? [] : [{ path, score }];
  });
  ranked.sort((a, b) => b.score - a.score || a.path.length - b.path.length || (a.path < b.path ? -1 : 1));
  return ranked.slice(0, max).map(({ path }) => path);
}

/** Returns the items whose names fit the typed letters, best first. Without letters, all in their order. */
export function rankNames<Item>(
  items: readonly Item[],
  nameOf: (item: Item) => string,
  typed: string,
): readonly Item[] {
  const letters = typed.toLowerCase().replace(/\s/g, "");
  if (letters === "") return items;
  const ranked = items.flatMap((item) => {
    const name = nameOf(item).toLowerCase();
    const score = scoreIn(name, letters);
    return score === null ? [] : [{ item, score: score + (name.includes(letters) ? 50 : 0), length: name.length }];
  });
  ranked.sort((a, b) => b.score - a.score || a.length - b.length);
  return ranked.map(({ item }) => item);
}

/** Returns how well the letters fit, or null if they do not occur. Runs and beginnings of words count most. */
function scoreOf(path: string, letters: string): number | null {
  const name = baseName(path).toLowerCase();
  const inName = scoreIn(name, letters);
  if (inName !== null) return inName + 100 + (name.startsWith(letters) ? 50 : 0) + (name.includes(letters) ? 50 : 0);
  return scoreIn(path.toLowerCase(), letters);
}

function scoreIn(text: string, letters: string): number | null {
  let [score, at, last] = [0, 0, -2];
  for (const letter of letters) {
    at = text.indexOf(letter, at);
    if (at < 0) return null;
    if (at === last + 1) score += 3;
    if (at === 0 || !/[a-z0-9]/.test(text.charAt(at - 1))) score += 2;
    last = at;
    at += 1;
  }
  return score;
}
