/** Chooses the syntax highlighter of a file by its name. A highlighter is loaded when it is first needed. */
import type { Extension } from "@codemirror/state";

type Loader = () => Promise<Extension>;

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

/** Returns the highlighter for `path`, or an empty extension if there is none. */
export async function loadLanguage(path: string): Promise<Extension> {
  return (await languageOf(path)?.load()) ?? [];
}

/** Returns the name of the language of `path`, for the status bar. */
export function languageName(path: string): string {
  return languageOf(path)?.name ?? "Plain text";
}
