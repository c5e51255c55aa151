// Compiled, never run: the types of the bindings, as a page uses them.

import { EditorView, keymap } from "@codemirror/view";
import { Agent, type AgentChange, type Hunk } from "emend";
import { type Binding, type BufferTransaction, bindBuffer, type TextChange } from "emend/bind";
import { bindingOf, emendFile, fromAgent, hunkKeymap, placedHunks } from "emend/codemirror";
import { defineReview } from "emend/elements";
import { useAgent, useHunks, useReview, useRun } from "emend/react";

const agent = await Agent.create();
const maybe: number | undefined = Math.random() > 0.5 ? 1 : undefined;

const binding: Binding = bindBuffer(agent, "a.txt", {
  read: () => "",
  apply: ({ changes, cause, text }: BufferTransaction) => {
    const first: TextChange | undefined = changes[0];
    const why: "agent" | "decision" | "other" = cause;
    const whole: string = text;
    // @ts-expect-error: transactions are read-only
    changes.length = 0;
  },
  onChange: (report) => {
    report();
    report([{ from: 0, to: 0, insert: "a" }], { reverts: undefined });
    // @ts-expect-error: a change has an `insert`
    report([{ from: 0, to: 0 }]);
    return () => {};
  },
  delay: maybe,
  onError: (error) => {
    const code: string = error.code;
  },
});
const flushed: Promise<void> = binding.flush();
const hunks: readonly Hunk[] = binding.hunks();
// @ts-expect-error: a buffer needs `onChange`
bindBuffer(agent, "a.txt", { read: () => "", apply: () => {} });
// @ts-expect-error: unknown side
bindBuffer(agent, "a.txt", { read: () => "", apply: () => {}, onChange: () => () => {}, start: "mine" });

const end: () => void = agent.subscribe((change: AgentChange) => {
  if (change.kind === "edit") {
    const path: string = change.path;
  }
});

const view = new EditorView({ extensions: [keymap.of(hunkKeymap), emendFile(agent, "a.txt", { history: true })] });
const bound: Binding | undefined = bindingOf(view);
const places: number[] = placedHunks(view.state).map(({ from }) => from);
EditorView.updateListener.of(({ transactions }) => {
  const cause: string | undefined = transactions[0]?.annotation(fromAgent)?.cause;
});

defineReview();
const element = document.createElement("emend-review");
element.agent = agent;
element.agent = undefined;
element.addEventListener("emend-error", ({ detail }) => {
  const code: string = detail.code;
});
// @ts-expect-error: not an agent
element.agent = 1;

export function Component(): string {
  const { agent: own, error } = useAgent(() => Agent.create(), [maybe]);
  const { files } = useReview(own);
  const { start, result } = useRun(own, ({ kind }) => console.log(kind));
  const shown: readonly Hunk[] = useHunks(own, "a.txt");
  // @ts-expect-error: the function gives a promise of an agent
  useAgent(() => 1);
  return `${error} ${files.length} ${start} ${result?.reason} ${shown.length}`;
}
