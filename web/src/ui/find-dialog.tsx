/** Finds files by name, and lines of all files by text. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { openFile, openLine } from "../actions/edit.js";
import { plural } from "../hunk-text.js";
import { rankPaths } from "../quick-open.js";
import { reveal } from "../reveal.js";
import { currentEngine, files, moreFiles, showError } from "../store.js";
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
}

export function FindDialog({ mode }: { mode: "files" | "text" }) {
  const typed = useSignal("");
  const lines = useSignal<readonly Found[]>([]);
  const chosen = useSignal(0);
  const inText = mode === "text";
  // Those of a server with too many files for one list.
  const others = useSignal<readonly string[]>([]);
  const paths = [...new Set([...files.value.map((file) => file.path), ...others.value])];
  const found: readonly Found[] = inText
    ? lines.value
    : rankPaths(paths, typed.value, SHOWN_MAX).map((path) => ({ path, line: null, text: "" }));
  const query = typed.value;
  useEffect(() => {
    if (!inText && !moreFiles.value) return undefined;
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
  }, [query, inText]);
  const at = Math.min(chosen.value, found.length - 1);
  const open = (item: Found | undefined): void => {
    if (!item) return;
    closeDialog();
    void (item.line === null ? openFile(item.path) : openLine(item.path, item.line));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") chosen.value = Math.min(at + 1, found.length - 1);
    else if (event.key === "ArrowUp") chosen.value = Math.max(at - 1, 0);
    else if (event.key === "Enter" && !event.isComposing) open(found[at]);
    else return;
    event.preventDefault();
    requestAnimationFrame(() => document.getElementById(`found-${chosen.value}`)?.scrollIntoView({ block: "nearest" }));
  };
  const title = inText ? "Find in files" : "Open a file";
  return (
    <Modal title={title} onCancel={closeDialog}>
      <input
        class="find-input"
        type="text"
        role="combobox"
        data-focus
        spellcheck={false}
        autoComplete="off"
        aria-label={inText ? "Text to find" : "Letters of the name"}
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
            key={`${item.path} ${item.line}`}
            id={`found-${index}`}
            class={index === at ? "found-row chosen" : "found-row"}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onClick={() => open(item)}
          >
            <span class="found-name" title={item.path}>
              {item.line !== null && <span class="faint">{reveal(folderOf(item.path))}</span>}
              {reveal(baseName(item.path))}
              {item.line !== null && <span class="faint">:{item.line}</span>}
            </span>
            <span class="found-text">{reveal(item.line === null ? folderOf(item.path) : item.text.trim())}</span>
          </div>
        ))}
      </div>
      <div class="modal-foot">
        <p class="faint" role="status">
          {found.length === 0
            ? query === "" && inText
              ? "Type to search."
              : "Nothing found."
            : plural(found.length, "result")}
        </p>
        <span class="spacer" />
        <button class="button" type="button" onClick={closeDialog}>
          Close
        </button>
      </div>
    </Modal>
  );
}

/** Returns the lines with a text, in any case. */
async function searchText(text: string): Promise<readonly Found[]> {
  if (text.trim() === "") return [];
  const matches = await currentEngine().search(text);
  return matches
    .flatMap(({ path, lines }) => lines.map(({ line, text: found }) => ({ path, line, text: found })))
    .slice(0, 4 * SHOWN_MAX);
}
