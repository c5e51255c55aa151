/** The file tree, with marks for pending changes and unsaved files. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { openFile } from "../actions/edit.js";
import { refresh } from "../actions/refresh.js";
import { plural, signed } from "../hunk-text.js";
import { keyName } from "../keys.js";
import { memo } from "../memo.js";
import { reveal } from "../reveal.js";
import {
  closedFolders,
  currentEngine,
  dialog,
  files,
  filesShown,
  moreFiles,
  opening,
  openPath,
  project,
  showError,
  totals,
  unsaved,
  view,
} from "../store.js";
import { type TreeRow, treeRows } from "../tree.js";
import { Icon } from "./icons.js";
import { ToolButton } from "./top-bar.js";

/** Deletes a file or a folder. The code is loaded with the first deletion. */
function deleteFile(path: string): void {
  import("../actions/files.js").then((code) => code.deleteFile(path)).catch(showError);
}

/** Lists further files of a server. */
function listMore(): void {
  currentEngine()
    .listMore()
    .then(() => refresh())
    .catch(showError);
}

export function FilesPane() {
  return (
    <nav class={filesShown.value ? "files-pane shown" : "files-pane"} aria-label="Files">
      <div class="pane-head">
        <h2>Files</h2>
        <span class="faint">
          {files.value.length}
          {moreFiles.value && "+"}
        </span>
        <span class="spacer" />
        <ToolButton
          icon="find"
          label={`Find in files (${keyName("Ctrl+Shift+F")})`}
          onClick={() => {
            dialog.value = { kind: "find", mode: "text" };
          }}
        />
        <ToolButton
          icon="add"
          label="New file"
          onClick={() => {
            dialog.value = { kind: "new-file" };
          }}
        />
      </div>
      <Tree />
      {moreFiles.value && (
        <button class="button small more-files" type="button" onClick={listMore}>
          Show more files
        </button>
      )}
      {project.value.skipped.length > 0 && (
        <p class="pane-note" title={project.value.skipped.join(", ")}>
          Skipped: {project.value.skipped.join(", ")}
        </p>
      )}
      <ReviewButton />
    </nav>
  );
}

function ReviewButton() {
  const { changes, files: fileCount, added, removed } = totals.value;
  const shown = view.value === "review";
  return (
    <button
      class="review-button"
      type="button"
      aria-pressed={shown}
      onClick={() => {
        view.value = shown ? "editor" : "review";
        filesShown.value = false;
      }}
    >
      <span class="review-title">Review</span>
      {changes === 0 ? (
        <span class="faint">{opening.value === null ? "Nothing to review" : opening.value}</span>
      ) : (
        <span>
          {plural(changes, "change")} in {plural(fileCount, "file")} <span class="plus">{signed(added, "+")}</span>{" "}
          <span class="minus">{signed(removed, "−")}</span>
        </span>
      )}
    </button>
  );
}

/** Number of rows from which on a tree is drawn in part, and the number of its drawn rows. */
const ROWS_DRAWN_MAX = 600;
const ROWS_DRAWN = 160;
/** Height of a row in pixels, before one is drawn. */
const ROW_HEIGHT = 26;

function Tree() {
  const focused = useSignal<string | null>(null);
  const list = useRef<HTMLUListElement>(null);
  const rows = treeRows(files.value, unsaved.value, closedFolders.value);
  const current =
    rows.find((row) => row.path === focused.value) ?? rows.find((row) => row.path === openPath.value) ?? rows[0];

  // A long tree is drawn in part: its rows have one height.
  const first = useSignal(0);
  const isLong = rows.length > ROWS_DRAWN_MAX;
  const from = isLong ? Math.max(0, Math.min(first.value, rows.length - ROWS_DRAWN)) : 0;
  const drawn = isLong ? rows.slice(from, from + ROWS_DRAWN) : rows;
  const height = useRef(ROW_HEIGHT);
  const drawAt = (index: number): void => {
    height.current = list.current?.querySelector<HTMLElement>(".tree-row")?.offsetHeight || ROW_HEIGHT;
    const above = index - ROWS_DRAWN / 2;
    // In steps, so that scrolling does not draw for every row.
    if (Math.abs(above - first.peek()) > ROWS_DRAWN / 6) first.value = Math.max(0, Math.floor(above));
  };
  /** Scrolls to a row. It is drawn when the returned promise resolves. */
  const reveals = async (row: TreeRow): Promise<HTMLElement | null> => {
    const index = rows.indexOf(row);
    if (isLong && (index < from || index >= from + ROWS_DRAWN)) {
      drawAt(index);
      await new Promise(requestAnimationFrame);
    }
    const node = rowNode(list.current, row.path);
    node?.scrollIntoView({ block: "nearest" });
    return node;
  };

  const shownPath = openPath.value;
  useEffect(() => {
    const shown = rows.find((row) => row.path === shownPath);
    if (shown) void reveals(shown);
  }, [shownPath]);

  const focusRow = (row: TreeRow | undefined): void => {
    if (!row) return;
    focused.value = row.path;
    void reveals(row).then((node) => node?.focus());
  };
  const setOpen = (row: TreeRow, open: boolean): void => {
    const next = new Set(closedFolders.value);
    if (open) next.delete(row.path);
    else next.add(row.path);
    closedFolders.value = next;
  };
  const activate = (row: TreeRow): void => {
    focused.value = row.path;
    if (row.kind === "folder") setOpen(row, !row.open);
    else void openFile(row.path);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = (event.target as HTMLElement).closest<HTMLElement>("[data-path]")?.dataset.path;
    const index = rows.findIndex((each) => each.path === (at ?? current?.path));
    const row = rows[index];
    if (!row) return;
    const parent = rows.slice(0, index).findLast((above) => above.level === row.level - 1);
    switch (event.key) {
      case "ArrowDown":
        focusRow(rows[index + 1]);
        break;
      case "ArrowUp":
        focusRow(rows[index - 1]);
        break;
      case "Home":
        focusRow(rows[0]);
        break;
      case "End":
        focusRow(rows.at(-1));
        break;
      case "ArrowRight":
        if (row.kind === "folder" && !row.open) setOpen(row, true);
        else if (row.kind === "folder") focusRow(rows[index + 1]);
        break;
      case "ArrowLeft":
        if (row.kind === "folder" && row.open) setOpen(row, false);
        else focusRow(parent);
        break;
      case "Enter":
      case " ":
        activate(row);
        break;
      case "F2":
        dialog.value = { kind: "rename", path: row.path };
        break;
      case "Delete":
        deleteFile(row.path);
        break;
      default:
        return;
    }
    event.preventDefault();
  };

  return (
    <ul
      class="tree"
      // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a list is the fallback of a tree.
      role="tree"
      aria-label={`Files of ${project.value.name}`}
      ref={list}
      onKeyDown={onKeyDown}
      onScroll={(event) => {
        const { scrollTop, clientHeight } = event.currentTarget;
        if (isLong) drawAt((scrollTop + clientHeight / 2) / height.current);
      }}
      onClick={(event) => {
        const path = (event.target as HTMLElement).closest<HTMLElement>("[data-path]")?.dataset.path;
        const row = rows.find((each) => each.path === path);
        if (row) activate(row);
      }}
    >
      {isLong && <li role="none" style={{ height: `${from * height.current}px` }} />}
      {drawn.map((row) => (
        <Row
          key={row.path}
          {...row}
          selected={row.kind === "file" && row.path === openPath.value}
          reachable={row === current || (isLong && !drawn.includes(current ?? row) && row === drawn[0])}
        />
      ))}
      {isLong && <li role="none" style={{ height: `${(rows.length - from - drawn.length) * height.current}px` }} />}
    </ul>
  );
}

function rowNode(list: HTMLElement | null, path: string): HTMLElement | null {
  return list?.querySelector<HTMLElement>(`[data-path="${CSS.escape(path)}"]`) ?? null;
}

/** Drawn again only when one of its properties changes, because a tree can have thousands of rows. */
const Row = memo(function Row({ selected, reachable, ...row }: TreeRow & { selected: boolean; reachable: boolean }) {
  return (
    <li
      class={`tree-row ${row.kind} ${row.status}${selected ? " selected" : ""}`}
      role="treeitem"
      aria-level={row.level}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-label={rowLabel(row)}
      title={reveal(row.path)}
      data-path={row.path}
      tabIndex={reachable ? 0 : -1}
      style={{ paddingLeft: `${8 + (row.level - 1) * 14}px` }}
      {...(row.kind === "folder" ? { "aria-expanded": row.open } : { "aria-selected": selected })}
    >
      <span class={row.open ? "twist open" : "twist"}>
        {row.kind === "folder" && <Icon name="chevron" size={12} />}
      </span>
      <span class="tree-name">{reveal(row.name)}</span>{" "}
      {row.pending > 0 && (
        <span class="pending-count" aria-hidden="true">
          {row.pending.toLocaleString("en")}
        </span>
      )}
      {row.mark === "unsaved" && <span class="dot unsaved" />}
      {row.status !== "deleted" && <RowActions row={row} />}
    </li>
  );
});

/** Buttons of a row for the mouse. The keys F2 and Delete do the same. */
function RowActions({ row }: { row: TreeRow }) {
  const act = (action: () => void) => (event: Event) => {
    event.stopPropagation();
    action();
  };
  const name = reveal(row.name);
  return (
    <span class="row-actions">
      <button
        type="button"
        tabIndex={-1}
        aria-label={`Rename ${name}`}
        title="Rename (F2)"
        onClick={act(() => {
          dialog.value = { kind: "rename", path: row.path };
        })}
      >
        <Icon name="edit" size={13} />
      </button>
      <button
        type="button"
        tabIndex={-1}
        aria-label={`Delete ${name}`}
        title="Delete (Del)"
        onClick={act(() => deleteFile(row.path))}
      >
        <Icon name="trash" size={13} />
      </button>
    </span>
  );
}

function rowLabel(row: TreeRow): string {
  // Begins with the visible text, the name and the count.
  const parts = [reveal(row.name) + (row.pending > 0 ? ` ${plural(row.pending, "change")} to review` : "")];
  if (row.status === "created") parts.push("new");
  if (row.status === "deleted") parts.push("deleted");
  if (row.mark === "unsaved") parts.push("unsaved");
  return parts.join(", ");
}
