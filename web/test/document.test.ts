import assert from "node:assert/strict";
import { test } from "node:test";
import { EditorState } from "@codemirror/state";
import { OpenDocument } from "../src/editor/document.js";

/** An editor state without a view, for the user's typing and the engine's text. */
class Typist {
  readonly document: OpenDocument;
  state: EditorState;

  constructor(raw: string) {
    this.document = new OpenDocument("file", raw);
    this.state = EditorState.create({ doc: this.document.initial });
  }

  get text(): string {
    return this.state.doc.toString();
  }

  type(from: number, to: number, insert: string): void {
    const transaction = this.state.update({ changes: { from, to, insert } });
    this.document.typed(transaction.changes, transaction.startState.doc, transaction.newDoc);
    this.state = transaction.state;
  }

  receive(raw: string): void {
    const news = this.document.receive(raw, this.state);
    if (news) this.state = this.state.update(news).state;
  }

  /** Takes the text to send, and the text on which it is based. */
  send(): readonly [raw: string, base: string] | null {
    const taken = this.document.take(this.state.doc);
    return taken && [taken.raw, taken.base];
  }
}

test("typed text is sent once, with the text on which it is based", () => {
  const typist = new Typist("one\r\ntwo\r\n");
  assert.equal(typist.send(), null);
  typist.type(3, 3, "!");
  typist.type(4, 4, "\n");
  assert.deepEqual(typist.send(), ["one!\r\n\r\ntwo\r\n", "one\r\ntwo\r\n"]);
  assert.equal(typist.send(), null);
});

test("an edit of the agent and unsent typing keep each other", () => {
  const typist = new Typist("one\ntwo\nthree\n");
  typist.type(0, 0, "X");
  typist.receive("one\ntwo\nTHREE\nfour\n");
  assert.equal(typist.text, "Xone\ntwo\nTHREE\nfour\n");
  assert.deepEqual(typist.send(), ["Xone\ntwo\nTHREE\nfour\n", "one\ntwo\nTHREE\nfour\n"]);
});

test("typing inside a line the agent rewrites is kept", () => {
  const typist = new Typist("call(loanDays)\n");
  typist.type(0, 0, "!");
  typist.receive("call(seasonDays)\n");
  assert.equal(typist.text, "!call(seasonDays)\n");
});

test("a text that cannot be sent is sent again with the next one", () => {
  const typist = new Typist("a\n");
  typist.type(1, 1, "b");
  const taken = typist.document.take(typist.state.doc);
  typist.type(2, 2, "c");
  taken?.undoTake();
  assert.equal(typist.document.hasUnsent, true);
  assert.deepEqual(typist.send(), ["abc\n", "a\n"]);
});

test("new line endings of the engine arrive even if the text is the same", () => {
  const typist = new Typist("a\nb\n");
  typist.receive("a\r\nb\r\n");
  assert.equal(typist.text, "a\nb\n");
  typist.type(0, 1, "x");
  assert.deepEqual(typist.send(), ["x\r\nb\r\n", "a\r\nb\r\n"]);
});

test("random edits of both sides converge: the text shown is the text sent, and no typed character is lost", () => {
  const random = mulberry32(20261121);
  const below = (n: number): number => Math.floor(random() * n);
  let merged = 0;
  for (let round = 0; round < 400; round++) {
    const lines = Array.from(
      { length: 1 + below(6) },
      () => `${"ab ".repeat(below(3))}c${below(4) === 0 ? "\r\n" : "\n"}`,
    );
    const typist = new Typist(lines.join(""));
    let engine = lines.join("");
    for (let step = 0; step < 8; step++) {
      const before = typist.text;
      if (below(2) === 0) {
        const from = below(before.length + 1);
        typist.type(from, from, "Z");
      } else {
        // The agent never writes a Z, so every Z belongs to the user.
        const at = below(engine.length + 1);
        const cut = below(3);
        const kept = engine.slice(at, at + cut).replaceAll(/[^Z]/g, "");
        engine = engine.slice(0, at) + ["q", "\n", "qq"][below(3)] + kept + engine.slice(at + cut);
        if (typist.document.hasUnsent) merged += 1;
        typist.receive(engine);
      }
      assert.ok(count(typist.text) >= count(before), `a typed character was lost in ${JSON.stringify(typist.text)}`);
      if (below(3) === 0) {
        const sent = typist.send();
        if (sent) engine = sent[0];
      }
    }
    const sent = typist.send();
    if (sent) engine = sent[0];
    assert.equal(engine.replace(/\r\n?/g, "\n"), typist.text);
  }
  assert.ok(merged > 400, `only ${merged} agent edits met unsent typing`);
});

function count(text: string): number {
  return text.split("Z").length - 1;
}

function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
