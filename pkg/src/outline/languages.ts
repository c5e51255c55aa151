/** The languages that have outlines, and the endings of their files. `crates/emend-outline` has the same table. */

/** A language with a grammar. */
export type OutlineLanguage = "c" | "cpp" | "go" | "java" | "javascript" | "python" | "rust" | "tsx" | "typescript";

/** The endings of each language. The grammar of C++ reads nearly all headers of C. */
export const ENDINGS: Readonly<Record<OutlineLanguage, readonly string[]>> = {
  c: ["c"],
  cpp: ["cc", "cpp", "cxx", "h", "hh", "hpp", "hxx"],
  go: ["go"],
  java: ["java"],
  javascript: ["cjs", "js", "jsx", "mjs"],
  python: ["py", "pyi"],
  rust: ["rs"],
  tsx: ["tsx"],
  typescript: ["cts", "mts", "ts"],
};

const BY_ENDING = new Map(
  Object.entries(ENDINGS).flatMap(([language, endings]) =>
    endings.map((ending) => [ending, language as OutlineLanguage] as const),
  ),
);

/** Returns the language of a file by the ending of its name; `undefined` if it has no outline. */
export function languageOf(path: string): OutlineLanguage | undefined {
  const name = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
  const dot = name.lastIndexOf(".");
  return dot < 1 ? undefined : BY_ENDING.get(name.slice(dot + 1).toLowerCase());
}

/** A glob for all files with outlines. */
export const SOURCES = `*.{${[...BY_ENDING.keys()].sort().join(",")}}`;
