/** The middle pane: the open file with its hunks, or the review of all files. */
import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { quoteSelection } from "../actions/additions.js";
import { closeTab, openFile, takeOver } from "../actions/edit.js";
import { save } from "../actions/late-save.js";
import { acceptAll, rejectAll } from "../actions/review.js";
import { languageName } from "../editor/languages.js";
import { plural } from "../hunk-text.js";
import { keyName } from "../keys.js";
import { breakName } from "../lines.js";
import { reveal } from "../reveal.js";
import {
  cursor,
  editor,
  isCutOff,
  isReading,
  isRunning,
  lastEdit,
  leaseHeld,
  link,
  openHunks,
  opening,
  openPath,
  preview,
  project,
  tabs,
  totals,
  unreadable,
  unsaved,
  type View,
  versionsOf,
  view,
} from "../store.js";
import { baseName, folderOf } from "../tree.js";
import { showReview } from "./focus.js";
import { Icon } from "./icons.js";
import { later } from "./later.js";
import { ToolButton } from "./top-bar.js";

const LivePlace = later(async () => (await import("./live-place.js")).LivePlace);
const Marks = later(async () => (await import("./marks.js")).Marks);
const Preview = later(async () => (await import("./preview.js")).Preview);
const ReviewPane = later(async () => (await import("./review-pane.js")).ReviewPane);
const VersionsView = later(async () => (await import("./versions.js")).VersionsView);

// The review is near as soon as something can be in it.
effect(() => {
  if (isRunning.value || totals.value.changes > 0) ReviewPane.preload();
});

export function EditorPane() {
  const reviewing = view.value === "review";
  return (
    <main class="editor-pane" aria-label={reviewing ? "Review" : "Editor"}>
      <ViewTabs />
      <div class="editor-view" id="panel-editor" role="tabpanel" aria-labelledby="tab-editor" hidden={reviewing}>
        <HunkBar />
        <Canvas />
        <StatusBar />
      </div>
      <div class="review-view" id="panel-review" role="tabpanel" aria-labelledby="tab-review" hidden={!reviewing}>
        {reviewing && <ReviewPane />}
      </div>
    </main>
  );
}

function ViewTabs() {
  const path = openPath.value;
  const { changes } = totals.value;
  const at = tabs.value.indexOf(path ?? "");
  const others = tabs.value.filter((each) => each !== path);
  return (
    <div class="view-tabs" role="tablist" aria-label="View" onKeyDown={onTabKey}>
      {others.slice(0, at).map(fileTab)}
      <button
        {...tab("editor")}
        onAuxClick={(event) => {
          if (event.button === 1 && path !== null) void closeTab(path);
        }}
      >
        {path === null ? (
          (opening.value ?? "No file open")
        ) : (
          <>
            <span class="tab-folder">{reveal(folderOf(path))}</span>
            <span class="tab-name">{reveal(baseName(path))}</span>
            {unsaved.value.has(path) && <span class="dot unsaved" role="img" aria-label="unsaved" />}
          </>
        )}
      </button>
      {others.slice(Math.max(at, 0)).map(fileTab)}
      <button {...tab("review")}>
        Review changes
        <span class={changes === 0 ? "count zero" : "count"}>{changes.toLocaleString("en")}</span>
      </button>
    </div>
  );
}

/** The tab of a file that is not shown. The Tab key does not reach it, and Delete or a middle click closes it. */
function fileTab(path: string) {
  const name = reveal(baseName(path));
  return (
    <button
      key={path}
      class="view-tab"
      type="button"
      role="tab"
      tabIndex={-1}
      aria-selected={false}
      title={`${reveal(path)}\nMiddle click closes the tab.`}
      onClick={() => void openFile(path)}
      onAuxClick={(event) => {
        if (event.button === 1) void closeTab(path);
      }}
    >
      <span class="tab-name">{name}</span>
      {unsaved.value.has(path) && <span class="dot unsaved" role="img" aria-label="unsaved" />}
    </button>
  );
}

/** Returns the properties of a tab, by the ARIA pattern: the Tab key reaches only the selected tab. */
function tab(name: View) {
  const selected = view.value === name;
  return {
    class: "view-tab",
    type: "button",
    role: "tab",
    id: `tab-${name}`,
    tabIndex: selected ? 0 : -1,
    "aria-selected": selected,
    "aria-controls": `panel-${name}`,
    onClick: (event: MouseEvent) => {
      // A key leaves the focus on the tabs, as the ARIA pattern has it. The pointer goes to the list whose keys are next.
      if (name === "review" && event.detail > 0) showReview();
      else view.value = name;
    },
  } as const;
}

function onTabKey(event: KeyboardEvent): void {
  if (event.key === "Delete" && view.value === "editor" && openPath.value !== null) void closeTab(openPath.value);
  else if (event.key === "ArrowLeft" || event.key === "ArrowRight") stepTab(event.key === "ArrowRight" ? 1 : -1);
  else return;
  event.preventDefault();
}

/** Goes to the next or previous tab: the open files, then the review. */
function stepTab(direction: 1 | -1): void {
  const files: readonly (string | null)[] = tabs.value.length > 0 ? tabs.value : [openPath.value];
  const at = view.value === "review" ? files.length : files.indexOf(openPath.value);
  const next = (at + direction + files.length + 1) % (files.length + 1);
  const path = files[next];
  if (next === files.length) view.value = "review";
  else if (path == null || path === openPath.value) view.value = "editor";
  else void openFile(path);
  requestAnimationFrame(() => document.getElementById(`tab-${view.value}`)?.focus());
}

/** The toolbar of the open file: its pending hunks, moving between them, and decisions on all of them. */
function HunkBar() {
  const path = openPath.value;
  const hunks = openHunks.value;
  const at = cursor.value.hunk;
  const none = hunks.length === 0;
  const elsewhere = none && totals.value.changes > 0;
  const label =
    opening.value !== null
      ? ""
      : none
        ? elsewhere
          ? "No changes to review in this file"
          : "Nothing to review"
        : at < 0
          ? plural(hunks.length, "change")
          : `Change ${Math.min(at, hunks.length - 1) + 1} of ${hunks.length}`;
  return (
    <div class="file-bar" role="toolbar" aria-label="Changes in this file">
      <span class={none ? "file-note faint" : "file-note"} title={label}>
        {label}
      </span>
      <ToolButton
        icon="previous"
        label={`Previous change (${keyName("Alt+K")})`}
        disabled={none && !elsewhere}
        onClick={() => editor.step(-1)}
      />
      <ToolButton
        icon="next"
        label={`Next change (${keyName("Alt+J")})`}
        disabled={none && !elsewhere}
        onClick={() => editor.step(1)}
      />
      <span class="spacer" />
      <ToolButton
        icon="clock"
        label="Earlier versions"
        disabled={path === null}
        onClick={() => {
          versionsOf.value = versionsOf.value === path ? null : path;
        }}
      />
      {isMarkdown(path) && (
        <button
          class="button small quiet"
          type="button"
          aria-pressed={preview.value}
          title="Show the text as it reads"
          onClick={() => {
            preview.value = !preview.value;
          }}
        >
          Preview
        </button>
      )}
      <button
        class="button small"
        type="button"
        aria-label="Reject file"
        disabled={none}
        onClick={() => void rejectAll(path ?? undefined)}
      >
        <span>
          Reject<span class="hide-phone"> file</span>
        </span>
      </button>
      <button
        class="button small"
        type="button"
        aria-label="Accept file"
        disabled={none}
        onClick={() => void acceptAll(path ?? undefined)}
      >
        <span>
          Accept<span class="hide-phone"> file</span>
        </span>
      </button>
    </div>
  );
}

function isMarkdown(path: string | null): boolean {
  return path !== null && /\.(md|markdown)$/i.test(path);
}

function Canvas() {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => (host.current ? editor.mount(host.current) : undefined), []);
  const held = leaseHeld.value;
  const busy = opening.value;
  const path = openPath.value;
  const reading = isReading.value;
  const empty = path === null || unreadable.value !== null || busy !== null || reading;
  const earlier = !empty && versionsOf.value === path;
  const previewed = !empty && !earlier && preview.value && isMarkdown(path);
  const live = isRunning.value && lastEdit.value?.path === path && <LivePlace />;
  return (
    <div
      class={`canvas${held ? " leased" : ""}${previewed ? " previewed" : ""}`}
      title={held ? "Assistant editing canvas…" : undefined}
    >
      <div class="editor-host" ref={host} hidden={empty || earlier} />
      {openHunks.value.length > 0 && !empty && !previewed && !earlier && <Marks />}
      {previewed && <Preview />}
      {earlier && <VersionsView key={path} path={path} />}
      {empty && (
        <div class={reading ? "empty reading" : "empty"} role="status">
          <Icon name="file" size={28} />
          <p>
            {busy ??
              (reading ? "Reading…" : null) ??
              unreadable.value ??
              "Open a file from the list to read or edit it."}
          </p>
        </div>
      )}
      <div class="lease-note" hidden={!held}>
        <span class="pulse" />
        {/* Describes the editor to screen readers, so it must be empty while there is no lease. */}
        <span id="lease-note">
          {held && (
            <>
              Assistant editing canvas…{" "}
              <span class="lease-keys">
                press <kbd>Esc</kbd> or type to take control
              </span>
            </>
          )}
        </span>
        {held && live}
        <button class="button small" type="button" onClick={takeOver}>
          Take control
        </button>
      </div>
      {!held && !earlier && live && <div class="live-note">Assistant {live}</div>}
    </div>
  );
}

/** A project without a folder has nothing to save into: its files are downloaded. */
function savedName(): string {
  return project.value.directory ? "Saved" : "No unsaved changes";
}

/** Lines of the user inside changes under review are saved as they are, with words of the assistant in them. */
function savedWhilePending(): string {
  const hasOwn = openHunks.value.some((hunk) => hunk.keptByUser);
  return hasOwn ? "Saved with your lines in changes under review" : "Saved without the changes under review";
}

/** A server that does not answer has not saved what was typed since. */
function cutOffName(isUnsaved: boolean): string {
  const why = link.value === "lost" ? "the server cannot be reached" : "the server does not accept this page";
  return isUnsaved ? `Not saved: ${why}` : `Not joined: ${why}`;
}

function StatusBar() {
  const path = openPath.value;
  if (path === null) return <footer class="status-bar" />;
  // The last file's position, line endings and state would be shown otherwise.
  if (isReading.value) return <footer class="status-bar">Reading…</footer>;
  if (unreadable.value !== null) return <footer class="status-bar">No text to show</footer>;
  const { line, column, selected } = cursor.value;
  const pending = openHunks.value.length;
  const isUnsaved = unsaved.value.has(path);
  const state = isCutOff.value
    ? cutOffName(isUnsaved)
    : isUnsaved
      ? "Not saved"
      : pending > 0
        ? savedWhilePending()
        : savedName();
  return (
    <footer class="status-bar">
      <span class="save-state">
        <span class={isUnsaved || isCutOff.value ? "dot unsaved" : "dot none"} />
        {state}
      </span>
      {isUnsaved && (
        <button class="link" type="button" onClick={() => void save(path)}>
          Save
        </button>
      )}
      <span class="spacer" />
      {selected > 0 && (
        <button class="link" type="button" title={keyName("Alt+C")} onClick={quoteSelection}>
          Add {plural(selected, "line")} to the message
        </button>
      )}
      <span>
        Line {line}, column {column}
      </span>
      <span class="hide-narrow">{breakName(editor.breaks)}</span>
      <span>{languageName(path)}</span>
    </footer>
  );
}
