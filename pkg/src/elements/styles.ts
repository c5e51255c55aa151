/**
 * The styles of the elements. They follow the `color-scheme` of the page, which changes them by custom properties and by
 * `::part`.
 */

const COMMON = `
:host { display: block; font: 14px/1.5 system-ui, sans-serif;
  color: var(--emend-text, light-dark(#1f1f1f, #e3e3e3)); --surface: var(--emend-background, light-dark(#fff, #1e1e1e)); background: var(--surface);
  --added: var(--emend-added, light-dark(#e6f6e6, #1d3a24)); --removed: var(--emend-removed, light-dark(#fbe9e9, #44211f));
  --line: var(--emend-line, light-dark(#d0d0d0, #555)); --focus: var(--emend-focus, light-dark(#0b57d0, #a8c7fa));
  --quiet: var(--emend-quiet, light-dark(#595959, #ababab)); --problem: var(--emend-problem, light-dark(#b3261e, #f2b8b5)); }
:host([hidden]) { display: none; }
button { font: inherit; min-height: 32px; padding: 2px 12px; cursor: pointer; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 1px; }
.status { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (pointer: coarse) { button { min-height: 44px; } }
`;

/** The styles of `<emend-review>`. */
export const REVIEW_STYLES = `
h3 { font: inherit; font-weight: 600; margin: 0; overflow-wrap: anywhere; }
.file, .actions { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; padding: 6px 0; }
.file h3 { flex: 1 1 auto; }
.hunk { border: 1px solid var(--line); border-radius: 6px; margin: 0 0 8px; }
.hunk .actions { padding: 6px 8px; border-top: 1px solid var(--line); }
.lines { margin: 0; padding: 4px 0; overflow-x: auto; font: 13px/1.5 ui-monospace, monospace;
  display: grid; grid-template-columns: minmax(100%, max-content); }
.line { display: block; white-space: pre; padding: 0 8px; min-height: 1.5em; }
.added { background: var(--added); } .removed { background: var(--removed); }
.problem { padding: 6px 8px; border-top: 1px solid var(--line); }
.problem p { margin: 0 0 6px; }
`;

/** The styles of `<emend-agent>`. */
export const AGENT_STYLES = `
:host { display: flex; flex-direction: column; min-height: 0; }
.log { flex: 1 1 16em; min-height: 4em; overflow-y: auto; padding: 8px; }
.row { margin: 0 0 8px; unicode-bidi: plaintext; overflow-wrap: anywhere; white-space: pre-wrap; content-visibility: auto; contain-intrinsic-size: auto 3em; }
.row.user { border-left: 3px solid var(--focus); padding-left: 8px; }
.row.problem { border-left: 3px solid var(--problem); padding-left: 8px; }
.row.note { color: var(--quiet); }
summary { cursor: pointer; color: var(--quiet); white-space: normal; min-height: 24px; }
pre { margin: 4px 0 0; padding: 6px 8px; max-height: 20em; overflow: auto; font: 13px/1.5 ui-monospace, monospace; white-space: pre-wrap;
  background: var(--emend-code, light-dark(#f5f5f5, #2a2a2a)); }
.cards { flex: 0 1 auto; min-height: 0; max-height: 60%; overflow: auto; }
.card { border: 1px solid var(--line); border-radius: 6px; padding: 8px; margin: 0 8px 8px; }
.card p { margin: 0 0 6px; overflow-wrap: anywhere; }
.choices, form { display: flex; flex-wrap: wrap; gap: 8px; }
.choices { position: sticky; bottom: 0; padding: 6px 0; background: var(--surface); }
form { flex: none; padding: 8px; border-top: 1px solid var(--line); align-items: flex-end; }
.notice:not(:empty) { padding: 0 8px 8px; color: var(--problem); overflow-wrap: anywhere; }
textarea { flex: 1 1 12em; font: inherit; color: inherit; background: transparent; border: 1px solid var(--line); border-radius: 6px; padding: 6px 8px;
  resize: vertical; min-height: 2.6em; box-sizing: border-box; }
`;

const sheets = new Map<string, CSSStyleSheet>();

/** Gives a shadow root its styles, as style sheets that a policy without inline styles allows. */
export function adoptStyles(root: ShadowRoot, styles: string): void {
  root.adoptedStyleSheets = [COMMON, styles].map(sheetOf);
}

function sheetOf(styles: string): CSSStyleSheet {
  let sheet = sheets.get(styles);
  if (sheet === undefined) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(styles);
    sheets.set(styles, sheet);
  }
  return sheet;
}
