/** The menu of less frequent actions, by the ARIA pattern of a menu button. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { leaveProject } from "../actions/project.js";
import { dialog, project, runs, showError, totals } from "../store.js";
import { Icon } from "./icons.js";
import { nextTheme } from "./top-bar.js";

interface Item {
  readonly label: string;
  readonly disabled?: boolean;
  /** Whether it is for a project in the tab only: the files of a server and its record are there. */
  readonly inTab?: boolean;
  readonly run: () => void;
}

function items(): readonly (Item | null)[] {
  const open = (kind: "options" | "timeline" | "checkpoints" | "conversations") => () => {
    dialog.value = { kind };
  };
  const all: readonly (Item | null)[] = [
    { label: "Checkpoints…", disabled: runs.value.length === 0, run: open("checkpoints") },
    { label: "Conversations…", run: open("conversations") },
    { label: "Events…", run: open("timeline") },
    { label: "Options…", run: open("options") },
    null,
    { label: "Download everything as a zip", inTab: true, run: downloading((code) => code.downloadAll(false)) },
    {
      label: "Download with changes under review",
      inTab: true,
      disabled: totals.value.changes === 0,
      run: downloading((code) => code.downloadAll(true)),
    },
    {
      label: "Download the patch",
      disabled: totals.value.changes === 0,
      run: downloading((code) => code.downloadPatch()),
    },
    { label: "Download a recording", inTab: true, run: downloading((code) => code.downloadRecording()) },
    null,
    {
      label: "Keep in this browser…",
      inTab: true,
      disabled: project.value.directory !== null,
      run: () => {
        dialog.value = { kind: "new-project", copy: true };
      },
    },
    {
      label: "Open files, an archive or a recording…",
      run: () => document.querySelector<HTMLInputElement>('input[aria-label="Files to open"]')?.click(),
    },
    // A phone has no room for these buttons in the bar.
    { label: "Change the colours", run: nextTheme },
    {
      label: "Keyboard shortcuts",
      run: () => {
        dialog.value = { kind: "keys" };
      },
    },
    { label: "Back to the start", run: () => void leaveProject() },
  ];
  return all.filter((item) => !(project.value.remote && item?.inTab));
}

export function MoreMenu() {
  const open = useSignal(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!open.value) return undefined;
    const leave = (event: Event): void => {
      if (!root.current?.contains(event.target as Node)) open.value = false;
    };
    document.addEventListener("pointerdown", leave);
    document.addEventListener("focusin", leave);
    return () => {
      document.removeEventListener("pointerdown", leave);
      document.removeEventListener("focusin", leave);
    };
  }, [open.value]);
  const show = (at: number): void => {
    open.value = true;
    requestAnimationFrame(() => entries().at(at)?.focus());
  };
  const entries = (): readonly HTMLElement[] => [
    ...(root.current?.querySelectorAll<HTMLElement>('[role="menuitem"]:not([aria-disabled="true"])') ?? []),
  ];
  const close = (): void => {
    open.value = false;
    button.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const all = entries();
    const at = all.indexOf(document.activeElement as HTMLElement);
    if (event.key === "Escape" && open.value) close();
    else if (event.key === "ArrowDown") (open.value ? () => all[(at + 1) % all.length]?.focus() : () => show(0))();
    else if (event.key === "ArrowUp") (open.value ? () => all.at(at <= 0 ? -1 : at - 1)?.focus() : () => show(-1))();
    else if (event.key === "Home" && open.value) all[0]?.focus();
    else if (event.key === "End" && open.value) all.at(-1)?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys of the button and of its menu.
    <div class="menu-root" ref={root} onKeyDown={onKeyDown}>
      <button
        ref={button}
        class="tool"
        type="button"
        aria-label="More"
        title="More"
        aria-haspopup="menu"
        aria-expanded={open.value}
        onClick={() => (open.value ? close() : show(0))}
      >
        <Icon name="more" />
      </button>
      {open.value && (
        <div class="menu" role="menu" aria-label="More">
          {items().map((item, index) =>
            item === null ? (
              <hr key={index} />
            ) : (
              <button
                key={item.label}
                class="menu-item"
                type="button"
                role="menuitem"
                tabIndex={-1}
                // An item that is disabled while it has the focus would give the focus to the page.
                aria-disabled={item.disabled ?? false}
                onClick={() => {
                  if (item.disabled) return;
                  close();
                  item.run();
                }}
              >
                {item.label}
              </button>
            ),
          )}
        </div>
      )}
    </div>
  );
}

function downloading(act: (code: typeof import("../actions/download.js")) => Promise<void>): () => void {
  return () => void import("../actions/download.js").then(act).catch(showError);
}
