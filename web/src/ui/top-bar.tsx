/** The top bar: the name of the project, open, undo, save, theme and keyboard shortcuts. */
import { useRef } from "preact/hooks";
import { save } from "../actions/late-save.js";
import { openDirectory, openInput, openSample } from "../actions/project.js";
import { redo, stepName, undo } from "../actions/review.js";
import { canPickDirectory } from "../folder.js";
import { reveal } from "../reveal.js";
import { saveTheme, type Theme } from "../settings.js";
import {
  dialog,
  filesShown,
  hasProject,
  isCutOff,
  opening,
  openPath,
  project,
  steps,
  theme,
  unsaved,
} from "../store.js";
import { baseName } from "../tree.js";
import { Icon, type IconName } from "./icons.js";
import { MoreMenu } from "./menu.js";

export function TopBar() {
  return (
    <header class="top-bar">
      {hasProject.value && (
        <button
          class="tool only-narrow"
          type="button"
          aria-label="Show files"
          aria-expanded={filesShown.value}
          onClick={() => {
            filesShown.value = !filesShown.value;
          }}
        >
          <Icon name="panel" />
        </button>
      )}
      <h1 class="brand">
        <svg width="22" height="22" viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="8" class="brand-tile" />
          <path d="M7 12h18" class="brand-line" />
          <path d="M9 24l7-9 7 9" class="brand-caret" />
        </svg>
        Emend
      </h1>
      {hasProject.value && (
        <>
          <span class="project-name" title={reveal(project.value.name)}>
            {reveal(project.value.name)}
            {project.value.sample && <span class="tag">Sample</span>}
          </span>
          <PhoneTitle />
          <OpenButtons />
        </>
      )}
      <span class="spacer" />
      {hasProject.value && (
        <>
          <StepButtons />
          <SaveButton />
          <span class="divider" />
        </>
      )}
      <span class="bar-extra">
        <ThemeButton />
        <ToolButton
          icon="keys"
          label="Keyboard shortcuts"
          onClick={() => {
            dialog.value = { kind: "keys" };
          }}
        />
      </span>
      {hasProject.value && <MoreMenu />}
    </header>
  );
}

/** On a phone: the open file, the project, and whether everything is saved. */
function PhoneTitle() {
  const path = openPath.value;
  const count = unsaved.value.size;
  const saved = isCutOff.value ? "no connection" : "saved";
  const state = count === 0 ? saved : `${count} not saved`;
  return (
    <span class="phone-title">
      {path !== null && <strong title={path}>{reveal(baseName(path))}</strong>}
      <span class="faint">
        {state} · {reveal(project.value.name)}
      </span>
    </span>
  );
}

/** All browsers have this attribute, but the type definitions do not. */
const WHOLE_FOLDER = { webkitdirectory: true };

function OpenButtons() {
  const folderInput = useRef<HTMLInputElement>(null);
  const fileInput = useRef<HTMLInputElement>(null);
  const onInput = (event: Event): void => {
    const input = event.currentTarget as HTMLInputElement;
    const list = input.files;
    if (list)
      void openInput(list).finally(() => {
        // Otherwise choosing the same folder again would not fire `change`.
        input.value = "";
      });
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for form controls.
    <div class="button-group" role="group" aria-label="Open">
      <button
        class="button"
        type="button"
        disabled={opening.value !== null}
        aria-label="Open folder"
        onClick={() => (canPickDirectory() ? void openDirectory() : folderInput.current?.click())}
      >
        <Icon name="folder" />
        <span class="wide-label">Open folder</span>
      </button>
      <button
        class="button open-more"
        type="button"
        aria-label="Open files"
        disabled={opening.value !== null}
        onClick={() => fileInput.current?.click()}
      >
        <Icon name="file" />
        <span class="wide-label">Open files</span>
      </button>
      {!project.value.sample && (
        <button
          class="button quiet open-more"
          type="button"
          aria-label="Sample project"
          disabled={opening.value !== null}
          onClick={() => void openSample()}
        >
          <Icon name="files" />
          <span class="wide-label">Sample project</span>
        </button>
      )}
      <input
        ref={folderInput}
        hidden
        type="file"
        {...WHOLE_FOLDER}
        multiple
        aria-label="Folder to open"
        onChange={onInput}
      />
      <input ref={fileInput} hidden type="file" multiple aria-label="Files to open" onChange={onInput} />
    </div>
  );
}

function StepButtons() {
  const { done, undone } = steps.value;
  const last = done.at(-1);
  const next = undone.at(-1);
  return (
    <>
      <ToolButton
        icon="undo"
        label={last ? `Undo ${stepName(last)}` : "Undo"}
        inactive={!last}
        onClick={() => void undo()}
      />
      <ToolButton
        icon="redo"
        label={next ? `Redo ${stepName(next)}` : "Redo"}
        inactive={!next}
        onClick={() => void redo()}
      />
    </>
  );
}

function SaveButton() {
  const count = unsaved.value.size;
  const { directory, remote } = project.value;
  // A server saves accepted text itself, unless another client lets its edits wait.
  if (remote && count === 0) return null;
  const label = directory || remote ? "Save all" : "Download";
  // The name begins with the visible text, so that it can be spoken as a command.
  const name = `${label} ${count} ${count === 1 ? "changed file" : "changed files"}${count === 0 ? ": everything is saved" : ""}`;
  return (
    <button
      class="button"
      type="button"
      aria-label={name}
      title={name}
      disabled={count === 0}
      onClick={() => void save()}
    >
      <Icon name="save" />
      <span class="wide-label">{label}</span> <span class={count === 0 ? "count zero" : "count"}>{count}</span>
    </button>
  );
}

const THEMES: Record<Theme, { readonly next: Theme; readonly icon: IconName; readonly name: string }> = {
  system: { next: "light", icon: "system", name: "as the system" },
  light: { next: "dark", icon: "sun", name: "light" },
  dark: { next: "system", icon: "moon", name: "dark" },
};

/** Changes the colours to the next of the three choices. */
export function nextTheme(): void {
  const { next } = THEMES[theme.value];
  theme.value = next;
  saveTheme(next);
}

function ThemeButton() {
  const { next, icon, name } = THEMES[theme.value];
  return <ToolButton icon={icon} label={`Colours: ${name}. Change to ${THEMES[next].name}`} onClick={nextTheme} />;
}

interface ToolButtonProps {
  readonly icon: IconName;
  readonly label: string;
  readonly disabled?: boolean;
  /** Whether it has nothing to do now. Unlike a disabled button it keeps the focus. */
  readonly inactive?: boolean;
  readonly onClick: () => void;
}

/** A square button with an icon. The label is its accessible name and its tooltip. */
export function ToolButton(props: ToolButtonProps) {
  return (
    <button
      class="tool"
      type="button"
      aria-label={props.label}
      title={props.label}
      disabled={props.disabled ?? false}
      aria-disabled={props.inactive === true ? true : undefined}
      onClick={() => {
        if (!props.inactive) props.onClick();
      }}
    >
      <Icon name={props.icon} />
    </button>
  );
}
