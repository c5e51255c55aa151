/**
 * The parts of `@codemirror/language` and `@lezer/common` that the commands of the editor use.
 *
 * Plain text needs no syntax. The build gives this module to `@codemirror/commands`, so that parsers are loaded with the first
 * file that has a language. Until then the functions give the answers of the real ones for a text without a language.
 */
import type * as language from "@codemirror/language";
import { countColumn, type EditorState, Facet } from "@codemirror/state";
import type * as common from "@lezer/common";

type Real = Pick<typeof language, "getIndentation" | "IndentContext" | "matchBrackets" | "syntaxTree"> &
  Pick<typeof common, "NodeProp">;

let real: Real | null = null;

/** Gives the commands the functions for languages. */
export function useLanguages(functions: Real): void {
  real = functions;
}

const UNIT = "  ";

/** No file has a unit of its own. */
export const indentUnit = Facet.define<string, string>({ combine: () => UNIT });

export function getIndentUnit(): number {
  return UNIT.length;
}

export function indentString(_: EditorState, columns: number): string {
  return " ".repeat(columns);
}

/** The root of a text without syntax. */
const NODE = {
  from: 0,
  to: 0,
  type: { prop: () => undefined },
  childBefore: () => null,
  childAfter: () => null,
};
const TREE = { length: 0, resolveInner: () => NODE, resolveStack: () => ({ node: NODE, next: null }) };

export function syntaxTree(state: EditorState): unknown {
  return real ? real.syntaxTree(state) : TREE;
}

/** Called with `new`, as a class. */
export function IndentContext(state: EditorState, options: { simulateBreak?: number }): unknown {
  return real ? new real.IndentContext(state, options) : { state, lineIndent: () => columnsBefore(state, options) };
}

/** Returns the indentation of the part of a line before a break. */
function columnsBefore(state: EditorState, { simulateBreak = 0 }: { simulateBreak?: number }): number {
  const line = state.doc.lineAt(simulateBreak);
  const text = line.text.slice(0, simulateBreak - line.from);
  return countColumn(text, state.tabSize, text.search(/\S|$/));
}

export function getIndentation(context: language.IndentContext, position: number): number | null {
  if (real) return real.getIndentation(context, position);
  return position === 0 ? 0 : null;
}

/** Near a bracket the real function is loaded: see `brackets.ts`. */
export function matchBrackets(...given: Parameters<typeof language.matchBrackets>): language.MatchResult | null {
  return real ? real.matchBrackets(...given) : null;
}

export const NodeProp = {
  get closedBy() {
    return real?.NodeProp.closedBy;
  },
  get openedBy() {
    return real?.NodeProp.openedBy;
  },
};
