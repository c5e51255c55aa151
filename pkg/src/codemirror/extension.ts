/** The extension that binds an editor to a file of an agent. */

import { invertedEffects, isolateHistory } from "@codemirror/commands";
import { Annotation, type Extension, StateEffect, Transaction } from "@codemirror/state";
import { type EditorView, type PluginValue, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import type { Agent } from "../agent/agent.js";
import { type Binding, bindBuffer } from "../bind/binding.js";
import type { BindOptions, BufferTransaction, Report, TextChange } from "../bind/types.js";
import type { EmendError } from "../errors.js";
import { connection } from "./connection.js";
import { hunkDisplay, setHunks } from "./hunks.js";

/** Options of {@link emendFile}. */
export interface EmendFileOptions extends Pick<BindOptions, "start" | "delay" | "onError" | "onEnd"> {
  /**
   * Whether accepting and rejecting are steps of the editor's own undo history. Undoing such a step makes the hunks
   * pending again, unless something was typed since; then it changes the text only. Default false.
   */
  readonly history?: boolean | undefined;
}

/** Marks the transactions that bring changes of the file. Their value says what changed it. */
export const fromAgent = Annotation.define<BufferTransaction>();

/** A decision that a transaction carries out or takes back. */
const decided = StateEffect.define<{ readonly transaction: BufferTransaction; readonly isDone: boolean }>();

/**
 * Binds an editor to a file of an agent as `bindBuffer` does, and shows the pending hunks in the text with buttons.
 * The editor may begin without text. {@link hunkKeymap} has the keys.
 */
export function emendFile(agent: Agent, path: string, options: EmendFileOptions = {}): Extension {
  const plugin = ViewPlugin.define((view) => new FilePlugin(view, agent, path, options));
  const failed = (error: EmendError): void => options.onError?.(error);
  return [
    plugin,
    connection.of({ binding: (view) => view.plugin(plugin)?.binding, failed }),
    hunkDisplay(),
    invertedEffects.of(({ effects }) =>
      effects.flatMap((effect) =>
        effect.is(decided) ? decided.of({ ...effect.value, isDone: !effect.value.isDone }) : [],
      ),
    ),
  ];
}

class FilePlugin implements PluginValue {
  readonly binding: Binding;
  readonly #view: EditorView;
  readonly #hasHistory: boolean;
  #report: Report = () => {};
  /** The shown hunks as JSON: they are drawn again only if they differ. */
  #shown = "[]";
  #typed = false;

  constructor(view: EditorView, agent: Agent, path: string, options: EmendFileOptions) {
    this.#view = view;
    this.#hasHistory = options.history === true;
    const { start, delay, onError, onEnd } = options;
    this.binding = bindBuffer(agent, path, {
      start,
      delay,
      onError,
      onEnd,
      decisions: this.#hasHistory,
      read: () => view.state.doc.toString(),
      apply: (transaction) => this.#apply(transaction),
      onChange: (report) => {
        this.#report = report;
        return () => {
          this.#report = () => {};
        };
      },
      onSync: () => this.#showHunks(),
    });
  }

  update({ transactions }: ViewUpdate): void {
    for (const transaction of transactions) {
      if (transaction.annotation(fromAgent) !== undefined) continue;
      const step = transaction.effects.find((effect) => effect.is(decided))?.value;
      if (!transaction.docChanged && step === undefined) continue;
      this.#typed = true;
      const changes: TextChange[] = [];
      transaction.changes.iterChanges((from, to, _from, _to, inserted) => {
        changes.push({ from, to, insert: inserted.toString() });
      });
      if (step === undefined) this.#report(changes);
      else this.#report(changes, step.isDone ? { repeats: step.transaction } : { reverts: step.transaction });
    }
  }

  destroy(): void {
    // Typed text is still written. If that fails, nobody is left to be told.
    this.binding.detach().catch(() => {});
  }

  #apply(transaction: BufferTransaction): void {
    const isStep = transaction.cause === "decision" && this.#hasHistory;
    this.#view.dispatch({
      changes: transaction.changes,
      annotations: [
        fromAgent.of(transaction),
        Transaction.addToHistory.of(isStep),
        ...(isStep ? [isolateHistory.of("full")] : []),
      ],
      effects: isStep ? decided.of({ transaction, isDone: true }) : [],
    });
  }

  #showHunks(): void {
    const hunks = this.binding.hunks();
    const text = JSON.stringify(hunks);
    if (text === this.#shown && !this.#typed) return;
    [this.#shown, this.#typed] = [text, false];
    this.#view.dispatch({ effects: setHunks.of(hunks) });
  }
}
