/**
 * Components whose code is loaded when they are first needed: the opened file is shown without waiting for them.
 *
 * The service worker keeps their code, so a first use takes a frame or two.
 */
import { signal } from "@preact/signals";
import type { ComponentType, VNode } from "preact";
import { useEffect } from "preact/hooks";
import { notify } from "../store.js";

/** A component that shows nothing until its code is loaded. */
export interface Later<Props extends object> {
  (props: Props): VNode | null;
  /** Loads the code before it is needed. A failure is reported by the first use instead. */
  preload(): void;
  /** Whether the code is there. A component that reads it is drawn again with it. */
  readonly isLoaded: boolean;
}

export const NOT_LOADED =
  "This part of the page could not be loaded. Check the connection and try again, or reload the page: nothing is lost.";

interface LaterOptions {
  /** Called if the code cannot be loaded. Without it a note with a button takes the place of the component. */
  readonly failed?: () => void;
}

/** Returns a component whose code is what `load` resolves to. A failed attempt is repeated by the next use. */
export function later<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  options: LaterOptions = {},
): Later<Props> {
  const loaded = signal<{ readonly Component: ComponentType<Props> } | null>(null);
  const isLost = signal(false);
  let loading: Promise<void> | null = null;
  const get = (): Promise<void> => {
    loading ??= load().then(
      (Component) => {
        loaded.value = { Component };
      },
      (error: unknown) => {
        loading = null;
        throw error;
      },
    );
    return loading;
  };
  const need = (): void => {
    isLost.value = false;
    get().catch(() => {
      if (options.failed) {
        notify(NOT_LOADED, { level: "error" });
        options.failed();
      } else isLost.value = true;
    });
  };
  const component = (props: Props): VNode | null => {
    const there = loaded.value;
    useEffect(() => {
      if (loaded.peek() === null) need();
    }, []);
    if (there) return <there.Component {...props} />;
    return isLost.value ? <Lost onRetry={need} /> : null;
  };
  component.preload = (): void => void get().catch(() => undefined);
  return Object.defineProperty(component, "isLoaded", { get: () => loaded.value !== null }) as typeof component & {
    readonly isLoaded: boolean;
  };
}

function Lost({ onRetry }: { onRetry: () => void }) {
  return (
    <div class="not-loaded" role="alert">
      <p>{NOT_LOADED}</p>
      <button class="button small" type="button" onClick={onRetry}>
        Try again
      </button>
    </div>
  );
}
