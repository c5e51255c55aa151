/** Lists the conversations of a server: finds text in them, opens, renames, archives and deletes them, and starts new ones. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { enterSession } from "../actions/project.js";
import { changeSession, deleteSession, newConversation, sessionTitle } from "../actions/sessions.js";
import type { SessionInfo } from "../engine.js";
import { plural } from "../hunk-text.js";
import { reveal } from "../reveal.js";
import { currentEngine, session, showError } from "../store.js";
import { Rename } from "./conversations-dialog.js";
import { closeDialog, Modal } from "./modal.js";
import { ToolButton } from "./top-bar.js";

/** Pause in typing after which the server searches, in milliseconds. */
const SEARCH_DELAY_MS = 200;

export function SessionsDialog({ problem }: { problem?: string | undefined }) {
  const text = useSignal("");
  const archived = useSignal(false);
  const list = useSignal<readonly SessionInfo[] | null>(null);
  const next = useSignal<string | null>(null);
  const total = useSignal(0);
  const renaming = useSignal<string | null>(null);
  const model = useSignal("");
  const refused = useSignal(problem === undefined ? "" : `${problem}. An archived one keeps its messages and changes.`);
  const read = async (after: string | null): Promise<void> => {
    const [query, all] = [text.value.trim(), archived.value];
    const page = await currentEngine().sessions(query, all, after);
    // The user has typed on.
    if (query !== text.value.trim() || all !== archived.value) return;
    list.value = after === null ? page.sessions : [...(list.value ?? []), ...page.sessions];
    next.value = page.next;
    total.value = page.total;
  };
  const [needle, withArchived] = [text.value, archived.value];
  useEffect(() => {
    const timer = setTimeout(() => void read(null).catch(showError), needle === "" ? 0 : SEARCH_DELAY_MS);
    return () => clearTimeout(timer);
  }, [needle, withArchived]);
  const change = async (id: string, what: Parameters<typeof changeSession>[1]): Promise<void> => {
    refused.value = (await changeSession(id, what)) ?? "";
    await read(null).catch(showError);
  };
  const rows = list.value ?? [];
  return (
    <Modal title="Conversations" wide onCancel={closeDialog}>
      {refused.value !== "" && (
        <p class="field-warning session-problem" role="alert">
          {refused.value}
        </p>
      )}
      <input
        class="find-input"
        type="search"
        data-focus
        aria-label="Text in conversations"
        placeholder="Find in titles, messages and answers"
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
      />
      <label class="session-filter">
        <input
          type="checkbox"
          checked={archived.value}
          onChange={(event) => {
            archived.value = event.currentTarget.checked;
          }}
        />{" "}
        Archived ones, too
      </label>
      <ul class="found" aria-label="Conversations">
        {rows.map((info) => (
          <Row
            key={info.id}
            info={info}
            isRenaming={renaming.value === info.id}
            onRename={(title) => {
              renaming.value = title === undefined ? info.id : null;
              if (typeof title === "string") void change(info.id, { title: title.trim() });
            }}
            onArchive={() => void change(info.id, { archived: !info.archived })}
          />
        ))}
      </ul>
      {next.value !== null && (
        <button class="button small" type="button" onClick={() => void read(next.value).catch(showError)}>
          Show more
        </button>
      )}
      <p class="faint" role="status">
        {list.value === null ? "Reading…" : rows.length === 0 ? "Nothing found." : plural(total.value, "conversation")}
      </p>
      <form
        class="modal-foot session-foot"
        onSubmit={(event) => {
          event.preventDefault();
          closeDialog();
          void newConversation(model.value.trim());
        }}
      >
        <input
          class="find-input session-model"
          type="text"
          spellcheck={false}
          autoComplete="off"
          aria-label="Model of a new conversation"
          placeholder="Model, if another"
          title="As the server names it, such as anthropic:claude-sonnet-5-5. Empty: the server’s own choice."
          value={model.value}
          onInput={(event) => {
            model.value = event.currentTarget.value;
          }}
        />
        <button class="button" type="submit">
          New conversation
        </button>
        <button class="button" type="button" onClick={closeDialog}>
          Close
        </button>
      </form>
    </Modal>
  );
}

const WHEN: Intl.DateTimeFormatOptions = { dateStyle: "medium", timeStyle: "short" };

interface RowProps {
  readonly info: SessionInfo;
  readonly isRenaming: boolean;
  /** Without a title, the user wants to write one; null cancels that. */
  readonly onRename: (title?: string | null) => void;
  readonly onArchive: () => void;
}

function Row({ info, isRenaming, onRename, onArchive }: RowProps) {
  const isJoined = info.id === session.value?.id;
  const title = sessionTitle(info);
  const name = reveal(title).slice(0, 60);
  return (
    <li class={isJoined ? "conversation chosen" : "conversation"}>
      {isRenaming ? (
        <Rename title={info.title} onDone={onRename} />
      ) : (
        <button
          class="conversation-open session-open"
          type="button"
          aria-current={isJoined ? "true" : undefined}
          onClick={() => {
            closeDialog();
            if (!isJoined) void enterSession(info.id);
          }}
        >
          <span class="found-name">{reveal(title)}</span>
          <span class="found-text">
            {isJoined && "Open here · "}
            {info.archived && "Archived · "}
            {plural(info.tasks, "task")} · {new Date(info.changed).toLocaleString(undefined, WHEN)}
          </span>
        </button>
      )}
      <ToolButton icon="edit" label={`Rename: ${name}`} onClick={() => onRename()} />
      <ToolButton
        icon="archive"
        label={`${info.archived ? "Make active again" : "Archive"}: ${name}`}
        onClick={onArchive}
      />
      <ToolButton icon="trash" label={`Delete: ${name}`} onClick={() => void deleteSession(info)} />
    </li>
  );
}
