/**
 * The styles of the elements. They follow the `color-scheme` of the page, which changes them by custom properties and by
 * `::part`.
 */

const REVIEW = `
:host { display: block; font: 14px/1.5 system-ui, sans-serif;
  color: var(--emend-text, light-dark(#1f1f1f, #e3e3e3)); background: var(--emend-background, light-dark(#fff, #1e1e1e));
  --added: var(--emend-added, light-dark(#e6f6e6, #1d3a24)); --removed: var(--emend-removed, light-dark(#fbe9e9, #44211f));
  --line: var(--emend-line, light-dark(#d0d0d0, #555)); --focus: var(--emend-focus, light-dark(#0b57d0, #a8c7fa)); }
:host([hidden]) { display: none; }
h3 { font: inherit; font-weight: 600; margin: 0; overflow-wrap: anywhere; }
.file, .actions { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; padding: 6px 0; }
.file h3 { flex: 1 1 auto; }
.hunk { border: 1px solid var(--line); border-radius: 6px; margin: 0 0 8px; }
.hunk:focus-visible, button:focus-visible { outline: 2px solid var(--focus); outline-offset: 1px; }
.hunk .actions { padding: 6px 8px; border-top: 1px solid var(--line); }
.lines { margin: 0; padding: 4px 0; overflow-x: auto; font: 13px/1.5 ui-monospace, monospace; }
.line { display: block; white-space: pre; padding: 0 8px; min-height: 1.5em; }
.added { background: var(--added); } .removed { background: var(--removed); }
button { font: inherit; min-height: 32px; padding: 2px 12px; cursor: pointer; }
.problem { padding: 6px 8px; border-top: 1px solid var(--line); }
.problem p { margin: 0 0 6px; }
.status { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (pointer: coarse) { button { min-height: 44px; } }
`;

let sheet: CSSStyleSheet | undefined;

/** Gives a shadow root its styles, as a style sheet that a policy without inline styles allows. */
export function adoptStyles(root: ShadowRoot): void {
  if (sheet === undefined) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(REVIEW);
  }
  root.adoptedStyleSheets = [sheet];
}
