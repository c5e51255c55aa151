/**
 * Renders a subset of Markdown: paragraphs, lists, headings, code, strong and emphasis.
 *
 * It creates elements and never HTML from text, so no text of a model can run. Links are shown as text on purpose: a
 * model's response must not navigate away with one click.
 */
import type { ComponentChildren } from "preact";
import { memo } from "../memo.js";

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return <div class="markdown">{blocks(text)}</div>;
});

function blocks(text: string): ComponentChildren[] {
  const lines = text.split(/\r\n?|\n/);
  const out: ComponentChildren[] = [];
  let at = 0;
  const takeWhile = (test: (line: string) => boolean): string[] => {
    const from = at;
    while (at < lines.length && test(lines[at] ?? "")) at += 1;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const fence = /^\s*(```+|~~~+)/.exec(line)?.[1];
    const heading = /^(#{1,6})\s+(.*)$/.exec(line);
    if (fence !== undefined) {
      at += 1;
      const code = takeWhile((each) => !each.trim().startsWith(fence));
      at += 1;
      out.push(<pre key={at}>{code.join("\n")}</pre>);
    } else if (line.trim() === "") {
      at += 1;
    } else if (heading) {
      at += 1;
      out.push(
        <p key={at} class="md-heading">
          {inline(heading[2] ?? "")}
        </p>,
      );
    } else if (LIST_ITEM.test(line)) {
      out.push(
        list(
          takeWhile((each) => LIST_ITEM.test(each) || /^\s+\S/.test(each)),
          at,
        ),
      );
    } else {
      const paragraph = takeWhile((each) => each.trim() !== "" && !LIST_ITEM.test(each) && !/^\s*(```|~~~)/.test(each));
      out.push(<p key={at}>{inline(paragraph.join(" "))}</p>);
    }
  }
  return out;
}

const LIST_ITEM = /^\s*(?:[-*+]|\d+[.)])\s+/;

function list(lines: readonly string[], key: number): ComponentChildren {
  const items: string[] = [];
  for (const line of lines) {
    if (LIST_ITEM.test(line)) items.push(line.replace(LIST_ITEM, ""));
    else items.push(`${items.pop() ?? ""} ${line.trim()}`);
  }
  const children = items.map((item, index) => <li key={index}>{inline(item)}</li>);
  return /^\s*\d/.test(lines[0] ?? "") ? <ol key={key}>{children}</ol> : <ul key={key}>{children}</ul>;
}

const INLINE = /(`+)(.+?)\1|\*\*(.+?)\*\*|\*([^\s*](?:[^*]*[^\s*])?)\*/;

function inline(text: string): ComponentChildren[] {
  const out: ComponentChildren[] = [];
  let rest = text;
  for (let found = INLINE.exec(rest); found; found = INLINE.exec(rest)) {
    const [whole, , code, strong, emphasis] = found;
    out.push(rest.slice(0, found.index));
    const key = out.length;
    if (code !== undefined) out.push(<code key={key}>{code}</code>);
    else if (strong !== undefined) out.push(<strong key={key}>{inline(strong)}</strong>);
    else out.push(<em key={key}>{inline(emphasis ?? "")}</em>);
    rest = rest.slice(found.index + whole.length);
  }
  out.push(rest);
  return out;
}
