/** Ranks paths for a few typed letters, which must occur in the path in this order. */
import { baseName } from "./tree.js";

/** A path in the form in which it is compared. */
interface Prepared {
  readonly path: string;
  readonly lower: string;
  readonly name: string;
}

/** The prepared paths of each list that was ranked. A list does not change. */
const prepared = new WeakMap<readonly string[], readonly Prepared[]>();

/** The part of a list that the last letters have left: more letters leave no more of it. */
let last: { readonly paths: readonly string[]; readonly letters: string; readonly left: readonly Prepared[] } | null =
  null;

/** Returns the best paths for `typed`, at most `max`. Without letters, the first ones. */
export function rankPaths(paths: readonly string[], typed: string, max: number): readonly string[] {
  const letters = typed.toLowerCase().replace(/\s/g, "");
  if (letters === "") return paths.slice(0, max);
  const all = last?.paths === paths && letters.startsWith(last.letters) ? last.left : preparedOf(paths);
  const ranked = all.flatMap((entry) => {
    const score = scoreOf(entry, letters);
    return score === null ? [] : [{ entry, score }];
  });
  last = { paths, letters, left: ranked.map(({ entry }) => entry) };
  ranked.sort(
    ({ entry: a, score }, { entry: b, score: other }) =>
      other - score || a.path.length - b.path.length || (a.path < b.path ? -1 : 1),
  );
  return ranked.slice(0, max).map(({ entry }) => entry.path);
}

function preparedOf(paths: readonly string[]): readonly Prepared[] {
  const known = prepared.get(paths);
  if (known) return known;
  const made = paths.map((path) => {
    const lower = path.toLowerCase();
    return { path, lower, name: baseName(lower) };
  });
  prepared.set(paths, made);
  return made;
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
function scoreOf({ lower, name }: Prepared, letters: string): number | null {
  const inName = scoreIn(name, letters);
  if (inName !== null) return inName + 100 + (name.startsWith(letters) ? 50 : 0) + (name.includes(letters) ? 50 : 0);
  return scoreIn(lower, letters);
}

function scoreIn(text: string, letters: string): number | null {
  let [score, at, last] = [0, 0, -2];
  for (const letter of letters) {
    at = text.indexOf(letter, at);
    if (at < 0) return null;
    if (at === last + 1) score += 3;
    if (at === 0 || !isWord(text.charCodeAt(at - 1))) score += 2;
    last = at;
    at += 1;
  }
  return score;
}

/** Whether a character is a lower-case letter or a digit of ASCII. */
const isWord = (code: number): boolean => (code >= 97 && code <= 122) || (code >= 48 && code <= 57);
