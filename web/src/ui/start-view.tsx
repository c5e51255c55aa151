/** The first view: open a folder, try the sample, start a project in the browser, or continue an earlier one. */
import { useEffect, useRef } from "preact/hooks";
import { continueProject, openDirectory, openInBrowser, openInput, openSample } from "../actions/project.js";
import { canPickDirectory } from "../folder.js";
import { reveal } from "../reveal.js";
import { dialog, inBrowser, isServerLost, kept, notify, opening, startProblem } from "../store.js";
import { Icon, type IconName } from "./icons.js";
import { later, NOT_LOADED } from "./later.js";
import { ToolButton } from "./top-bar.js";

const LostServer = later(async () => (await import("./lost-server.js")).LostServer);

export function StartView() {
  const busy = opening.value;
  const problem = startProblem.value;
  return (
    <main class="start" aria-label="Start">
      <div class="start-inner">
        <h2>Change your files with an assistant. Decide on each edit.</h2>
        <p class="start-lead">
          The assistant proposes edits; you accept or reject them one by one. Nothing is saved before that, and
          everything can be undone.
        </p>
        {busy !== null && (
          <p class="start-busy" role="status">
            <span class="pulse" /> {busy}
          </p>
        )}
        {problem !== null && busy === null && <Problem message={problem} />}
        {isServerLost.value && busy === null && <LostServer />}
        <Doors disabled={busy !== null} />
        <Earlier disabled={busy !== null} />
        <p class="faint start-note">
          Everything runs in this browser. Your files stay here; only requests to the model that you choose leave it.
          The offline model needs no key and no network.
        </p>
      </div>
    </main>
  );
}

/** All browsers have this attribute, but the type definitions do not. */
const WHOLE_FOLDER = { webkitdirectory: true };

function Doors({ disabled }: { disabled: boolean }) {
  const folder = useRef<HTMLInputElement>(null);
  const file = useRef<HTMLInputElement>(null);
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!disabled && document.activeElement === document.body) first.current?.focus();
  }, [disabled]);
  const onInput = (event: Event): void => {
    const input = event.currentTarget as HTMLInputElement;
    if (input.files)
      void openInput(input.files).finally(() => {
        input.value = "";
      });
  };
  return (
    <>
      <div class="doors">
        <button
          ref={first}
          class="door primary"
          type="button"
          disabled={disabled}
          onClick={() => (canPickDirectory() ? void openDirectory() : folder.current?.click())}
        >
          <DoorText icon="folder" title="Open a folder" text="Work on your own files. Saving writes into the folder." />
        </button>
        <button class="door" type="button" disabled={disabled} onClick={() => void openSample()}>
          <DoorText
            icon="sparkle"
            title="Try the sample"
            text="A small project, with the offline model. No key needed."
          />
        </button>
        <button
          class="door"
          type="button"
          disabled={disabled}
          onClick={() => {
            dialog.value = { kind: "new-project", copy: false };
          }}
        >
          <DoorText icon="add" title="New project" text="Empty, and kept in this browser." />
        </button>
      </div>
      <p class="start-more">
        <button class="link" type="button" disabled={disabled} onClick={() => file.current?.click()}>
          Open files, a zip archive or a recording
        </button>
        <span class="faint start-drop"> or drop them anywhere on this page.</span>{" "}
        <button
          class="link"
          type="button"
          disabled={disabled}
          onClick={() => {
            dialog.value = { kind: "join" };
          }}
        >
          Join a server
        </button>
      </p>
      <input
        ref={folder}
        hidden
        type="file"
        {...WHOLE_FOLDER}
        multiple
        aria-label="Folder to open"
        onChange={onInput}
      />
      <input ref={file} hidden type="file" multiple aria-label="Files to open" onChange={onInput} />
    </>
  );
}

function DoorText({ icon, title, text }: { icon: IconName; title: string; text: string }) {
  return (
    <>
      <Icon name={icon} size={20} />
      <strong>{title}</strong>
      <span>{text}</span>
    </>
  );
}

/** Calls an action of kept projects, whose code is loaded then. */
async function withKept(work: (actions: typeof import("../actions/kept-projects.js")) => Promise<void>): Promise<void> {
  const actions = await import("../actions/kept-projects.js").catch(() => null);
  if (actions) await work(actions);
  else notify(NOT_LOADED, { level: "error" });
}

function Earlier({ disabled }: { disabled: boolean }) {
  if (kept.value.length === 0 && inBrowser.value.length === 0) return null;
  return (
    <div class="earlier">
      {kept.value.length > 0 && (
        <section aria-label="Earlier projects">
          <h3>Continue where you left off</h3>
          <ul>
            {kept.value.map((info) => (
              <li key={info.id}>
                <button
                  class="earlier-row"
                  type="button"
                  disabled={disabled}
                  onClick={() => void continueProject(info.id)}
                >
                  <Icon name="arrow" size={14} />
                  <span class="earlier-name">Continue {reveal(info.name)}</span>
                  <span class="faint">{new Date(info.opened).toLocaleString()}</span>
                </button>
                <ToolButton
                  icon="reject"
                  label={`Forget ${reveal(info.name)}`}
                  disabled={disabled}
                  onClick={() => void withKept((it) => it.forgetProject(info))}
                />
              </li>
            ))}
          </ul>
        </section>
      )}
      {inBrowser.value.length > 0 && (
        <section aria-label="Projects in this browser">
          <h3>Kept in this browser</h3>
          <ul>
            {inBrowser.value.map((name) => (
              <li key={name}>
                <button class="earlier-row" type="button" disabled={disabled} onClick={() => void openInBrowser(name)}>
                  <Icon name="files" size={14} />
                  <span class="earlier-name">Open {reveal(name)}</span>
                </button>
                <ToolButton
                  icon="trash"
                  label={`Delete ${reveal(name)}`}
                  disabled={disabled}
                  onClick={() => void withKept((it) => it.deleteInBrowser(name))}
                />
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

/** Shown if the engine did not load. */
function Problem({ message }: { message: string }) {
  return (
    <div class="notice error start-problem" role="alert">
      <p>
        <Icon name="warning" size={14} /> Emend could not start: its engine did not load.
      </p>
      <button class="button primary" type="button" onClick={() => void openSample()}>
        Try again
      </button>
      <details>
        <summary>Details</summary>
        <p>{message}</p>
      </details>
    </div>
  );
}
