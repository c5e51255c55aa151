/**
 * Shows Markdown: GitHub's dialect, as models write it.
 *
 * `marked` splits the text into tokens; its HTML is never used. Elements are created here, so no text of a model can run.
 * Links are shown as text with their address: a model's response must not navigate away with one click. Blocks that are
 * finished are not read or drawn again while the text grows.
 */
import "../styles/entries.css";
import { signal } from "@preact/signals";
import type { Token, Tokens } from "marked";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { memo } from "../memo.js";
import { reveal } from "../reveal.js";
import { CopyButton } from "./copy-button.js";

type Lexer = (text: string) => Token[];

/** The parser, once it is loaded. Until then the text is shown as it is. */
const lexer = signal<Lexer | null>(null);

let isLoading = false;

/** Loads the parser. The first text that is shown loads it, too. */
export async function loadMarkdown(): Promise<void> {
  if (isLoading) return;
  isLoading = true;
  try {
    const { lexer: lex } = await import("marked");
    lexer.value = (text) => lex(text, { gfm: true });
  } catch {
    // Without network: the next text tries again.
    isLoading = false;
  }
}

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return <Parsed text={text} />;
});

/** Not memoized itself: it is drawn again when the parser is there. */
function Parsed({ text }: { text: string }) {
  const lex = lexer.value;
  const growing = useRef(new GrowingText());
  useEffect(() => void loadMarkdown(), []);
  if (!lex) return <div class="markdown raw">{reveal(text)}</div>;
  return (
    <div class="markdown">
      {growing.current.tokens(text, lex).map((token, index) => (
        <Block key={index} token={token} />
      ))}
    </div>
  );
}

/** The tokens of a text that grows at its end. */
class GrowingText {
  #done: Token[] = [];
  #doneText = "";

  tokens(text: string, lex: Lexer): readonly Token[] {
    if (!text.startsWith(this.#doneText)) [this.#done, this.#doneText] = [[], ""];
    const rest = lex(text.slice(this.#doneText.length));
    // The last block may grow, and blank lines do not end a list.
    const last = rest.findLastIndex((token) => token.type !== "space");
    const finished = rest.slice(0, Math.max(last, 0));
    this.#done = [...this.#done, ...finished];
    this.#doneText += finished.map((token) => token.raw).join("");
    return [...this.#done, ...rest.slice(finished.length)];
  }
}

const Block = memo(function Block({ token }: { token: Token }) {
  return block(token);
});

function block(token: Token): ComponentChildren {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return <p class={`md-heading md-h${(token as Tokens.Heading).depth}`}>{inline(token)}</p>;
    case "hr":
      return <hr />;
    case "code":
      return <Code token={token as Tokens.Code} />;
    case "blockquote":
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens)}</blockquote>;
    case "list":
      return list(token as Tokens.List);
    case "table":
      return table(token as Tokens.Table);
    case "text":
      return <span>{inline(token)}</span>;
    case "paragraph":
      return <p>{inline(token)}</p>;
    default:
      // HTML, for example, is shown as text.
      return <p>{reveal(token.raw)}</p>;
  }
}

function blocks(tokens: readonly Token[]): ComponentChildren {
  return tokens.map((token, index) => <Block key={index} token={token} />);
}

/** Pause in milliseconds after which the code of a block counts as finished, and gets colours. */
const CALM_MS = 300;

function Code({ token }: { token: Tokens.Code }) {
  const language = (token.lang ?? "").split(/\s/)[0] ?? "";
  const { text } = token;
  const [drawn, draw] = useState<{ readonly text: string; readonly parts: ComponentChildren } | null>(null);
  useEffect(() => {
    if (language === "") return;
    const timer = setTimeout(async () => {
      // Without its colours the code is complete, too.
      const parts = await import("./code-colours.js").then((it) => it.coloured(text, language)).catch(() => null);
      if (parts !== null) draw({ text, parts });
    }, CALM_MS);
    return () => clearTimeout(timer);
  }, [text, language]);
  return (
    <div class="md-code">
      <div class="md-code-head">
        <span class="faint">{reveal(language || "text")}</span>
        <span class="spacer" />
        <CopyButton text={text} label="Copy code" />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it. */}
      <pre tabIndex={0}>{drawn?.text === text ? drawn.parts : reveal(text)}</pre>
    </div>
  );
}

function list(token: Tokens.List): ComponentChildren {
  const items = token.items.map((item, index) => (
    <li key={index} class={item.task ? "md-task" : undefined}>
      {item.task && <span class="md-check">{item.checked ? "☑ " : "☐ "}</span>}
      {blocks(item.tokens.filter((each) => (each.type as string) !== "checkbox"))}
    </li>
  ));
  return token.ordered ? <ol start={Number(token.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function table(token: Tokens.Table): ComponentChildren {
  const cell = (of: Tokens.TableCell, index: number, Tag: "th" | "td") => (
    <Tag key={index} class={of.align ? `md-${of.align}` : undefined}>
      {spans(of.tokens)}
    </Tag>
  );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it.
    <div class="md-table" tabIndex={0}>
      <table>
        <thead>
          <tr>{token.header.map((of, index) => cell(of, index, "th"))}</tr>
        </thead>
        <tbody>
          {token.rows.map((row, index) => (
            <tr key={index}>{row.map((of, at) => cell(of, at, "td"))}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(token: Token): ComponentChildren {
  const { tokens } = token as { tokens?: Token[] };
  return tokens ? spans(tokens) : plain((token as Tokens.Text).text ?? token.raw);
}

function spans(tokens: readonly Token[]): ComponentChildren {
  return tokens.map((token, index) => <Span key={index} token={token} />);
}

function Span({ token }: { token: Token }): ComponentChildren {
  switch (token.type) {
    case "strong":
      return <strong>{inline(token)}</strong>;
    case "em":
      return <em>{inline(token)}</em>;
    case "del":
      return <del>{inline(token)}</del>;
    case "codespan":
      return <code>{reveal((token as Tokens.Codespan).text)}</code>;
    case "br":
      return <br />;
    case "link":
      return <Link token={token as Tokens.Link} />;
    case "image":
      return <span class="md-link">[image: {plain((token as Tokens.Image).text)}]</span>;
    case "escape":
    case "text":
      return inline(token);
    default:
      return reveal(token.raw);
  }
}

/** A link as text. Its address is beside it, unless the text is the address. */
function Link({ token: { href, text, tokens } }: { token: Tokens.Link }) {
  const isAddress = text === href || `mailto:${text}` === href || `http://${text}` === href;
  return (
    <span class="md-link">
      {spans(tokens)}
      {!isAddress && <span class="md-address"> ({reveal(href)})</span>}
    </span>
  );
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: "\u00a0" };

/** Returns a text with the common entities replaced, as a browser would show them. */
function plain(text: string): string {
  return reveal(text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => ENTITIES[name] ?? ""));
}
