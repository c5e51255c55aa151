/** The assistant pane: the conversation, the current activity, and the message box. */
import { computed, effect, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { allChats, chatTitle, openChat } from "../actions/conversations.js";
import { addToDraft } from "../actions/run.js";
import { newConversation, sessionTitle } from "../actions/sessions.js";
import { preloadOffline } from "../engine.js";
import { plural, signed } from "../hunk-text.js";
import { reveal } from "../reveal.js";
import { forgottenProvider, PROVIDERS, serverOf } from "../settings.js";
import {
  chat,
  conversation,
  dialog,
  draft,
  opening,
  pane,
  project,
  queue,
  runTimes,
  session,
  settings,
  totals,
} from "../store.js";
import { Composer } from "./composer.js";
import { examples } from "./examples.js";
import { showReview } from "./focus.js";
import { Icon } from "./icons.js";
import { later } from "./later.js";
import { ToolButton } from "./top-bar.js";

const Entries = later(async () => {
  // Together, so that no text is shown before it can be shown as Markdown. `loadMarkdown` deals with a missing parser.
  const [{ Entries: View, loadMarkdown }] = await Promise.all([
    import("./entries.js"),
    import("marked").catch(() => undefined),
  ]);
  await loadMarkdown();
  return View;
});

const ArchivedNote = later(async () => (await import("./link-note.js")).ArchivedNote);

const QueueList = later(async () => (await import("./queue-list.js")).QueueList);

const isTalking = computed(() => draft.value !== "" || chat.value.entries.length > 0);

// The first letter of a message announces what its answer needs.
effect(() => {
  if (!isTalking.value) return;
  Entries.preload();
  if (settings.value.provider === "offline" && !project.value.remote) preloadOffline();
});

export function ChatPane() {
  return (
    <aside class="chat-pane" aria-label="Assistant">
      <div class="pane-head">
        <h2>Assistant</h2>
        <Conversations />
        <span class="spacer" />
        <ModelButton />
      </div>
      <Transcript />
      <ForgottenKey />
      <PendingBar />
      {queue.value.length > 0 && <QueueList />}
      {session.value?.archived && <ArchivedNote />}
      <Composer />
    </aside>
  );
}

function Conversations() {
  const all = allChats();
  const { running, entries } = chat.value;
  const joined = session.value;
  // A choice during a restoration would end with the conversation that is restored last. A task of a server goes on.
  const busy = (running && joined === null) || opening.value !== null;
  return (
    <>
      <ToolButton
        icon="add"
        label="New conversation"
        disabled={busy || entries.length === 0}
        onClick={() => void newConversation()}
      />
      {joined !== null && (
        <button
          class="chat-select"
          type="button"
          aria-haspopup="dialog"
          title={`${reveal(sessionTitle(joined))}. Show all conversations`}
          disabled={busy}
          onClick={() => {
            dialog.value = { kind: "conversations" };
          }}
        >
          {reveal(sessionTitle(joined))}
        </button>
      )}
      {all.length > 1 && (
        <select
          class="chat-select"
          aria-label="Conversation"
          title={reveal(chatTitle(all[conversation.value] ?? chat.value, conversation.value))}
          value={conversation.value}
          disabled={busy}
          onChange={(event) => void openChat(Number(event.currentTarget.value))}
        >
          {all.map((state, index) => (
            <option key={index} value={index}>
              {index + 1}: {reveal(chatTitle(state, index)).slice(0, 60)}
            </option>
          ))}
        </select>
      )}
    </>
  );
}

function ModelButton() {
  const { provider, model } = settings.value;
  const { remote = false } = project.value;
  const ofServer = session.value?.model ?? "Model of the server";
  const name = remote ? ofServer : provider === "offline" ? "Offline model (no AI)" : model;
  return (
    <button
      class="model-button"
      type="button"
      aria-haspopup="dialog"
      aria-label={`Model: ${name}. Change`}
      disabled={chat.value.running}
      onClick={() => {
        // The model of a server is one of its options.
        dialog.value = { kind: remote ? "options" : "model" };
      }}
    >
      {!remote && <span class={`model-dot ${provider}`} />}
      <span class="model-name">{name}</span>
      <Icon name="down" size={12} />
    </button>
  );
}

function Transcript() {
  const scroller = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const top = useRef(0);
  const sent = useRef(0);
  const isAway = useSignal(false);
  const { entries, waiting } = chat.value;
  const isDrawn = Entries.isLoaded;
  const shown = conversation.value;
  // A pane that a phone did not show had no height to scroll.
  const now = pane.value;
  useEffect(() => {
    atEnd.current = true;
    isAway.value = false;
  }, [shown]);
  useEffect(() => {
    const node = scroller.current;
    const count = waiting.length + entries.filter((entry) => entry.kind === "user").length;
    // The user's own message is always shown. Other entries scroll only if the end was in view.
    if (count > sent.current) atEnd.current = true;
    sent.current = count;
    if (!node || !atEnd.current) return undefined;
    // In a frame, because the height needs a layout: for every event it would cost more than the event itself.
    const frame = requestAnimationFrame(() => {
      node.scrollTop = node.scrollHeight;
    });
    return () => cancelAnimationFrame(frame);
  }, [entries, waiting, now, isDrawn]);
  return (
    <>
      <div
        class="transcript"
        ref={scroller}
        role="log"
        aria-label="Conversation"
        // The page announces the end of a run itself. Announcing every delta would drown that.
        aria-live="off"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it.
        tabIndex={0}
        onScroll={(event) => {
          const node = event.currentTarget;
          const isEnd = node.scrollHeight - node.scrollTop - node.clientHeight < 40;
          // Only the user scrolls up. The event of the page's own scrolling may come after further entries.
          if (isEnd || node.scrollTop < top.current) atEnd.current = isEnd;
          isAway.value = !atEnd.current;
          top.current = node.scrollTop;
        }}
      >
        {entries.length === 0 ? <Welcome /> : <Entries entries={entries} />}
        {waiting.map((text, index) => (
          <div class="entry user waiting" key={index}>
            <span class="visually-hidden">You: </span>
            {text}
            <span class="waiting-note">Waits for the assistant’s next step</span>
          </div>
        ))}
      </div>
      {isAway.value && (
        <div class="to-end">
          <button
            class="button small"
            type="button"
            onClick={() => {
              atEnd.current = true;
              isAway.value = false;
              scroller.current?.scrollTo(0, scroller.current.scrollHeight);
              scroller.current?.focus();
            }}
          >
            <Icon name="down" size={12} /> Latest
          </button>
        </div>
      )}
    </>
  );
}

/** The provider that was used before the page was loaded, and cannot be used without its key. */
const forgotten = computed(() =>
  settings.value.provider === "offline" && !project.value.remote ? forgottenProvider() : null,
);

function ForgottenKey() {
  const provider = forgotten.value;
  if (provider === null) return null;
  return (
    <p class="field-warning forgotten">
      The key for {PROVIDERS[provider].title} was not remembered.{" "}
      <button
        class="link"
        type="button"
        onClick={() => {
          dialog.value = { kind: "model", provider };
        }}
      >
        Enter it again
      </button>{" "}
      or use the offline model.
    </p>
  );
}

function Welcome() {
  const offline = settings.value.provider === "offline" && !project.value.remote;
  return (
    <div class="welcome">
      <p class="welcome-title">What should I change?</p>
      <p>
        I read and edit the files of this project.{" "}
        {session.value?.mode === "direct"
          ? "Every edit is saved on the server at once, and can be undone here."
          : "Every edit waits here until you accept it. Nothing is saved before that."}
      </p>
      {offline && (
        <p class="faint">
          This is the offline model, not an AI: it needs no key, works on your own files, and understands these
          instructions.
        </p>
      )}
      <ul class="chips" aria-label="Examples">
        {examples(project.value.sample, offline).map((text) => (
          <li key={text}>
            <button
              class="chip"
              type="button"
              onClick={() => {
                addToDraft(text);
                document.querySelector<HTMLElement>(".composer textarea")?.focus();
              }}
            >
              {text}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/**
 * The bar above the message box: the current activity, or the number of pending changes. Always visible, so that the
 * layout is stable.
 */
function PendingBar() {
  const { changes, files, added, removed } = totals.value;
  const { running, activity } = chat.value;
  return (
    <div class="pending-bar">
      {running ? (
        <span class="activity">
          <span class="pulse" />
          <Activity activity={activity} />
        </span>
      ) : opening.value !== null ? (
        <span class="faint">{opening.value}</span>
      ) : changes === 0 ? (
        <span class="faint">No changes to review</span>
      ) : (
        <span>
          {plural(changes, "change")} in {plural(files, "file")} <span class="plus">{signed(added, "+")}</span>{" "}
          <span class="minus">{signed(removed, "−")}</span>
        </span>
      )}
      <span class="spacer" />
      <button class="button small" type="button" disabled={changes === 0} onClick={showReview}>
        Review
      </button>
    </div>
  );
}

/** Time in milliseconds without an event after which the page says that the provider is silent. */
const SILENCE_MS = 15_000;

/** The activity with its duration, or the silence of the provider. */
function Activity({ activity }: { activity: string }) {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      now.value = Date.now();
    }, 1_000);
    return () => clearInterval(timer);
  }, []);
  const { began, lastEvent } = runTimes.value;
  // A server has a model of its own.
  const server = project.value.remote ? null : serverOf(settings.value);
  const silent = now.value - lastEvent;
  const isScript = !project.value.remote && settings.value.provider === "script";
  const isSilent = (server !== null || isScript || project.value.remote === true) && silent > SILENCE_MS;
  const seconds = Math.max(0, Math.floor((now.value - began) / 1_000));
  const hasBegun = chat.value.entries.at(-1)?.kind !== "user";
  const host = server !== null ? new URL(server).host : isScript ? settings.value.model : "the server’s model";
  const text = !isSilent ? activity : hasBegun ? `Nothing more from ${host}` : `No answer yet from ${host}`;
  return (
    <>
      <span class="activity-text" title={text}>
        {text}
      </span>{" "}
      {seconds > 0 && <span class="faint activity-time">{duration(seconds)}</span>}
    </>
  );
}

function duration(seconds: number): string {
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
