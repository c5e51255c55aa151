/** Finds files by name, lines of all files by text, and symbols of the open file. */
import { type Signal, useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { openFile, openLine } from "../actions/edit.js";
import { plural } from "../hunk-text.js";
import { lateFocus } from "../late-focus.js";
import type { Symbols } from "../outline.js";
import { rankNames, rankPaths } from "../quick-open.js";
import { reveal } from "../reveal.js";
import { currentEngine, editor, files, moreFiles, openPath, showError } from "../store.js";
import { baseName, folderOf } from "../tree.js";
import { closeDialog, Modal } from "./modal.js";

const SHOWN_MAX = 50;
/** Pause in typing after which the text is searched, in milliseconds. */
const SEARCH_DELAY_MS = 150;

interface Found {
  readonly path: string;
  /** Null for a file itself. */
  readonly line: number | null;
  readonly text: string;
  /** Of a symbol: its name, and the number of symbols around it. */
  readonly name?: string;
  readonly depth?: number;
}

const TITLES = { files: "Open a file", text: "Find in files", symbols: "Go to a symbol" };
const LABELS = { files: "Letters of the name", text: "Text to find", symbols: "Letters of the symbol" };

export function FindDialog({ mode: opened }: { mode: "files" | "text" | "symbols" }) {
  const typed = useSignal("");
  const lines = useSignal<readonly Found[]>([]);
  const chosen = useSignal(0);
  // As in other editors, "@" before the letters of a file goes to a symbol.
  const mode = opened === "files" && typed.value.startsWith("@") ? "symbols" : opened;
  const inText = mode === "text";
  const symbols = useSymbols(mode === "symbols");
  // Those of a server with too many files for one list.
  const others = useSignal<readonly string[]>([]);
  // The same list until the files change, so that its ranking is not made anew with each key.
  const paths = useComputed(() => [...new Set([...files.value.map((file) => file.path), ...others.value])]);
  const query = typed.value;
  const listed: Record<typeof mode, () => readonly Found[]> = {
    text: () => lines.value,
    files: () => rankPaths(paths.value, query, SHOWN_MAX).map((path) => ({ path, line: null, text: "" })),
    symbols: () => foundSymbols(symbols.value, opened === "files" ? query.slice(1) : query),
  };
  const found = listed[mode]();
  useEffect(() => {
    if (mode === "symbols" || (!inText && !moreFiles.value)) return undefined;
    const timer = setTimeout(() => {
      if (!inText) {
        if (query.trim() !== "") {
          currentEngine()
            .findFiles(query.trim())
            .then((found) => {
              if (typed.value === query) others.value = found;
            }, showError);
        }
        return;
      }
      searchText(query).then((result) => {
        if (typed.value === query) lines.value = result;
      }, showError);
    }, SEARCH_DELAY_MS);
    return () => clearTimeout(timer);
  }, [query, mode]);
  const at = Math.min(chosen.value, found.length - 1);
  const open = (item: Found | undefined): void => {
    if (!item) return;
    closeDialog();
    const focusLate = lateFocus();
    const opened = item.line === null ? openFile(item.path) : openLine(item.path, item.line);
    // The dialog gives the focus back to its opener, but the file is where the user goes.
    void opened.then(() => {
      if (openPath.value === item.path) focusLate(() => editor.focus());
    });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") chosen.value = Math.min(at + 1, found.length - 1);
    else if (event.key === "ArrowUp") chosen.value = Math.max(at - 1, 0);
    else if (event.key === "Enter" && !event.isComposing) open(found[at]);
    else return;
    event.preventDefault();
    requestAnimationFrame(() => document.getElementById(`found-${chosen.value}`)?.scrollIntoView({ block: "nearest" }));
  };
  const title = TITLES[opened];
  return (
    <Modal title={title} onCancel={closeDialog}>
      <input
        class="find-input"
        type="text"
        role="combobox"
        data-focus
        spellcheck={false}
        autoComplete="off"
        aria-label={LABELS[opened]}
        aria-expanded={found.length > 0}
        aria-controls="found"
        aria-activedescendant={found.length > 0 ? `found-${at}` : undefined}
        value={typed.value}
        onInput={(event) => {
          typed.value = event.currentTarget.value;
          chosen.value = 0;
        }}
        onKeyDown={onKeyDown}
      />
      {/* biome-ignore lint/a11y/useSemanticElements: a select cannot show two texts in a line. */}
      <div class="found" id="found" role="listbox" aria-label={title}>
        {found.map((item, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys.
          // biome-ignore lint/a11y/useSemanticElements: as above.
          <div
            key={`${item.path} ${item.line} ${item.name}`}
            id={`found-${index}`}
            class={index === at ? "found-row chosen" : "found-row"}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onClick={() => open(item)}
          >
            {item.name === undefined ? (
              <span class="found-name" title={item.path}>
                {item.line !== null && <span class="faint">{reveal(folderOf(item.path))}</span>}
                {reveal(baseName(item.path))}
                {item.line !== null && <span class="faint">:{item.line}</span>}
              </span>
            ) : (
              <span class="found-name" title={item.name}>
                {/* Indented by characters: the page allows no styles in attributes. */}
                <span aria-hidden="true">{"\u2003".repeat(item.depth ?? 0)}</span>
                {reveal(item.name)}
                <span class="faint">:{item.line}</span>
              </span>
            )}
            <span class="found-text">{reveal(item.line === null ? folderOf(item.path) : item.text.trim())}</span>
          </div>
        ))}
      </div>
      <div class="modal-foot">
        <p class="faint" role="status">
          {found.length > 0 ? plural(found.length, "result") : noteOf(mode, query, symbols.value)}
        </p>
        <span class="spacer" />
        <button class="button" type="button" onClick={closeDialog}>
          Close
        </button>
      </div>
    </Modal>
  );
}

/** Returns the symbols of the open file; null until they are known. */
function useSymbols(isActive: boolean): Signal<Symbols | null> {
  const symbols = useSignal<Symbols | null>(null);
  useEffect(() => {
    if (!isActive) return;
    const [path, text] = [openPath.value, editor.text];
    if (path === null || text === null) {
      symbols.value = { problem: "No file is open." };
      return;
    }
    import("../outline.js")
      .then(({ symbolsOf }) => symbolsOf(path, text))
      .then((found) => {
        symbols.value = found;
      }, showError);
  }, [isActive]);
  return symbols;
}

/** The most symbols that are shown. Letters narrow them. */
const SYMBOLS_MAX = 500;

function foundSymbols(known: Symbols | null, letters: string): readonly Found[] {
  const path = openPath.value;
  if (path === null || known === null || "problem" in known) return [];
  const ranked = rankNames(known.symbols, ({ name }) => name, letters);
  const isWhole = ranked === known.symbols;
  return ranked.slice(0, SYMBOLS_MAX).map(({ name, kind, firstLine, depth }) => ({
    path,
    line: firstLine,
    text: kind,
    name,
    depth: isWhole ? depth : 0,
  }));
}

function noteOf(mode: "files" | "text" | "symbols", query: string, symbols: Symbols | null): string {
  if (mode === "text" && query === "") return "Type to search.";
  if (mode !== "symbols") return "Nothing found.";
  if (symbols === null) return "Finding the symbols…";
  return "problem" in symbols ? symbols.problem : "Nothing found.";
}

/** Returns the lines with a text, in any case. */
async function searchText(text: string): Promise<readonly Found[]> {
  if (text.trim() === "") return [];
  const matches = await currentEngine().search(text);
  return matches
    .flatMap(({ path, lines }) => lines.map(({ line, text: found }) => ({ path, line, text: found })))
    .slice(0, 4 * SHOWN_MAX);
}
