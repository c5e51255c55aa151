/**
 * Owns the editor view: shows files, sends the user's edits to the engine, and moves between hunks.
 *
 * Sending and receiving are serialized in a queue, so an edit is always compared with the state on which it is based.
 * The actions of keys and buttons are passed in as hooks.
 */
import { defaultKeymap } from "@codemirror/commands";
import { Compartment, EditorState, type Extension, Prec, type StateEffect, type Transaction } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import type { Hunk } from "../engine.js";
import { altLetter } from "../keys.js";
import { adoptEditorStyles } from "./adopted-styles.js";
import { bracketsLater } from "./brackets.js";
import { fromEngine, OpenDocument } from "./document.js";
import { findLater } from "./find.js";
import { hunkAtCursor, hunkDisplay, neighbourHunk, type PlacedHunk, placedHunks, setHunks } from "./hunks.js";
import { loadLanguage, loadSyntax } from "./languages.js";
import { theme } from "./theme.js";

/** Position of the cursor, for the status bar. */
export interface CursorPlace {
  readonly line: number;
  readonly column: number;
  /** Index of the hunk at the cursor, or -1. */
  readonly hunk: number;
  /** Number of selected lines, 0 without a selection. */
  readonly selected: number;
  /** Number of lines of the text. */
  readonly lines: number;
}

/** Lines of the shown file. */
export interface SelectedLines {
  readonly path: string;
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export interface EditorHooks {
  /** Sends the user's text, which is based on `base`. Resolves to the resulting text of the engine. */
  readonly write: (path: string, raw: string, base: string) => Promise<string>;
  /** Called at once for every change by the user, before it is sent. */
  readonly typed: (path: string) => void;
  /** Milliseconds to wait for more typing before sending. */
  readonly sendDelay: () => number;
  readonly failed: (error: unknown) => void;
  readonly moved: (place: CursorPlace) => void;
  /** Resolves when the decision is carried out and the cursor is at the next hunk. */
  readonly decide: (id: string, decision: Decision) => Promise<void>;
  /** Called for a decision while the cursor is in no hunk. */
  readonly undecided: () => void;
  /** Adds the selected lines to the next message. */
  readonly quote: () => void;
  readonly acceptFile: () => boolean;
  readonly undo: () => void;
  readonly redo: () => void;
  /** Handles Esc. Returns whether it had an effect. */
  readonly escape: () => boolean;
  /** Goes to a hunk of another file. Resolves when it is shown. Returns null if no other file has hunks. */
  readonly beyond: (direction: 1 | -1) => Promise<void> | null;
}

export type Decision = "accept" | "reject";

interface OpenFile {
  readonly document: OpenDocument;
  state: EditorState;
  scroll: StateEffect<unknown> | null;
}

/** Without a file the editor is hidden, but its styles are added. */
const EMPTY = EditorState.create({});

adoptEditorStyles();

export class EditorController {
  #connected: EditorHooks | null = null;
  readonly #files = new Map<string, OpenFile>();
  #shown: OpenFile | null = null;
  #view: EditorView | null = null;
  #queue: Promise<unknown> = Promise.resolve();
  /** A decision, or a step to another file, that is not shown yet. Keys that follow are about what it leads to, and wait. */
  #acting: Promise<void> | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Sets the hooks. Call it before the first file is shown. */
  connect(hooks: EditorHooks): void {
    this.#connected = hooks;
  }

  get #hooks(): EditorHooks {
    if (!this.#connected) throw new Error("the editor is not connected");
    return this.#connected;
  }

  /** Mounts the editor into the page. Returns the function that unmounts it. */
  mount(parent: HTMLElement): () => void {
    const view = new EditorView({
      parent,
      state: this.#shown?.state ?? EMPTY,
      dispatchTransactions: (transactions, target) => this.#dispatched(transactions, target),
    });
    this.#view = view;
    return () => {
      if (this.#shown) this.#shown.state = view.state;
      view.destroy();
      this.#view = null;
    };
  }

  get view(): EditorView | null {
    return this.#view;
  }

  /** Discards all files, for another project. */
  reset(): void {
    clearTimeout(this.#timer);
    this.#files.clear();
    this.#shown = null;
    this.#view?.setState(EMPTY);
  }

  get shownPath(): string | null {
    return this.#shown?.document.path ?? null;
  }

  get breaks(): readonly string[] {
    return this.#shown?.document.breaks ?? [];
  }

  /** Whether some typed text has not been sent to the engine. */
  get hasUnsent(): boolean {
    return [...this.#files.values()].some((file) => file.document.hasUnsent);
  }

  /** The texts that have not been sent to the engine yet, by path. */
  get unsent(): readonly (readonly [path: string, text: { readonly raw: string; readonly base: string }])[] {
    return [...this.#files.values()].flatMap((file) => {
      const state = this.#shown === file && this.#view ? this.#view.state : file.state;
      const text = file.document.unsent(state.doc);
      return text ? [[file.document.path, text] as const] : [];
    });
  }

  /** Shows a file with the text `raw`. Its cursor and scroll position are restored. */
  show(path: string, raw: string, hunks: readonly Hunk[]): void {
    this.#leave();
    const known = this.#files.get(path);
    const file = known ?? this.#create(path, raw);
    this.#files.set(path, file);
    this.#shown = file;
    const news = known?.document.receive(raw, known.state);
    if (news) file.state = file.state.update(news).state;
    file.state = file.state.update({ effects: setHunks.of(hunks) }).state;
    this.#view?.setState(file.state);
    if (file.scroll) this.#view?.dispatch({ effects: file.scroll });
    this.#report();
  }

  /** Hides the shown file. */
  hide(): void {
    this.#leave();
    this.#shown = null;
    this.#view?.setState(EMPTY);
  }

  #leave(): void {
    if (!this.#view || !this.#shown) return;
    this.#shown.state = this.#view.state;
    this.#shown.scroll = this.#view.scrollSnapshot();
  }

  /** Discards a file that no longer exists. */
  forget(path: string): void {
    if (this.shownPath === path) this.hide();
    this.#files.delete(path);
  }

  /** Updates the shown file with the engine's current text and hunks. */
  update(read: (path: string) => Promise<{ raw: string; hunks: readonly Hunk[] } | null>): Promise<void> {
    return this.#enqueue(async () => {
      const file = this.#shown;
      const now = file && (await read(file.document.path));
      if (!file || !now || this.#shown !== file) return;
      this.#receive(file, now.raw);
      this.#view?.dispatch({ effects: setHunks.of(now.hunks) });
      this.#report();
    });
  }

  /** Sends all typed text. Resolves when the engine has it. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    return this.#enqueue(async () => {
      for (const file of this.#files.values()) await this.#send(file);
    });
  }

  async #send(file: OpenFile): Promise<void> {
    const state = this.#shown === file && this.#view ? this.#view.state : file.state;
    const taken = file.document.take(state.doc);
    if (!taken) return;
    try {
      this.#receive(file, await this.#hooks.write(file.document.path, taken.raw, taken.base));
    } catch (error) {
      taken.undoTake();
      this.#hooks.failed(error);
    }
  }

  #receive(file: OpenFile, raw: string): void {
    const view = this.#shown === file ? this.#view : null;
    const news = file.document.receive(raw, view?.state ?? file.state);
    if (!news) return;
    if (view) view.dispatch(news);
    else file.state = file.state.update(news).state;
  }

  #enqueue(task: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(task);
    this.#queue = done.catch(() => undefined);
    return done;
  }

  /**
   * Goes to the next or previous hunk; past the end to the next file with hunks, or around if there is none. Returns the
   * step to another file.
   */
  step(direction: 1 | -1): Promise<void> | null {
    const view = this.#view;
    if (!view) return null;
    const placed = placedHunks(view.state);
    let index = neighbourHunk(view.state, direction);
    const arriving = index < 0 ? this.#hooks.beyond(direction) : null;
    if (arriving) return arriving;
    if (index < 0) index = direction === 1 ? 0 : placed.length - 1;
    const target = placed[index];
    if (target) this.#goTo(target);
    return null;
  }

  /** Goes to a line, counted from 1. */
  goToLine(number: number): void {
    const view = this.#view;
    if (!view) return;
    const { from } = view.state.doc.line(Math.min(Math.max(number, 1), view.state.doc.lines));
    view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    view.focus();
  }

  /** Goes to the hunk with this id, or to the first or last hunk. */
  goToHunk(which: string | "first" | "last"): void {
    const placed = this.#view ? placedHunks(this.#view.state) : [];
    const target =
      which === "first" ? placed[0] : which === "last" ? placed.at(-1) : placed.find(({ hunk }) => hunk.id === which);
    if (target) this.#goTo(target);
  }

  #goTo({ from }: PlacedHunk): void {
    this.#view?.dispatch({
      selection: { anchor: from },
      effects: EditorView.scrollIntoView(from, { y: "center" }),
    });
    this.#view?.focus();
  }

  /** Records the focus at a hunk. The returned function focuses the hunk that takes its place after a decision. */
  rememberFocus(id: string): () => void {
    const bar = document.activeElement?.closest<HTMLElement>(".hunk-bar");
    const kind = document.activeElement?.classList.contains("reject") ? "reject" : "accept";
    const index = this.#view ? placedHunks(this.#view.state).findIndex(({ hunk }) => hunk.id === id) : -1;
    const inText = this.#view?.hasFocus === true;
    if (index < 0 || (!bar && !inText)) return () => undefined;
    return () => {
      const placed = this.#view ? placedHunks(this.#view.state) : [];
      const next = placed[Math.min(index, placed.length - 1)];
      if (next) this.#goTo(next);
      else this.#view?.focus();
      if (next && bar) this.#focusButton(next.hunk.id, kind);
    };
  }

  /** Focuses a button of a hunk's bar, after the bar is drawn. */
  #focusButton(id: string, kind: Decision): void {
    this.#view?.requestMeasure({
      read: (view) => view.dom.querySelector<HTMLElement>(`.hunk-bar[data-hunk="${CSS.escape(id)}"] .${kind}`),
      write: (found) => found?.focus({ preventScroll: true }),
    });
  }

  focus(): void {
    this.#view?.focus();
  }

  #dispatched(transactions: readonly Transaction[], view: EditorView): void {
    view.update(transactions);
    const file = this.#shown;
    let typed = false;
    for (const transaction of transactions) {
      if (!transaction.docChanged || transaction.annotation(fromEngine) || !file) continue;
      file.document.typed(transaction.changes, transaction.startState.doc, transaction.newDoc);
      typed = true;
    }
    if (typed && file) {
      this.#hooks.typed(file.document.path);
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.flush(), this.#hooks.sendDelay());
    }
    if (transactions.some((transaction) => transaction.docChanged || transaction.selection)) this.#report();
  }

  #report(): void {
    const state = this.#view?.state;
    if (!state) return;
    const head = state.selection.main.head;
    const line = state.doc.lineAt(head);
    const { from, to } = this.selection ?? { from: 1, to: 0 };
    const place = { line: line.number, column: head - line.from + 1, hunk: hunkAtCursor(state) };
    this.#hooks.moved({ ...place, selected: to - from + 1, lines: state.doc.lines });
  }

  /** The text of the shown file as the user sees it, or null. */
  get text(): string | null {
    return this.#shown ? (this.#view?.state ?? this.#shown.state).doc.toString() : null;
  }

  /** The lines that the selection touches, whole; null without a selection. */
  get selection(): SelectedLines | null {
    const state = this.#view?.state;
    const path = this.shownPath;
    if (!state || path === null || state.selection.main.empty) return null;
    const { from, to } = state.selection.main;
    const first = state.doc.lineAt(from);
    // A selection that ends at the start of a line does not touch that line.
    const last = state.doc.lineAt(to > from && state.doc.lineAt(to).from === to ? to - 1 : to);
    return { path, from: first.number, to: last.number, text: state.sliceDoc(first.from, last.to) };
  }

  #create(path: string, raw: string): OpenFile {
    const language = new Compartment();
    const document = new OpenDocument(path, raw);
    const use = (loaded: Extension | null): void => {
      if (loaded === null) return;
      const effects = language.reconfigure(loaded);
      if (this.#shown === file && this.#view) this.#view.dispatch({ effects });
      else file.state = file.state.update({ effects }).state;
    };
    const brackets = bracketsLater(() => void loadSyntax().then(use, this.#hooks.failed));
    const extensions = this.#extensions(path, language.of(brackets));
    const state = EditorState.create({ doc: document.initial, extensions });
    const file: OpenFile = { document, state, scroll: null };
    void loadLanguage(path).then(use, this.#hooks.failed);
    return file;
  }

  #extensions(path: string, language: Extension) {
    return [
      Prec.highest(
        EditorView.domEventHandlers({
          keydown: (event) => this.#altKey(event),
          beforeinput: (event) => this.#browserUndo(event),
        }),
      ),
      keymap.of(this.#keys()),
      keymap.of(defaultKeymap),
      lineNumbers(),
      highlightActiveLine(),
      highlightActiveLineGutter(),
      highlightSpecialChars(),
      drawSelection(),
      language,
      EditorState.allowMultipleSelections.of(true),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({
        tabindex: "0",
        "aria-label": `Text of ${path}`,
        "aria-describedby": "lease-note",
      }),
      hunkDisplay({
        accept: (id) => this.#hooks.decide(id, "accept"),
        reject: (id) => this.#hooks.decide(id, "reject"),
      }),
      findLater(this.#hooks.failed),
      theme,
    ];
  }

  /** Handles the keys with Alt. A keymap would miss those that type a character on a Mac. */
  #altKey(event: KeyboardEvent): boolean {
    const letter = altLetter(event);
    if (letter === null || !"cjkyn".includes(letter)) return false;
    event.preventDefault();
    const acting = this.#acting ? this.#acting.then(() => this.#carryOut(letter)) : this.#carryOut(letter);
    const done = acting
      ?.catch(() => undefined)
      .then(() => {
        if (this.#acting === done) this.#acting = null;
      });
    if (done) this.#acting = done;
    return true;
  }

  #carryOut(letter: string): Promise<void> | null {
    const state = this.#view?.state;
    if (!state) return null;
    const here = placedHunks(state)[hunkAtCursor(state)];
    if (letter === "c") this.#hooks.quote();
    else if (letter === "j") return this.step(1);
    else if (letter === "k") return this.step(-1);
    else if (here) return this.#hooks.decide(here.hunk.id, letter === "y" ? "accept" : "reject");
    else this.#hooks.undecided();
    return null;
  }

  /** Takes the place of the browser's own undo, whose order has no decisions and no edits of the agent. */
  #browserUndo(event: InputEvent): boolean {
    // The browser would undo in the text behind a dialog.
    if (document.querySelector("dialog[open]")) event.preventDefault();
    else if (event.inputType === "historyUndo") this.#hooks.undo();
    else if (event.inputType === "historyRedo") this.#hooks.redo();
    else return false;
    event.preventDefault();
    return true;
  }

  // Without CodeMirror's history: the engine keeps one undo order for edits and decisions.
  #keys() {
    const run = (action: () => void) => () => {
      action();
      return true;
    };
    return [
      { key: "Mod-z", run: run(this.#hooks.undo), preventDefault: true },
      { key: "Mod-Shift-z", run: run(this.#hooks.redo), preventDefault: true },
      { key: "Mod-y", run: run(this.#hooks.redo), preventDefault: true },
      { key: "Mod-Enter", run: () => this.#hooks.acceptFile() },
      { key: "Escape", run: () => this.#hooks.escape() },
    ];
  }
}
