/**
 * The earlier versions of the open file: before each task that changed it, at each save, and now. A version is shown
 * read-only with its differences to now, and can be put back. Loaded with its first use.
 */
import "../styles/versions.css";
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { countChanges, putVersionBack, readVersions, type Versions } from "../actions/versions.js";
import { describe, type Version } from "../engine.js";
import { reveal } from "../reveal.js";
import { chat, editor, review, steps, unsaved, versionsOf } from "../store.js";
import { DiffView } from "./diff-view.js";
import { ToolButton } from "./top-bar.js";

export function VersionsView({ path }: { path: string }) {
  const versions = useSignal<Versions | null>(null);
  const problem = useSignal("");
  // The number of the shown version; that after the last one is now.
  const at = useSignal(Number.POSITIVE_INFINITY);
  useEffect(() => {
    let isGone = false;
    readVersions(path).then(
      (found) => {
        if (isGone) return;
        // The newest earlier version is shown first.
        if (versions.value === null) at.value = Math.max(found.list.length - 1, 0);
        versions.value = found;
      },
      (error: unknown) => {
        problem.value = describe(error).message;
      },
    );
    return () => {
      isGone = true;
    };
    // Read again when the file or its saved text changes.
  }, [path, review.value, steps.value, unsaved.value]);
  const close = (): void => {
    versionsOf.value = null;
    // The text is shown in a microtask that is queued already. A frame later, a key that follows at once would be lost.
    queueMicrotask(() => editor.focus());
  };
  if (versions.value === null) {
    return (
      <div class="versions">
        <p class="faint versions-none" role="status">
          {problem.value || "Reading the earlier versions…"}
        </p>
      </div>
    );
  }
  const { list, now } = versions.value;
  const index = Math.min(at.value, list.length);
  const version = list[index];
  const go = (to: number): void => {
    at.value = Math.min(Math.max(to, 0), list.length);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") close();
    else if (event.key === "ArrowLeft") go(index - 1);
    else if (event.key === "ArrowRight") go(index + 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <section class="versions" aria-label={`Versions of ${path}`} onKeyDown={onKeyDown}>
      <div class="versions-bar" role="toolbar" aria-label="Versions">
        <ToolButton icon="chevron" label="Older version" inactive={index === 0} onClick={() => go(index - 1)} />
        <ToolButton icon="chevron" label="Newer version" inactive={!version} onClick={() => go(index + 1)} />
        <span class="versions-name" role="status">
          {version ? `${index + 1} of ${list.length}: ${nameOf(version)}` : "Now"}
        </span>
        <span class="spacer" />
        <button
          class="button small"
          type="button"
          disabled={!version || version.text === now || chat.value.running}
          title={chat.value.running ? "The assistant still works" : undefined}
          onClick={() => {
            if (version) void putVersionBack(path, version.text, nameOf(version)).then((done) => done && close());
          }}
        >
          Put this version back
        </button>
        <button class="button small" type="button" ref={focused} onClick={close}>
          Back to now
        </button>
      </div>
      <div class="versions-panes">
        <VersionList list={list} now={now} index={index} onChoose={go} />
        <div class="versions-text">
          <p class="faint versions-legend">
            {!version
              ? "The present text."
              : version.text === null
                ? "There was no file."
                : version.text === now
                  ? "The same text as now."
                  : "+ lines of this version, − lines of now"}
          </p>
          <DiffView before={now} after={version ? version.text : now} label={`Version of ${path}, read-only`} whole />
        </div>
      </div>
    </section>
  );
}

/** Gives a button the focus when it appears. */
function focused(node: HTMLButtonElement | null): void {
  if (node && !node.closest(".versions")?.contains(document.activeElement)) node.focus();
}

interface ListProps {
  list: readonly Version[];
  now: string | null;
  index: number;
  onChoose: (index: number) => void;
}

/** The versions, newest first. Each tells what changed after it. */
function VersionList({ list, now, index, onChoose }: ListProps) {
  const counts = useMemo(() => countChanges(list, now), [list, now]);
  const items = [...list, null].map((version, at) => (
    <li key={at}>
      <button
        class={at === index ? "version chosen" : "version"}
        type="button"
        aria-pressed={at === index}
        onClick={() => onChoose(at)}
      >
        <span class="version-name">{version ? nameOf(version) : "Now"}</span>
        {version && (
          <span class="faint">
            {timeOf(version)} · then <Count {...(counts[at] ?? { added: 0, removed: 0 })} />
          </span>
        )}
      </button>
    </li>
  ));
  return (
    <ol class="version-list" aria-label="Versions, newest first">
      {items.reverse()}
    </ol>
  );
}

function Count({ added, removed }: { added: number; removed: number }) {
  if (added + removed === 0) return <>no change</>;
  return (
    <>
      <span class="version-added">+{added}</span> <span class="version-removed">−{removed}</span>
      <span class="visually-hidden"> lines</span>
    </>
  );
}

function nameOf({ kind, title }: Version): string {
  return kind === "saved" ? "Saved" : `Before “${reveal(title.trim().split("\n")[0] ?? "")}”`;
}

function timeOf({ time }: Version): string {
  const date = new Date(time);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? date.toLocaleTimeString() : date.toLocaleString();
}
