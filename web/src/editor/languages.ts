/** Chooses the syntax highlighter of a file by its name. A highlighter is loaded when it is first needed. */
import type { LanguageSupport } from "@codemirror/language";
import type { Extension } from "@codemirror/state";

type Loader = () => Promise<LanguageSupport>;

const markdown: Loader = async () => {
  const { markdown, markdownLanguage } = await import("@codemirror/lang-markdown");
  return markdown({ base: markdownLanguage });
};
const script = (options: { typescript?: boolean; jsx?: boolean }): Loader => {
  return async () => (await import("@codemirror/lang-javascript")).javascript(options);
};
const json: Loader = async () => (await import("@codemirror/lang-json")).json();
const python: Loader = async () => (await import("@codemirror/lang-python")).python();
const rust: Loader = async () => (await import("@codemirror/lang-rust")).rust();
const html: Loader = async () => (await import("@codemirror/lang-html")).html();
const css: Loader = async () => (await import("@codemirror/lang-css")).css();

const LANGUAGES: Record<string, { readonly name: string; readonly load: Loader }> = {
  md: { name: "Markdown", load: markdown },
  markdown: { name: "Markdown", load: markdown },
  js: { name: "JavaScript", load: script({}) },
  mjs: { name: "JavaScript", load: script({}) },
  cjs: { name: "JavaScript", load: script({}) },
  jsx: { name: "JavaScript", load: script({ jsx: true }) },
  ts: { name: "TypeScript", load: script({ typescript: true }) },
  mts: { name: "TypeScript", load: script({ typescript: true }) },
  tsx: { name: "TypeScript", load: script({ typescript: true, jsx: true }) },
  json: { name: "JSON", load: json },
  py: { name: "Python", load: python },
  rs: { name: "Rust", load: rust },
  html: { name: "HTML", load: html },
  htm: { name: "HTML", load: html },
  css: { name: "CSS", load: css },
};

function languageOf(path: string): { readonly name: string; readonly load: Loader } | undefined {
  const ending = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  // A file can have the name of a property of every object, such as `constructor`.
  return Object.hasOwn(LANGUAGES, ending) ? LANGUAGES[ending] : undefined;
}

/** Returns the parser of the language of `path`, or null if it has none. */
export async function loadSupport(path: string): Promise<LanguageSupport | null> {
  return (await languageOf(path)?.load()) ?? null;
}

/** Returns the editor extension for the language of `path`, or null if it has none. */
export async function loadLanguage(path: string): Promise<Extension | null> {
  if (!languageOf(path)) return null;
  const [support, syntax] = await Promise.all([loadSupport(path), loadSyntax()]);
  return [support ?? [], syntax];
}

/** Returns the part of the extension that plain text can have, too. */
export async function loadSyntax(): Promise<Extension> {
  return (await import("./syntax.js")).syntax;
}

/** Returns the name of the language of `path`, for the status bar. */
export function languageName(path: string): string {
  return languageOf(path)?.name ?? "Plain text";
}
