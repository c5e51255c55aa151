/** The file tree, with marks for pending changes and unsaved files. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { openFile } from "../actions/edit.js";
import { deleteFile } from "../actions/files.js";
import { plural, signed } from "../hunk-text.js";
import { keyName } from "../keys.js";
import { reveal } from "../reveal.js";
import { closedFolders, dialog, files, filesShown, openPath, project, totals, unsaved, view } from "../store.js";
import { type TreeRow, treeRows } from "../tree.js";
import { Icon } from "./icons.js";
import { ToolButton } from "./top-bar.js";

export function FilesPane() {
  return (
    <nav class={filesShown.value ? "files-pane shown" : "files-pane"} aria-label="Files">
      <div class="pane-head">
        <h2>Files</h2>
        <span class="faint">{files.value.length}</span>
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
        <span class="faint">Nothing to review</span>
      ) : (
        <span>
          {plural(changes, "change")} in {plural(fileCount, "file")} <span class="plus">{signed(added, "+")}</span>{" "}
          <span class="minus">{signed(removed, "−")}</span>
        </span>
      )}
    </button>
  );
}

function Tree() {
  const focused = useSignal<string | null>(null);
  const list = useRef<HTMLUListElement>(null);
  const rows = treeRows(files.value, unsaved.value, closedFolders.value);
  const current =
    rows.find((row) => row.path === focused.value) ?? rows.find((row) => row.path === openPath.value) ?? rows[0];

  const shownPath = openPath.value;
  useEffect(() => {
    if (shownPath !== null) rowNode(list.current, shownPath)?.scrollIntoView({ block: "nearest" });
  }, [shownPath]);

  const focusRow = (row: TreeRow | undefined): void => {
    if (!row) return;
    focused.value = row.path;
    rowNode(list.current, row.path)?.focus();
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
        void deleteFile(row.path);
        break;
      default:
        return;
    }
    event.preventDefault();
  };

  return (
    // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a list is the fallback of a tree.
    <ul class="tree" role="tree" aria-label={`Files of ${project.value.name}`} ref={list} onKeyDown={onKeyDown}>
      {rows.map((row) => (
        <Row key={row.path} row={row} reachable={row === current} onActivate={() => activate(row)} />
      ))}
    </ul>
  );
}

function rowNode(list: HTMLElement | null, path: string): HTMLElement | null {
  return list?.querySelector<HTMLElement>(`[data-path="${CSS.escape(path)}"]`) ?? null;
}

function Row({ row, reachable, onActivate }: { row: TreeRow; reachable: boolean; onActivate: () => void }) {
  const selected = row.kind === "file" && row.path === openPath.value;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys of all rows.
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
      onClick={onActivate}
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
}

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
        onClick={act(() => void deleteFile(row.path))}
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
