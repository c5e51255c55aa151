/** Components that are loaded after the first paint, so that the page is shown sooner. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

const loads: (() => Promise<unknown>)[] = [];
const rareLoads: (() => Promise<unknown>)[] = [];

/** Returns a component that shows nothing until `load` is done. One that is used less often is loaded after the others. */
export function later<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  isRare = false,
): ComponentType<Props> {
  let Loaded: ComponentType<Props> | null = null;
  const get = async (): Promise<void> => {
    Loaded ??= await load();
  };
  (isRare ? rareLoads : loads).push(get);
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

/** Loads the components that are used often. */
export function loadLater(): void {
  for (const load of loads) load().catch(() => undefined);
}

/** Loads the others, so that they work without network later. */
export function loadRare(): void {
  for (const load of rareLoads) load().catch(() => undefined);
}
