/** Colours, brackets and indentation of files with a language. Loaded with the first of them. */
import {
  bracketMatching,
  getIndentation,
  HighlightStyle,
  IndentContext,
  indentOnInput,
  matchBrackets,
  syntaxHighlighting,
  syntaxTree,
} from "@codemirror/language";
import { NodeProp } from "@lezer/common";
import { tags as t } from "@lezer/highlight";
import { useLanguages } from "./late-language.js";

export { classHighlighter, highlightTree } from "@lezer/highlight";

useLanguages({ getIndentation, IndentContext, matchBrackets, syntaxTree, NodeProp });

const style = HighlightStyle.define([
  { tag: [t.keyword, t.modifier, t.operatorKeyword, t.controlKeyword], color: "var(--syn-keyword)" },
  { tag: [t.string, t.special(t.string), t.regexp], color: "var(--syn-string)" },
  { tag: [t.number, t.bool, t.null, t.atom], color: "var(--syn-number)" },
  { tag: [t.comment, t.lineComment, t.blockComment], color: "var(--syn-comment)", fontStyle: "italic" },
  {
    tag: [t.function(t.variableName), t.function(t.definition(t.variableName)), t.macroName],
    color: "var(--syn-function)",
  },
  { tag: [t.typeName, t.className, t.namespace, t.tagName], color: "var(--syn-type)" },
  { tag: [t.propertyName, t.attributeName, t.labelName], color: "var(--syn-property)" },
  { tag: [t.heading, t.heading1, t.heading2, t.heading3], color: "var(--syn-heading)", fontWeight: "650" },
  { tag: [t.link, t.url], color: "var(--accent)" },
  { tag: t.monospace, color: "var(--syn-string)" },
  { tag: t.emphasis, fontStyle: "italic" },
  { tag: t.strong, fontWeight: "650" },
  { tag: t.strikethrough, textDecoration: "line-through" },
  { tag: [t.processingInstruction, t.contentSeparator, t.meta, t.punctuation], color: "var(--muted)" },
]);

export const syntax = [indentOnInput(), bracketMatching(), syntaxHighlighting(style)];
