/**
 * The state of the page, as signals. The modules under `actions/` write them. Components read them, and write only the
 * signals that concern the view: the selected view, the dialog, the draft, the theme and the folded folders.
 *
 * The engine and the editor are here too, because every action needs them. They are plain objects, not signals.
 */
import { computed, signal } from "@preact/signals";
import type { Advice } from "./advice.js";
import { type ChatState, EMPTY_CHAT, openRequest } from "./chat-state.js";
import type { Addition } from "./context.js";
import { type CursorPlace, EditorHandle } from "./editor/handle.js";
import {
  type Dependents,
  describe,
  type Engine,
  type FileInfo,
  type Link,
  type Picture,
  type ProjectInfo,
  type Review,
  type ReviewFile,
  type RunInfo,
  type SessionInfo,
  type Steps,
} from "./engine.js";
import type { Project } from "./folder.js";
import { countLines, pendingFiles, pendingHunks } from "./hunk-text.js";
import type { KeptHunk, Outcome } from "./kept.js";
import {
  loadOptions,
  loadSettings,
  loadTheme,
  type Options,
  type Provider,
  type Settings,
  type Theme,
} from "./settings.js";

/** The content of the middle pane. */
export type View = "editor" | "review";

/** The pane that a phone shows. */
export type Pane = "files" | "text" | "review" | "chat";

/** A modal dialog. At most one is open. */
export type Dialog =
  | { readonly kind: "model"; readonly provider?: Provider }
  | { readonly kind: "keys" }
  | { readonly kind: "new-file"; readonly folder?: string }
  | { readonly kind: "rename"; readonly path: string }
  | { readonly kind: "new-project"; readonly copy: boolean }
  | { readonly kind: "join" }
  /** `problem` says why no further conversation of a server could be started. */
  | { readonly kind: "conversations"; readonly problem?: string }
  | { readonly kind: "options" }
  | { readonly kind: "timeline" }
  | { readonly kind: "checkpoints"; readonly run?: number }
  | { readonly kind: "go-back"; readonly run: RunInfo; readonly text: string }
  | { readonly kind: "find"; readonly mode: "files" | "text" | "symbols" }
  | {
      readonly kind: "choice";
      readonly title: string;
      readonly message: string;
      /** Texts before and after, which the user can compare. */
      readonly compare?: { readonly label: string; readonly text: string }[];
      /** The answers, the last of which changes most. `null` is always possible. */
      readonly choices: readonly { readonly name: string; readonly label: string; readonly danger?: boolean }[];
      readonly answer: (name: string | null) => void;
    }
  | {
      readonly kind: "kept";
      readonly hunks: readonly KeptHunk[];
      readonly purpose: "save" | "reject" | "go back";
      readonly answer: (choices: readonly Outcome[] | null) => void;
    }
  | {
      readonly kind: "dependents";
      readonly dependents: Dependents;
      /** Whether several hunks are rejected together. */
      readonly several: boolean;
      readonly answer: (choice: "only" | "with" | null) => void;
    };

/** A message that waits for the end of the present task. */
export interface Queued {
  /** A server's messages have texts as ids. */
  readonly id: number | string;
  readonly text: string;
  readonly pictures?: readonly Picture[];
}

/** A short message about the last action, with Undo if it can be undone. */
export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly level: "info" | "error";
  readonly undo: boolean;
}

/** The open project. A remote one is on a server, which has its files, model and conversation. */
export const project = signal<
  Pick<Project, "name" | "directory" | "skipped"> & { readonly sample: boolean; readonly remote?: boolean }
>({
  name: "",
  directory: null,
  skipped: [],
  sample: false,
});
/** The joined session of a server, or null. */
export const session = signal<SessionInfo | null>(null);
/** The state of the connection to the server of a remote project. */
export const link = signal<Link>("");
/** Whether the server takes no edits: text that the user types stays in the page. */
export const isCutOff = computed(() => link.value === "lost" || link.value === "refused");
/** The progress of opening a project, or null. */
export const opening = signal<string | null>("Starting…");
/** Projects of earlier visits that can be continued, last opened first. */
export const kept = signal<readonly ProjectInfo[]>([]);
/** Names of the projects in the browser's own storage. */
export const inBrowser = signal<readonly string[]>([]);
/** Whether a project is open. */
export const hasProject = signal(false);
/** The tasks so far, to which the project can go back. */
export const runs = signal<readonly RunInfo[]>([]);
/** Whether the server that the page comes from did not answer when the page began. */
export const isServerLost = signal(false);
/** Why no project could be opened at all, or null. */
export const startProblem = signal<string | null>(null);
/** The place of the page over which the user drags files. */
export const dropping = signal<"page" | "box" | null>(null);
export const files = signal<readonly FileInfo[]>([]);
/** Whether a server has files that `files` lacks. */
export const moreFiles = signal(false);
/** Paths of the folded folders. */
export const closedFolders = signal<ReadonlySet<string>>(new Set());
export const review = signal<Review>({ revision: 0, files: [] });
/** Paths whose accepted text differs from the saved text. */
export const unsaved = signal<ReadonlySet<string>>(new Set());
export const openPath = signal<string | null>(null);
/** Why the open file has no text to show, or null if it has. */
export const unreadable = signal<string | null>(null);
/** Whether the text of the open file is awaited. */
export const isReading = signal(false);
export const view = signal<View>("editor");
export const pane = signal<Pane>("text");
/** Whether Markdown files are shown as they read, instead of their text. */
export const preview = signal(false);
/** The file whose earlier versions are shown in place of the editor, or null. */
export const versionsOf = signal<string | null>(null);
/** Paths of the files with a tab, in the order of their opening. */
export const tabs = signal<readonly string[]>([]);
export const cursor = signal<CursorPlace>({ line: 1, column: 1, hunk: -1, selected: 0, lines: 1 });
export const chat = signal<ChatState>(EMPTY_CHAT);
/** The conversations of the project. That of `conversation` is in `chat`. */
export const chats = signal<readonly ChatState[]>([EMPTY_CHAT]);
export const conversation = signal(0);
/** The titles that the user gave to conversations, by their index. */
export const titles = signal<ReadonlyMap<number, string>>(new Map());
/** Times at which the current run began and its last event came, in milliseconds. */
export const runTimes = signal({ began: 0, lastEvent: 0 });
export const draft = signal("");
/** Selected lines and comments that go with the next message. */
export const additions = signal<readonly Addition[]>([]);
/** Messages that are sent as tasks of their own, one after the other. */
export const queue = signal<readonly Queued[]>([]);
/** Costs of runs in US dollars, by the id of their end in the conversation. */
export const costs = signal<ReadonlyMap<string, number>>(new Map());
/** Whether the review shows the changes of the last task only, and the hunks that were there before it. */
export const lastOnly = signal(false);
export const hunksBefore = signal<ReadonlySet<string>>(new Set());
export const settings = signal<Settings>(loadSettings());
export const options = signal<Options>(loadOptions());
export const theme = signal<Theme>(loadTheme());
export const dialog = signal<Dialog | null>(null);
export const toast = signal<Toast | null>(null);
/** Text for the polite live region of screen readers. */
export const spoken = signal("");
/** Text for the assertive live region of screen readers. */
export const spokenUrgent = signal("");
/** The last change of the agent in the open file, while it works there. */
export const lastEdit = signal<{ readonly path: string; readonly hunk: string; readonly line: number } | null>(null);
/** Whether the agent holds the lease of the open file. */
export const leaseHeld = signal(false);
export const steps = signal<Steps>({ done: [], undone: [] });
/** Whether the file tree covers the editor on a narrow page. */
export const filesShown = signal(false);

/** Whether a run is going on. Unlike `chat`, it does not change with every event. */
export const isRunning = computed(() => chat.value.running);
/** The id of the entry of the conversation that waits for the user, or null. */
export const asksUser = computed(() => openRequest(chat.value));
export const waiting = computed<readonly ReviewFile[]>(() => pendingFiles(review.value));
export const totals = computed(() => {
  let [changes, added, removed] = [0, 0, 0];
  for (const file of waiting.value) {
    for (const hunk of pendingHunks(file)) {
      changes += 1;
      added += countLines(hunk, "added");
      removed += countLines(hunk, "removed");
    }
  }
  return { changes, added, removed, files: waiting.value.length };
});
export const openHunks = computed(() => pendingHunks(review.value.files.find((file) => file.path === openPath.value)));

/** The editor. `actions/connect-editor.ts` sets its hooks. */
export const editor = new EditorHandle();

/** Shows a question and returns the name of the chosen answer, or null if it was cancelled. */
export function choose(question: Omit<Extract<Dialog, { kind: "choice" }>, "kind" | "answer">): Promise<string | null> {
  // A message about an earlier action would stand under the question, as if it were about it.
  toast.value = null;
  return new Promise((answer) => {
    dialog.value = { kind: "choice", ...question, answer };
  });
}

let engine: Engine | null = null;

/** Returns the engine of the open project. Throws before the first project is open. */
export function currentEngine(): Engine {
  if (!engine) throw new Error("no project is open");
  return engine;
}

export function engineOrNull(): Engine | null {
  return engine;
}

export function setEngine(next: Engine | null): void {
  engine = next;
  hasProject.value = next !== null;
}

let nextToast = 0;

/** Shows a message on the page and to screen readers. */
export function notify(text: string, options: { level?: "info" | "error"; undo?: boolean } = {}): void {
  const level = options.level ?? "info";
  toast.value = { id: ++nextToast, text, level, undo: options.undo ?? false };
  (level === "error" ? spokenUrgent : spoken).value = text;
}

/** Returns the explanation of an error. Its texts are loaded with the first error. */
export async function explained(error: unknown): Promise<Pick<Advice, "title" | "steps" | "details">> {
  const failure = describe(error);
  const loaded = await import("./advice.js").catch(() => null);
  return loaded?.advise(failure) ?? { title: failure.message, steps: failure.suggestions, details: null };
}

/** Shows an error and its remedies. */
export function showError(error: unknown): void {
  void explained(error).then(({ title, steps }) => notify([title, ...steps].join(" "), { level: "error" }));
}
