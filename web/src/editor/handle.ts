/**
 * The editor as the rest of the page sees it. Its code, the largest part of the page, is loaded with the first project: the
 * start view does not wait for it.
 */
import type { EditorController, EditorHooks, SelectedLines } from "./controller.js";

export type { CursorPlace, Decision, EditorHooks, SelectedLines } from "./controller.js";

type Update = Parameters<EditorController["update"]>[0];

/** An element for the editor. */
interface Place {
  readonly parent: HTMLElement;
  unmount: (() => void) | undefined;
}

export class EditorHandle {
  #controller: EditorController | null = null;
  #loading: Promise<EditorController> | null = null;
  #hooks: EditorHooks | null = null;
  readonly #places = new Set<Place>();

  /** Sets the hooks. Call it before the first file is shown. */
  connect(hooks: EditorHooks): void {
    this.#hooks = hooks;
  }

  /** Loads the editor. A failed attempt is repeated by the next call. */
  load(): Promise<EditorController> {
    this.#loading ??= this.#load().catch((cause: unknown) => {
      this.#loading = null;
      throw new Error("The editor could not be loaded. Check the connection, and open the file again.", { cause });
    });
    return this.#loading;
  }

  async #load(): Promise<EditorController> {
    const { EditorController: Controller } = await import("./controller.js");
    const controller = new Controller();
    if (this.#hooks) controller.connect(this.#hooks);
    this.#controller = controller;
    for (const place of this.#places) place.unmount = controller.mount(place.parent);
    return controller;
  }

  /** Mounts the editor into the page as soon as it is loaded. Returns the function that unmounts it. */
  mount(parent: HTMLElement): () => void {
    const place: Place = { parent, unmount: this.#controller?.mount(parent) };
    this.#places.add(place);
    // A failure is shown with the first file. Another file loads the editor again, which then mounts it.
    this.load().catch(() => undefined);
    return () => {
      this.#places.delete(place);
      place.unmount?.();
    };
  }

  get view(): EditorController["view"] {
    return this.#controller?.view ?? null;
  }

  reset(): void {
    this.#controller?.reset();
  }

  get shownPath(): string | null {
    return this.#controller?.shownPath ?? null;
  }

  get breaks(): readonly string[] {
    return this.#controller?.breaks ?? [];
  }

  get hasUnsent(): boolean {
    return this.#controller?.hasUnsent ?? false;
  }

  get unsent(): EditorController["unsent"] {
    return this.#controller?.unsent ?? [];
  }

  get selection(): SelectedLines | null {
    return this.#controller?.selection ?? null;
  }

  get text(): string | null {
    return this.#controller?.text ?? null;
  }

  hide(): void {
    this.#controller?.hide();
  }

  forget(path: string): void {
    this.#controller?.forget(path);
  }

  update(read: Update): Promise<void> {
    return this.#controller?.update(read) ?? Promise.resolve();
  }

  flush(): Promise<void> {
    return this.#controller?.flush() ?? Promise.resolve();
  }

  step(direction: 1 | -1): void {
    void this.#controller?.step(direction);
  }

  goToLine(number: number): void {
    this.#controller?.goToLine(number);
  }

  goToHunk(which: string | "first" | "last"): void {
    this.#controller?.goToHunk(which);
  }

  rememberFocus(id: string): () => void {
    return this.#controller?.rememberFocus(id) ?? (() => undefined);
  }

  focus(): void {
    this.#controller?.focus();
  }
}
