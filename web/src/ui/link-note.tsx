/** Says above the panes that the server does not answer, and what becomes of typed text. */
import { downloadUnsent } from "../actions/link.js";
import { changeSession, newConversation } from "../actions/sessions.js";
import type { Link } from "../engine.js";
import { plural } from "../hunk-text.js";
import { link, notify, session, unsaved } from "../store.js";

const WORDS: Readonly<Record<Link, string>> = {
  "": "",
  lost: "The server cannot be reached. The page tries again by itself.",
  refused:
    "The server was started again with another token. Open the page at the address that emend serve prints; this page then goes on.",
  gone: "This conversation was deleted elsewhere. The files and the review stay.",
};

export function LinkNote() {
  const now = link.value;
  if (now === "") return null;
  const count = now === "gone" ? 0 : unsaved.value.size;
  return (
    <section class="link-note" role="alert" aria-label="Connection">
      <span>
        {WORDS[now]}
        {count > 0 && ` ${plural(count, "file")} with text that is not saved: keep this page open.`}
      </span>
      {count > 0 && (
        <button class="button small" type="button" onClick={downloadUnsent}>
          Download the text
        </button>
      )}
      {now === "gone" && (
        <button class="button small" type="button" onClick={() => void newConversation()}>
          New conversation
        </button>
      )}
    </section>
  );
}

/** Says above the message box that an archived conversation takes no task, and makes it active again. */
export function ArchivedNote() {
  const info = session.value;
  if (!info?.archived) return null;
  const activate = async (): Promise<void> => {
    const problem = await changeSession(info.id, { archived: false });
    if (problem !== null) notify(problem, { level: "error" });
  };
  return (
    <section class="link-note" aria-label="Archived conversation">
      <span>This conversation is archived, and takes no task.</span>
      <button class="button small" type="button" onClick={() => void activate()}>
        Make it active
      </button>
    </section>
  );
}
