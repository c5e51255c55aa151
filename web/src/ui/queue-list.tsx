/** The lists above the message box: queued messages, and additions to the next one. They are loaded with the first of them. */
import { editQueued, sendQueued, withdrawQueued } from "../actions/run.js";
import { type Addition, linesName } from "../context.js";
import { plural } from "../hunk-text.js";
import { reveal } from "../reveal.js";
import { additions, chat, queue, review } from "../store.js";
import { baseName } from "../tree.js";
import { Icon } from "./icons.js";
import { PictureView, sizeName } from "./pictures.js";
import { ToolButton } from "./top-bar.js";

export function QueueList() {
  const { running } = chat.value;
  if (queue.value.length === 0) return null;
  return (
    <section class="queue" aria-label="Queued messages">
      <p class="faint">{running ? "After this task" : "Waiting: the last task did not end by itself"}</p>
      <ol>
        {queue.value.map(({ id, text, pictures = [] }) => (
          <li key={id}>
            <span class="queue-text">{reveal(text)}</span>
            {pictures.length > 0 && (
              <span class="tag" title={pictures.map(({ name }) => reveal(name)).join(", ")}>
                {plural(pictures.length, "picture")}
              </span>
            )}
            <ToolButton
              icon="edit"
              label={`Edit: ${reveal(text).slice(0, 60)}`}
              onClick={() => toBox(() => void editQueued(id))}
            />
            <ToolButton
              icon="up"
              label={`Send now: ${reveal(text).slice(0, 60)}`}
              onClick={() => toBox(() => void sendQueued(id))}
            />
            <ToolButton
              icon="reject"
              label={`Withdraw: ${reveal(text).slice(0, 60)}`}
              onClick={() => toBox(() => void withdrawQueued(id))}
            />
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The row of the pressed button disappears, so the message box gets the focus. */
function toBox(action: () => void): void {
  action();
  document.querySelector<HTMLElement>(".composer textarea")?.focus();
}

/** The selected lines, comments and pictures that go with the next message. */
export function Additions() {
  return (
    <ul class="additions" aria-label="Goes with the message">
      {additions.value.map((each) => (
        <li key={each.id} class={each.kind === "picture" ? "addition with-picture" : "addition"} title={tipOf(each)}>
          {each.kind === "picture" ? (
            <PictureView picture={each} />
          ) : (
            <Icon name={each.kind === "comment" ? "comment" : "file"} size={12} />
          )}
          <span class="addition-name">{nameOf(each)}</span>
          {each.kind === "picture" && <span class="faint">{sizeName(each)}</span>}
          <button
            class="addition-remove"
            type="button"
            aria-label={`Remove ${nameOf(each)}`}
            onClick={() =>
              toBox(() => {
                additions.value = additions.value.filter((other) => other !== each);
              })
            }
          >
            <Icon name="reject" size={10} />
          </button>
        </li>
      ))}
    </ul>
  );
}

function tipOf(each: Addition): string {
  if (each.kind === "picture") return nameOf(each);
  return each.kind === "comment" ? `${each.text.trim()}\n${each.note}` : each.text;
}

function nameOf(each: Addition): string {
  if (each.kind === "picture") return reveal(each.name);
  if (each.kind === "selection") return `${reveal(baseName(each.path))}, ${linesName(each)}`;
  const isThere = review.value.files.some((file) => file.hunks.some((hunk) => hunk.id === each.hunk));
  return `Comment on ${reveal(baseName(each.path))}:${each.line}${isThere ? "" : " (the change is decided)"}`;
}
