/**
 * Lists the hunks of all files, with the same decisions as in the editor.
 *
 * Removed and added lines differ by a sign, and for screen readers by a word, not by colour alone. The keys work while
 * the focus is in the list.
 */
import "../styles/review.css";
import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { downloadPatch } from "../actions/download.js";
import { openFile } from "../actions/edit.js";
import { acceptAll, decideTogether, rejectAll, stepName, undo, undoDecision } from "../actions/review.js";
import { chooseOptions } from "../actions/run.js";
import { save } from "../actions/save.js";
import { type Colourer, loadColourer } from "../editor/colours.js";
import type { Decision } from "../editor/handle.js";
import type { Hunk, ReviewFile } from "../engine.js";
import { equalHunks } from "../equal-hunks.js";
import { countLines, pendingHunks, plural, signed } from "../hunk-text.js";
import { reveal } from "../reveal.js";
import { hunksBefore, lastOnly, opening, options, project, steps, totals, unsaved, waiting } from "../store.js";
import { baseName, folderOf } from "../tree.js";
import { cardHeight, HunkCard, lastLine, replacedLines } from "./hunk-card.js";
import { Icon } from "./icons.js";
import { Lazy } from "./lazy.js";
import {
  cardAfter,
  cardOf,
  cardsOf,
  decideInList,
  isKeyAtWork,
  keysDone,
  onListKey,
  pendingIds,
} from "./review-keys.js";

/** The files of the review that are shown, and what the bulk buttons act on. */
interface Shown {
  readonly files: readonly ReviewFile[];
  /** Whether only the changes of the last task are shown. */
  readonly filtered: boolean;
}

function shownFiles(): Shown {
  const before = hunksBefore.value;
  if (!lastOnly.value || before.size === 0) return { files: waiting.value, filtered: false };
  const files = waiting.value.flatMap((file): ReviewFile[] => {
    const hunks = file.hunks.filter((hunk) => !before.has(hunk.id));
    return hunks.length === 0 ? [] : [{ ...file, hunks }];
  });
  return { files, filtered: true };
}

export function ReviewPane() {
  const list = useRef<HTMLDivElement>(null);
  const isEmpty = totals.value.changes === 0;
  useEffect(() => {
    // An undo brought changes back, and the panel that had the focus is gone.
    if (!isEmpty && document.activeElement === document.body) cardsOf(list.current)[0]?.focus();
  }, [isEmpty]);
  useEffect(() => {
    // While a decision is carried out, its card is gone and the next one is not focused yet.
    const onKey = (event: KeyboardEvent): void => {
      if (event.target === document.body && isKeyAtWork()) onListKey(event);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
  if (isEmpty) return <NothingLeft />;
  const { files, filtered } = shownFiles();
  let above = 0;
  return (
    <div class="review">
      <div>
        <Toolbar files={files} filtered={filtered} />
        <BulkExceptions files={files} />
      </div>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys of the cards, which have the focus. */}
      <div class="review-list" ref={list} tabIndex={-1} onKeyDown={onListKey}>
        <EqualChanges files={files} />
        {files.length === 0 && <p class="faint">The last task left no change to review.</p>}
        {files.map((file) => {
          const height = sectionHeight(file);
          const initial = above < DRAWN_AT_FIRST;
          above += height;
          return (
            <Lazy key={file.path} estimate={height} initial={initial}>
              {() => <FileSection file={file} filtered={filtered} />}
            </Lazy>
          );
        })}
      </div>
    </div>
  );
}

/** Height in pixels that is drawn before it is known what is visible. */
const DRAWN_AT_FIRST = 2_400;
/** Number of hunks that are drawn together when they come into view. */
const GROUP_HUNKS = 12;
const HEAD_HEIGHT = 54;

function sectionHeight(file: ReviewFile): number {
  if (collapsed.value.has(file.path)) return HEAD_HEIGHT;
  return HEAD_HEIGHT + pendingHunks(file).reduce((sum, hunk) => sum + cardHeight(hunk), 0);
}

/** Paths of the files whose hunks are hidden. */
const collapsed = signal<ReadonlySet<string>>(new Set());

/** The decision that the pointer or the focus is at: the toolbar says what it would do. */
const pointed = signal<Decision | null>(null);

function Toolbar({ files, filtered }: Shown) {
  const hunks = files.flatMap(pendingHunks);
  const [added, removed] = [sum(hunks, "added"), sum(hunks, "removed")];
  const ids = hunks.map((hunk) => hunk.id);
  const what = bulkSummary(files, hunks);
  const act = async (kind: Decision): Promise<void> => {
    // Keys that were pressed before the button come first.
    await keysDone();
    const left = new Set(pendingIds());
    if (!filtered) await (kind === "accept" ? acceptAll() : rejectAll());
    else
      await decideTogether(
        ids.filter((id) => left.has(id)),
        kind,
      );
  };
  const { sideBySide } = options.value;
  return (
    <div class="file-bar" role="toolbar" aria-label="All changes">
      {pointed.value === null ? (
        <span class="bulk-note">
          {plural(hunks.length, "change")} in {plural(files.length, "file")}{" "}
          <span class="plus">{signed(added, "+")}</span> <span class="minus">{signed(removed, "−")}</span>
        </span>
      ) : (
        <span class="bulk-note">{what[pointed.value]}</span>
      )}
      <span class="spacer" />
      {hunksBefore.value.size > 0 && (
        <button
          class="button small quiet"
          type="button"
          aria-pressed={lastOnly.value}
          title="Show only the changes of the last task"
          onClick={() => {
            lastOnly.value = !lastOnly.value;
          }}
        >
          <Icon name="clock" size={14} /> <span class="wide-only">Last task</span>
        </button>
      )}
      <button
        class="button small quiet wide-only"
        type="button"
        aria-pressed={sideBySide}
        title="Old and new lines side by side"
        onClick={() => void chooseOptions({ ...options.value, sideBySide: !sideBySide })}
      >
        <Icon name="split" size={14} /> <span class="widest-only">Side by side</span>
      </button>
      <button
        class="button small quiet hide-phone"
        type="button"
        aria-label="Patch"
        onClick={() => void downloadPatch()}
      >
        <Icon name="patch" size={14} /> <span class="wide-only">Patch</span>
      </button>
      <BulkButton kind="reject" text={filtered ? "Reject these" : "Reject all"} what={what.reject} act={act} />
      <BulkButton kind="accept" text={filtered ? "Accept these" : "Accept all"} what={what.accept} act={act} />
    </div>
  );
}

interface BulkProps {
  readonly kind: Decision;
  readonly text: string;
  /** The effect of the button, in words. */
  readonly what: string;
  readonly act: (kind: Decision) => Promise<void>;
}

/** A button that decides on many changes. It says what it will touch before it is pressed. */
function BulkButton({ kind, text, what, act }: BulkProps) {
  const point = (at: Decision | null) => () => {
    pointed.value = at;
  };
  useEffect(() => point(null), []);
  return (
    <button
      class={kind === "accept" ? "button small primary" : "button small"}
      type="button"
      title={what}
      aria-description={what}
      onMouseEnter={point(kind)}
      onMouseLeave={point(null)}
      onFocus={point(kind)}
      onBlur={point(null)}
      onClick={() => void act(kind)}
    >
      {text}
    </button>
  );
}

/** Says what accepting or rejecting these changes will touch. */
function bulkSummary(files: readonly ReviewFile[], hunks: readonly Hunk[]): Record<Decision, string> {
  const { special, kept } = exceptions(files);
  const contested = hunks.filter((hunk) => hunk.contested).length;
  const where = `in ${plural(files.length, "file")}`;
  const accept = [`Accepts ${plural(hunks.length - contested, "change")} ${where}`, ...special].join(" · ");
  const own = kept.length > 0 ? kept : ["your own lines stay"];
  const reject = [`Rejects ${plural(hunks.length, "change")} ${where}`, ...own].join(" · ");
  return { accept, reject };
}

/** Says beside the bulk buttons what is special about the changes: visible also without a pointer and on a phone. */
function BulkExceptions({ files }: { files: readonly ReviewFile[] }) {
  const { special, kept } = exceptions(files);
  if (special.length + kept.length === 0) return null;
  return (
    <p class="bulk-exceptions">
      {special.length > 0 && <span>Accepting {listed(special)}.</span>}{" "}
      {kept.length > 0 && <span>Rejecting {listed(kept)}.</span>}
    </p>
  );
}

function listed(parts: readonly string[]): string {
  return parts.join(", ");
}

/** Returns what accepting does besides changing lines, and rejecting. */
function exceptions(files: readonly ReviewFile[]): { special: readonly string[]; kept: readonly string[] } {
  const hunks = files.flatMap(pendingHunks);
  const count = (operation: ReviewFile["operation"]): number =>
    files.filter((file) => file.operation === operation).length;
  const [created, deleted] = [count("create"), count("delete")];
  const contested = hunks.filter((hunk) => hunk.contested).length;
  const mine = hunks.filter((hunk) => hunk.keptByUser).length;
  return {
    special: [
      ...(created > 0 ? [`creates ${plural(created, "file")}`] : []),
      ...(deleted > 0 ? [`deletes ${plural(deleted, "file")}`] : []),
      ...(contested > 0
        ? [`leaves ${contested} that ${contested === 1 ? "conflicts" : "conflict"} with your edits`]
        : []),
    ],
    kept: mine > 0 ? [`asks about your lines in ${mine} of them`] : [],
  };
}

/** Number of groups of equal changes that are listed. */
const GROUPS_SHOWN = 5;

/** Changes that are the same in many places, to decide on them as one. */
function EqualChanges({ files }: { files: readonly ReviewFile[] }) {
  const groups = equalHunks(files).slice(0, GROUPS_SHOWN);
  if (groups.length === 0) return null;
  return (
    <section class="review-file equal" aria-label="Equal changes">
      {groups.map(({ before, after, ids, fileCount }) => {
        const name = `${plural(ids.length, "equal change")} of ${before} to ${after}`;
        return (
          <div class="equal-row" key={`${before} ${after}`}>
            <strong>{ids.length.toLocaleString("en")} ×</strong>
            <code class="minus">{reveal(before)}</code>
            <span aria-hidden="true">→</span>
            <code class="plus">{reveal(after)}</code>
            <span class="faint">in {plural(fileCount, "file")}</span>
            <span class="spacer" />
            <button
              class="button small"
              type="button"
              aria-label={`Reject ${name}`}
              onClick={() => void decideTogether(ids, "reject")}
            >
              Reject
            </button>
            <button
              class="button small"
              type="button"
              aria-label={`Accept ${name}`}
              onClick={() => void decideTogether(ids, "accept")}
            >
              Accept
            </button>
          </div>
        );
      })}
    </section>
  );
}

/** The end of a review: its next steps. The keyboard focus stays here, so that `u` takes the last decision back. */
function NothingLeft() {
  const panel = useRef<HTMLDivElement>(null);
  const busy = opening.value;
  const last = steps.value.done.at(-1);
  const count = unsaved.value.size;
  useEffect(() => {
    // The button or the card that had the focus is gone.
    if (last && document.activeElement === document.body) panel.current?.focus();
  }, []);
  const folder = project.value.directory !== null;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: takes the same key as the list of changes.
    <div
      class="empty review-end"
      ref={panel}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === "u" && !event.ctrlKey && !event.metaKey && !event.altKey) void undoDecision();
      }}
    >
      <Icon name="accept" size={28} />
      <p role={busy === null ? undefined : "status"}>{busy ?? "Nothing to review."}</p>
      {busy !== null ? null : count === 0 ? (
        <p class="faint">What the assistant changes shows up here. Nothing of it is saved before you accept it.</p>
      ) : (
        <p>
          {plural(count, "file")} {count === 1 ? "has" : "have"} text that is not{" "}
          {folder ? "in your folder" : "downloaded"} yet.
        </p>
      )}
      {(count > 0 || last) && (
        <div class="button-group">
          {count > 0 && (
            <button class="button primary" type="button" onClick={() => void save()}>
              <Icon name="save" size={14} /> {folder ? "Save into the folder" : "Download changed files"}
            </button>
          )}
          {last && (
            <button class="button" type="button" onClick={() => void undo()}>
              <Icon name="undo" size={14} /> Undo {stepName(last)}
            </button>
          )}
        </div>
      )}
    </div>
  );
}

const OPERATIONS: Record<ReviewFile["operation"], string> = { create: "new file", update: "", delete: "deleted" };

function FileSection({ file, filtered }: { file: ReviewFile; filtered: boolean }) {
  const hunks = pendingHunks(file);
  const colour = useSignal<Colourer | null>(null);
  useEffect(() => {
    loadColourer(file.path).then(
      (loaded) => {
        colour.value = loaded;
      },
      () => undefined,
    );
  }, [file.path]);
  const isClosed = collapsed.value.has(file.path);
  const fold = (): void => {
    const next = new Set(collapsed.value);
    if (!next.delete(file.path)) next.add(file.path);
    collapsed.value = next;
  };
  const decideFile = async (kind: Decision): Promise<void> => {
    await keysDone();
    const left = new Set(pendingIds());
    const ids = hunks.map((hunk) => hunk.id).filter((id) => left.has(id));
    const next = cardAfter(file.path);
    if (filtered) await decideTogether(ids, kind);
    else await (kind === "accept" ? acceptAll(file.path) : rejectAll(file.path));
    await new Promise(requestAnimationFrame);
    // The button that had the focus is gone with its file.
    if (document.activeElement === document.body) cardOf(next)?.focus();
  };
  return (
    <section class="review-file" aria-label={`${file.path}, ${plural(hunks.length, "change")}`}>
      <header class="review-head">
        <button
          class="fold"
          type="button"
          aria-label={`${isClosed ? "Show" : "Hide"} the changes of ${file.path}`}
          aria-expanded={!isClosed}
          onClick={fold}
        >
          <span class={isClosed ? "twist" : "twist open"}>
            <Icon name="chevron" size={12} />
          </span>
        </button>
        <button class="link path" type="button" title={file.path} onClick={() => void openFile(file.path, "first")}>
          <span class="path-folder">{reveal(folderOf(file.path))}</span>
          <span class="path-name">{reveal(baseName(file.path))}</span>
        </button>
        {OPERATIONS[file.operation] !== "" && <span class="tag">{OPERATIONS[file.operation]}</span>}
        <span class="pending-count">
          {hunks.length.toLocaleString("en")}
          <span class="visually-hidden"> {hunks.length === 1 ? "change" : "changes"}</span>
        </span>
        <span class="plus">{signed(sum(hunks, "added"), "+")}</span>
        <span class="minus">{signed(sum(hunks, "removed"), "−")}</span>
        <span class="spacer" />
        <button
          class="button small"
          type="button"
          aria-label={`Reject file ${file.path}`}
          title={`Rejects ${plural(hunks.length, "change")}`}
          onClick={() => void decideFile("reject")}
        >
          <span>
            Reject<span class="hide-phone"> file</span>
          </span>
        </button>
        <button
          class="button small"
          type="button"
          aria-label={`Accept file ${file.path}`}
          title={`Accepts ${plural(hunks.length, "change")}`}
          onClick={() => void decideFile("accept")}
        >
          <span>
            Accept<span class="hide-phone"> file</span>
          </span>
        </button>
      </header>
      {!isClosed && <Cards file={file} hunks={hunks} colour={colour.value} />}
    </section>
  );
}

interface CardsProps {
  readonly file: ReviewFile;
  readonly hunks: readonly Hunk[];
  readonly colour: Colourer | null;
}

/** The cards of a file, in groups that are drawn when they come into view. */
function Cards({ file, hunks, colour }: CardsProps) {
  let [above, shift] = [0, 0];
  const groups: {
    readonly from: number;
    readonly height: number;
    readonly initial: boolean;
    readonly shifts: number[];
  }[] = [];
  for (let from = 0; from < hunks.length; from += GROUP_HUNKS) {
    const group = hunks.slice(from, from + GROUP_HUNKS);
    const height = group.reduce((total, hunk) => total + cardHeight(hunk), 0);
    const shifts = group.map((hunk) => {
      const before = shift;
      shift += replacedLines(hunk);
      return before;
    });
    groups.push({ from, height, initial: above < DRAWN_AT_FIRST, shifts });
    above += height;
  }
  return (
    <>
      {groups.map(({ from, height, initial, shifts }) => (
        <Lazy key={from} estimate={height} initial={initial}>
          {() => (
            <ol class="hunks" start={from + 1}>
              {hunks.slice(from, from + GROUP_HUNKS).map((hunk, index) => (
                <HunkCard
                  key={hunk.id}
                  hunk={hunk}
                  path={file.path}
                  number={from + index + 1}
                  total={hunks.length}
                  after={lastLine(hunks[from + index - 1])}
                  colour={colour}
                  shift={shifts[index] ?? 0}
                  onDecide={(card, id, kind, selector) => void decideInList(card, id, kind, selector)}
                />
              ))}
            </ol>
          )}
        </Lazy>
      ))}
    </>
  );
}

function sum(hunks: readonly Hunk[], kind: "added" | "removed"): number {
  return hunks.reduce((total, hunk) => total + countLines(hunk, kind), 0);
}
