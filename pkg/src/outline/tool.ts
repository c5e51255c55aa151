/** The tool `outline` for an agent, with the definition and the results of the tool of the command line. */

import { EmendError, isEmendError } from "../errors.js";
import type { AgentTool } from "../host/types.js";
import { invalid, optionsOf } from "../validate.js";
import { DEFINITION } from "./definition.js";
import { languageOf, SOURCES } from "./languages.js";
import { Grammar } from "./module.js";
import type { Outline, OutlineSymbol } from "./types.js";

/** The files of which the tool shows outlines: `agent.files` has these methods. */
export interface OutlineFiles {
  read(path: string): Promise<{ text: string } | null>;
  grep(
    pattern: string,
    options: { glob: string; ignoreCase: boolean; maxResults: number },
  ): Promise<{ path: string; lines: { isMatch: boolean }[] }[]>;
}

/** Options of {@link outlineTool}. */
export interface OutlineToolOptions {
  /**
   * Returns whether the tool must not show a file. `agent.files` has all files: give this function if rules of the `policy`
   * forbid to read some.
   */
  hides?: ((path: string) => boolean) | undefined;
}

/** The most symbols of a result. */
const SYMBOLS_MAX = 1_000;

/** The most definitions that a search shows. */
const FOUND_MAX = 100;

/** The most files that a search parses. */
const FILES_MAX = 200;

/** The most lines with the name that a search looks for. */
const LINES_MAX = 20_000;

/** Time after which a search parses no further file, in milliseconds. */
const SEARCH_MS_MAX = 5_000;

const LIMITS = { bytesMax: 2 ** 20, msMax: 1_000, symbolsMax: 10 * SYMBOLS_MAX };

/**
 * Returns the tool `outline` for the `tools` of an agent. `files` returns the files when a call needs them, because an agent gets
 * its tools before it exists: `outlineTool(() => agent.files)`.
 */
export function outlineTool(files: () => OutlineFiles, options: OutlineToolOptions = {}): AgentTool {
  if (typeof files !== "function") throw invalid("the files must be a function that returns them");
  const { hides = () => false } = optionsOf(options, ["hides"]);
  return {
    ...DEFINITION,
    effect: "reads",
    pathParameters: ["file_path"],
    async execute(given, { signal }) {
      const args = given as Record<string, unknown>;
      const [path, symbol] = [textIn(args.file_path), textIn(args.symbol)];
      const name = symbol === undefined ? undefined : new Name(symbol);
      if (path !== undefined) return ofFile(files(), path, name, hides);
      if (name === undefined) throw new EmendError("invalid_argument", "Give file_path or symbol.");
      return inProject(files(), name, hides, signal);
    },
  };
}

function textIn(value: unknown): string | undefined {
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" ? undefined : text;
}

/** A name to search for. */
class Name {
  readonly text: string;
  readonly ignoresCase: boolean;

  constructor(text: string) {
    if (!/^[\p{Alphabetic}\p{N}_$~.:]*$/u.test(text) || ownPart(text) === "") {
      const message = `${JSON.stringify(text)} is not a name. Give one without spaces and operators.`;
      throw new EmendError("invalid_argument", message);
    }
    this.text = text;
    this.ignoresCase = !/\p{Uppercase}/u.test(text);
  }

  /** A pattern for the lines that contain the name. */
  get pattern(): string {
    return ownPart(this.text).replace(/[$~]/g, "\\$&");
  }

  /** Returns how well a symbol fits: 2 as a whole, 1 by its beginning, 0 not at all. */
  fit(symbol: OutlineSymbol): number {
    const own = symbol.kind === "impl" ? symbol.name : ownPart(symbol.name);
    const names = [own, symbol.name].map((name) => (this.ignoresCase ? name.toLowerCase() : name));
    if (names.includes(this.text)) return 2;
    return names.some((name) => name.startsWith(this.text)) ? 1 : 0;
  }
}

/** Returns the last part of a qualified name, the only one that stands at the definition in all languages. */
const ownPart = (name: string): string => name.slice(Math.max(name.lastIndexOf("."), name.lastIndexOf(":")) + 1);

const lineOf = ({ depth, firstLine, lastLine, kind, name }: OutlineSymbol): string =>
  `${"  ".repeat(depth)}${firstLine}-${lastLine} ${kind} ${name}`;

async function parsed(path: string, text: string): Promise<Outline | undefined> {
  const language = languageOf(path);
  if (language === undefined) return undefined;
  const grammar = Grammar.of(language);
  await grammar.load();
  return grammar.outline(text, LIMITS);
}

/** Returns the outline of one file, or its definitions of a name. */
async function ofFile(
  files: OutlineFiles,
  path: string,
  name: Name | undefined,
  hides: (path: string) => boolean,
): Promise<string> {
  if (hides(path)) throw new EmendError("permission_denied", `${path} is hidden.`);
  const file = await files.read(path);
  if (file === null) throw new EmendError("not_found", `There is no file ${path}.`);
  const found = await parsed(path, file.text).catch((error: unknown) => {
    if (!isEmendError(error, "unsupported") && !isEmendError(error, "timeout")) throw error;
    throw new EmendError(error.code, `${path} has no outline: ${error.message}. Search it with grep.`);
  });
  if (found === undefined) {
    throw new EmendError("unsupported", `The ending of ${path} is not that of a known language. Search it with grep.`);
  }
  const symbols = name === undefined ? found.symbols : found.symbols.filter((symbol) => name.fit(symbol) > 0);
  const lines = symbols.slice(0, SYMBOLS_MAX).map(lineOf);
  if (lines.length === 0) return `${path} has no definitions${name === undefined ? "" : " of this name"}.`;
  if (found.truncated || symbols.length > SYMBOLS_MAX) lines.push("[more; narrow them by symbol]");
  return lines.join("\n");
}

/** Finds the definitions of a name in the files of the project. */
async function inProject(
  files: OutlineFiles,
  name: Name,
  hides: (path: string) => boolean,
  signal: AbortSignal,
): Promise<string> {
  const began = performance.now();
  const matches = await files.grep(name.pattern, {
    glob: SOURCES,
    ignoreCase: name.ignoresCase,
    maxResults: LINES_MAX,
  });
  const nLines = matches.reduce((sum, { lines }) => sum + lines.filter(({ isMatch }) => isMatch).length, 0);
  let isComplete = nLines < LINES_MAX && matches.length <= FILES_MAX;
  const found: { fit: number; path: string; symbol: OutlineSymbol }[] = [];
  for (const { path } of matches.slice(0, FILES_MAX)) {
    if (signal.aborted || performance.now() - began > SEARCH_MS_MAX) {
      isComplete = false;
      break;
    }
    if (hides(path)) continue;
    // A file that was deleted meanwhile has no definitions.
    const file = await files.read(path).catch(() => null);
    if (file === null) continue;
    const outline = await parsed(path, file.text).catch((error: unknown) => {
      if (isEmendError(error, "load_failed")) throw error;
      return undefined;
    });
    isComplete &&= outline !== undefined && !outline.truncated;
    for (const symbol of outline?.symbols ?? []) {
      // A declaration of C leads to the definition, which has the same name.
      const fit = symbol.kind === "declaration" ? 0 : name.fit(symbol);
      if (fit > 0) found.push({ fit, path, symbol });
    }
  }
  // Stable, so definitions that fit equally well stay in the order of paths and lines.
  found.sort((a, b) => b.fit - a.fit);
  const lines = found.slice(0, FOUND_MAX).map(({ path, symbol }) => `${path}:${lineOf({ ...symbol, depth: 0 })}`);
  if (lines.length === 0) lines.push(`The project has no definition whose name begins with ${name.text}.`);
  const nMore = found.length - FOUND_MAX;
  if (nMore > 0) lines.push(`[${nMore} more; give a longer name]`);
  if (!isComplete) lines.push("[some files were not searched; give a longer name or a file_path]");
  return lines.join("\n");
}
