/** Components that are loaded after the first paint, so that the page is shown sooner. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

const loads: (() => Promise<unknown>)[] = [];

/** Returns a component that shows nothing until `load` is done. */
export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let Loaded: ComponentType<Props> | null = null;
  const get = async (): Promise<void> => {
    Loaded ??= await load();
  };
  loads.push(get);
  return function Later(props: Props) {
    const [, drawAgain] = useState(0);
    const isLoaded = Loaded !== null;
    useEffect(() => {
      // It may have been loaded since it was drawn.
      if (!isLoaded) void get().then(() => drawAgain(1));
    }, []);
    return Loaded ? <Loaded {...props} /> : null;
  };
}

/** Loads all such components, so that they work without network later. */
export function loadLater(): void {
  for (const load of loads) load().catch(() => undefined);
}
