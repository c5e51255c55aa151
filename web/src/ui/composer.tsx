/** The message box: the draft, names of files after "@", what goes with the message, and the buttons of a run. */
import { computed, signal, useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { addFiles, enqueue, send, stop } from "../actions/run.js";
import { plural } from "../hunk-text.js";
import { keyName } from "../keys.js";
import { dollars } from "../money.js";
import { rankPaths } from "../quick-open.js";
import { reveal } from "../reveal.js";
import { additions, chat, costs, draft, dropping, files, options, project, session, settings } from "../store.js";
import { baseName, folderOf } from "../tree.js";
import { Icon } from "./icons.js";
import { later as loadedLater } from "./later.js";
import { ToolButton } from "./top-bar.js";

const Additions = loadedLater(async () => (await import("./queue-list.js")).Additions);

/** Number of names that are offered after "@". */
const MENTIONS_MAX = 6;

/** Place of the "@" whose list the user closed, or -1. */
const dismissed = signal(-1);

/** The same list until the files change, so that its ranking is not made anew with each key. */
const mentionable = computed(() => files.value.filter((file) => file.status !== "deleted").map((file) => file.path));

interface Mentions {
  /** Place of the "@", and of the end of the letters after it. */
  readonly from: number;
  readonly to: number;
  readonly paths: readonly string[];
}

/** Returns the files whose names fit the letters between an "@" and the cursor, or null if there is no "@". */
function mentions(text: string, cursor: number): Mentions | null {
  const found = /(?:^|\s)@([^\s@]*)$/.exec(text.slice(0, cursor));
  if (!found) return null;
  const letters = found[1] ?? "";
  const from = cursor - letters.length - 1;
  if (dismissed.value === from) return null;
  const all = mentionable.value;
  // A complete name needs no list.
  if (all.includes(letters)) return null;
  return { from, to: cursor, paths: rankPaths(all, letters, MENTIONS_MAX) };
}

export function Composer() {
  const { running } = chat.value;
  const last = chat.value.entries.findLast((entry) => entry.kind === "user");
  const box = useRef<HTMLTextAreaElement>(null);
  const stopButton = useRef<HTMLButtonElement>(null);
  // Read before the button is removed: the browser would give the focus to the page.
  const stopHadFocus = stopButton.current !== null && stopButton.current === document.activeElement;
  useLayoutEffect(() => {
    if (!running && stopHadFocus) box.current?.focus();
  }, [running]);
  const mention = useSignal(0);
  const caret = useSignal(0);
  const found = mentions(draft.value, Math.min(caret.value, draft.value.length));
  const isOffline = (session.value?.model ?? settings.value.provider) === "offline";
  const isEmpty = draft.value.trim() === "" && additions.value.length === 0;
  const later = (): void => {
    void enqueue(draft.value);
    box.current?.focus();
  };
  const complete = (path: string | undefined): void => {
    if (path === undefined || !found) return;
    const text = `${draft.value.slice(0, found.from)}@${path} `;
    draft.value = text + draft.value.slice(found.to);
    caret.value = text.length;
    // The box has the new text after it is drawn.
    requestAnimationFrame(() => box.current?.setSelectionRange(text.length, text.length));
  };
  const submit = (): void => {
    void send(draft.value);
    // The button is disabled now, and would lose the focus to the page.
    if (document.activeElement !== box.current) box.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (found && found.paths.length > 0 && !event.isComposing) {
      const count = found.paths.length;
      if (event.key === "ArrowDown") mention.value = (mention.value + 1) % count;
      else if (event.key === "ArrowUp") mention.value = (mention.value + count - 1) % count;
      else if (event.key === "Enter" || event.key === "Tab") complete(found.paths[mention.value] ?? found.paths[0]);
      else if (event.key === "Escape") dismissed.value = found.from;
      if (["ArrowDown", "ArrowUp", "Enter", "Tab", "Escape"].includes(event.key)) {
        event.preventDefault();
        event.stopPropagation();
        return;
      }
    }
    if (event.key === "Enter" && event.altKey && running) {
      event.preventDefault();
      if (!event.repeat) later();
    } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      // A key that is held down stopped a run, or has sent the message already.
      if (!event.repeat) submit();
    } else if (event.key === "ArrowUp" && draft.value === "" && last?.kind === "user") {
      event.preventDefault();
      draft.value = last.text;
    }
  };
  return (
    <form
      class={dropping.value === null ? "composer" : "composer drop-here"}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {additions.value.length > 0 && <Additions />}
      {found && found.paths.length > 0 && (
        <div class="mentions" role="listbox" id="mentions" aria-label="Files">
          {found.paths.map((path, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the message box handles the keys.
            <div
              key={path}
              id={`mention-${index}`}
              class={index === mention.value ? "found-row chosen" : "found-row"}
              role="option"
              tabIndex={-1}
              aria-selected={index === mention.value}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => complete(path)}
            >
              <span class="found-name">{reveal(baseName(path))}</span>
              <span class="found-text">{reveal(folderOf(path))}</span>
            </div>
          ))}
        </div>
      )}
      <textarea
        ref={box}
        aria-autocomplete="list"
        aria-controls={found && found.paths.length > 0 ? "mentions" : undefined}
        aria-activedescendant={found && found.paths.length > 0 ? `mention-${mention.value}` : undefined}
        rows={3}
        aria-label="Message to the assistant"
        placeholder={isOffline ? "For example: rename OLD to NEW" : "Ask for a change…"}
        value={draft.value}
        onInput={(event) => {
          draft.value = event.currentTarget.value;
          caret.value = event.currentTarget.selectionStart;
          mention.value = 0;
          dismissed.value = -1;
        }}
        onKeyDown={onKeyDown}
        onPaste={(event) => {
          const { files: pasted, types } = event.clipboardData ?? {};
          // A word processor offers a picture of its text beside the text.
          if (!pasted?.length || types?.includes("text/plain")) return;
          event.preventDefault();
          addFiles(pasted);
        }}
      />
      {/* biome-ignore lint/a11y/noStaticElementInteractions: keeps the focus in the box, as a click on a border would. */}
      <div
        class="composer-foot"
        onMouseDown={(event) => {
          if ((event.target as HTMLElement).closest("button") === null) event.preventDefault();
        }}
      >
        <ToolButton
          icon="picture"
          label={project.value.remote ? "A server takes no pictures with a message" : "Add pictures"}
          inactive={project.value.remote === true}
          onClick={() => addFiles()}
        />
        <Spent running={running} />
        <span class="spacer" />
        {/* Beside Send, not in its place: a second click on Stop must not send the draft. */}
        {running && (
          <button
            key="stop"
            ref={stopButton}
            class="button stop"
            type="button"
            onClick={() => {
              stop();
              box.current?.focus();
            }}
          >
            <Icon name="stop" size={14} /> Stop
          </button>
        )}
        {running && (
          <button
            key="queue"
            class="button"
            type="button"
            title={`Send after this task (${keyName("Alt+Enter")})`}
            disabled={isEmpty}
            onClick={later}
          >
            <Icon name="queue" size={14} /> Queue
          </button>
        )}
        <button
          key="send"
          class="button primary"
          type="submit"
          title={running ? "Add to this task (Enter)" : "Enter"}
          disabled={isEmpty}
        >
          <Icon name="up" size={14} /> Send
        </button>
      </div>
    </form>
  );
}

/** Shows the tokens and the cost of the conversation so far, or the meaning of Enter. */
function Spent({ running }: { running: boolean }) {
  // The buttons of a run need the room, and their tooltips name the keys.
  if (running) return null;
  const joined = session.value;
  let [tokens, cost] = [joined?.spent.tokens ?? 0, joined?.spent.costUsd ?? 0];
  for (const entry of joined === null ? chat.value.entries : []) {
    if (entry.kind !== "end") continue;
    tokens += (entry.usage?.inputTokens ?? 0) + (entry.usage?.outputTokens ?? 0);
    cost += costs.value.get(entry.id) ?? 0;
  }
  if (tokens === 0) return <span class="faint composer-hint">Enter sends the message.</span>;
  const { maxCostUsd, maxTokens } = options.value;
  const [maxCost, max] = joined ? [joined.limits.costUsd, joined.limits.tokens] : [maxCostUsd, maxTokens];
  const limits = [...(maxCost > 0 ? [dollars(maxCost)] : []), ...(max > 0 ? [plural(max, "token")] : [])];
  return (
    <span class="faint composer-spent" title="Used by this conversation so far">
      {plural(tokens, "token")}
      {cost > 0 && ` · ${dollars(cost)}`}
      {limits.length > 0 && ` · limit ${limits.join(", ")}${joined ? "" : " a task"}`}
    </span>
  );
}
