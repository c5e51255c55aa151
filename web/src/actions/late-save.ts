/** Saves with code that is loaded as soon as there is something to save, so that saving needs no connection. */
import { effect } from "@preact/signals";
import { showError, totals, unsaved } from "../store.js";

const load = () => import("./save.js");

effect(() => {
  if (totals.value.changes > 0 || unsaved.value.size > 0) load().catch(() => undefined);
});

/** Saves one file, or all of them. */
export async function save(only?: string): Promise<void> {
  const code = await load().catch(showError);
  await code?.save(only);
}
