/** One tool call: a compact line that unfolds to its arguments, its output and, if it failed, its remedies. */
import { useSignal } from "@preact/signals";
import { openFile } from "../actions/edit.js";
import { toolMessage } from "../advice.js";
import type { ToolEntry } from "../chat-state.js";
import type { Failure } from "../engine.js";
import { pendingHunks, plural } from "../hunk-text.js";
import { memo } from "../memo.js";
import { reveal } from "../reveal.js";
import { files, review } from "../store.js";
import { baseName, folderOf } from "../tree.js";
import { Icon } from "./icons.js";

/** Names of arguments that describe a call best, in order: those with a path, and those for all calls. */
const PATHS = ["file_path", "path"];
const TELLING = ["pattern", "query", "command", "name", ...PATHS];

/** Maximum length of an output on screen, in characters. */
const OUTPUT_CHARS_MAX = 20_000;

const STATUS: Record<ToolEntry["status"], string> = {
  running: "running",
  ok: "done",
  failed: "failed",
  cancelled: "cancelled",
};

export const ToolRow = memo(function ToolRow({ entry }: { entry: ToolEntry }) {
  const { name, status, failure, duration } = entry;
  return (
    <details class={`entry call ${status}`}>
      <summary>
        <span class="tool-arrow" aria-hidden="true">
          →
        </span>
        <span class="tool-name">{name}</span>
        <Target given={entry.arguments} />
        <span class="tool-time">{duration === null || duration < 1 ? "" : `${Math.round(duration)} ms`}</span>
        <span class={`tool-status ${status}`} role="img" aria-label={STATUS[status]}>
          {status === "ok" && <Icon name="accept" size={12} />}
          {(status === "failed" || status === "cancelled") && <Icon name="reject" size={12} />}
        </span>
      </summary>
      <div class="tool-detail">
        {failure && <ToolFailure failure={failure} />}
        {status === "ok" && <HunkLink given={entry.arguments} />}
        <h3>Arguments</h3>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it. */}
        <pre tabIndex={0}>{pretty(entry.arguments)}</pre>
        {entry.output !== "" && !repeats(entry) && (
          <>
            <h3>Output</h3>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it. */}
            <pre tabIndex={0}>{cut(entry.output)}</pre>
          </>
        )}
      </div>
    </details>
  );
});

/** Whether the output only repeats the failure, which is shown above it. */
function repeats({ failure, output }: ToolEntry): boolean {
  if (failure === null) return false;
  const message = failure.message.trim();
  return toolMessage(failure) !== null || message.includes(output.trim()) || output.includes(message);
}

/** Number of calls from which on a folded group draws them only when it is opened. */
const DRAWN_FOLDED_MAX = 12;

/** Calls of one tool in a row: one line with their number and files, which unfolds to the calls. */
export function ToolGroup({ entries }: { entries: readonly ToolEntry[] }) {
  const open = useSignal(false);
  const paths = new Set(entries.map((entry) => firstText(entry.arguments, PATHS)).filter((path) => path !== ""));
  const failed = entries.filter((entry) => entry.status === "failed").length;
  const running = entries.some((entry) => entry.status === "running");
  const status = running ? "running" : failed > 0 ? "failed" : "ok";
  return (
    <details
      class={`entry calls ${status}`}
      onToggle={(event) => {
        open.value = event.currentTarget.open;
      }}
    >
      <summary>
        <span class="tool-arrow" aria-hidden="true">
          →
        </span>
        <span class="tool-name">{entries[0]?.name}</span>
        <span class="tool-target">
          {plural(entries.length, "call")}
          {paths.size > 0 && ` in ${plural(paths.size, "file")}`}
          {failed > 0 && `, ${failed.toLocaleString("en")} failed`}
        </span>
        <span class={`tool-status ${status}`} role="img" aria-label={STATUS[status]}>
          {status === "ok" && <Icon name="accept" size={12} />}
          {status === "failed" && <Icon name="reject" size={12} />}
        </span>
      </summary>
      {(open.value || entries.length <= DRAWN_FOLDED_MAX) &&
        entries.map((entry) => <ToolRow key={entry.id} entry={entry} />)}
    </details>
  );
}

/** A link from an edit to its hunk, or to the file if the hunk is decided. */
function HunkLink({ given }: { given: unknown }) {
  const path = firstText(given, PATHS);
  if (path === "" || !files.value.some((file) => file.path === path)) return null;
  const hunks = pendingHunks(review.value.files.find((file) => file.path === path));
  const text = firstText(given, NEW_TEXTS).trim();
  const hunk = hunks.find((each) => {
    return text !== "" && each.lines.some((line) => line.kind === "added" && shares(line.text.trim(), text));
  });
  return (
    <button
      class="link"
      type="button"
      onClick={() => void openFile(path, hunk?.id ?? (hunks.length > 0 ? "first" : undefined))}
    >
      {hunk ? "Show this change" : "Open the file"}
    </button>
  );
}

const NEW_TEXTS = ["new_string", "new_text", "content"];

function shares(line: string, text: string): boolean {
  return line !== "" && (line.includes(text) || text.includes(line));
}

function ToolFailure({ failure }: { failure: Failure }) {
  return (
    <div class="tool-failure">
      <p>
        <code>{failure.code}</code> {toolMessage(failure) ?? failure.message}
      </p>
      {failure.suggestions.length > 0 && <p>Try: {failure.suggestions.join(", ")}</p>}
    </div>
  );
}

/** The target of the call. The file name comes first, so that a narrow row truncates the folder.  */
function Target({ given }: { given: unknown }) {
  const about = firstText(given, TELLING);
  const path = firstText(given, PATHS);
  if (path === "" || path !== about) {
    return <span class="tool-target">{reveal(about || shortTexts(given) || linesOf(given))}</span>;
  }
  return (
    <span class="tool-target" title={path}>
      {reveal(baseName(path))} <span class="faint">{reveal(folderOf(path).replace(/\/$/, ""))}</span>
    </span>
  );
}

function firstText(given: unknown, names: readonly string[]): string {
  if (typeof given !== "object" || given === null) return "";
  const values = given as Record<string, unknown>;
  const texts = names.map((name) => values[name]).filter((value) => typeof value === "string");
  return texts.find((text) => text !== "") ?? "";
}

/** Arguments that only the program reads. */
const SILENT: ReadonlySet<string> = new Set(["lease_id", "base_revision_id"]);

/** The short texts among the arguments, such as the two paths of a move or the address of a page. */
function shortTexts(given: unknown): string {
  if (typeof given !== "object" || given === null) return "";
  const isShort = (value: unknown) => typeof value === "string" && value !== "" && /^.{1,120}$/u.test(value);
  const told = Object.entries(given).filter(([name, value]) => !SILENT.has(name) && isShort(value));
  return told
    .map(([, value]) => value)
    .slice(0, 2)
    .join(" ");
}

/** The lines that a call of the canvas reads or edits, such as "lines 4–9"; "" if it names none. */
function linesOf(given: unknown): string {
  if (typeof given !== "object" || given === null) return "";
  const { edits = [given] } = given as { edits?: unknown };
  const places = (Array.isArray(edits) ? edits : []) as { start_line?: unknown; end_line?: unknown }[];
  const lines = places.flatMap((place) => [place?.start_line, place?.end_line]).filter(Number.isFinite) as number[];
  if (lines.length === 0) return "";
  const [first, last] = [Math.min(...lines), Math.max(...lines)];
  return first === last ? `line ${first}` : `lines ${first}–${last}`;
}

/** Formats arguments as `name: value`, with multi-line texts on separate lines. */
function pretty(given: unknown): string {
  if (typeof given !== "object" || given === null) return String(given);
  return Object.entries(given)
    .map(([name, value]) => {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      return text.includes("\n") ? `${name}:\n${cut(text)}` : `${name}: ${text}`;
    })
    .join("\n");
}

function cut(text: string): string {
  if (text.length <= OUTPUT_CHARS_MAX) return text;
  return `${text.slice(0, OUTPUT_CHARS_MAX)}\n… ${text.length - OUTPUT_CHARS_MAX} more characters`;
}
