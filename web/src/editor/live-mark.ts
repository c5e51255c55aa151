/** Marks the line at which the assistant edits, and scrolls there. Loaded when the assistant edits the open file. */
import { type Range, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";

const setPlace = StateEffect.define<number | null>();

class Caret extends WidgetType {
  override eq(): boolean {
    return true;
  }

  toDOM(): HTMLElement {
    const caret = document.createElement("span");
    caret.className = "assistant-caret";
    // The note at the editor says it to screen readers.
    caret.ariaHidden = "true";
    caret.textContent = "assistant";
    return caret;
  }
}

const place = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(shown, transaction) {
    let marks = shown.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (effect.is(setPlace)) marks = marksAt(transaction.newDoc, effect.value);
    }
    return marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function marksAt(document: EditorView["state"]["doc"], number: number | null): DecorationSet {
  if (number === null) return Decoration.none;
  const { from, to } = document.line(Math.min(Math.max(number, 1), document.lines));
  const marks: Range<Decoration>[] = [
    Decoration.line({ class: "assistant-line" }).range(from),
    Decoration.widget({ widget: new Caret(), side: 1 }).range(to),
  ];
  return Decoration.set(marks);
}

/** Marks a line, counted from 1, or takes the mark away. With `follows`, the line comes into view; the cursor stays. */
export function showPlace(view: EditorView, number: number | null, follows: boolean): void {
  const { doc } = view.state;
  const effects: StateEffect<unknown>[] = [setPlace.of(number)];
  if (!view.state.field(place, false)) effects.unshift(StateEffect.appendConfig.of(place));
  if (follows && number !== null) {
    const { from } = doc.line(Math.min(Math.max(number, 1), doc.lines));
    effects.push(EditorView.scrollIntoView(from, { y: "center" }));
  }
  view.dispatch({ effects });
}
