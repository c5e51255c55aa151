/** The locks of projects: only one tab works on a kept project, and the others see that it does. */

const PREFIX = "emend-";

/** Returns the name of a project's lock. */
export function lockOf(id: string): string {
  return PREFIX + id;
}

/** Returns the ids of the projects that a tab of this browser has open, this one's too. */
export async function openProjects(): Promise<ReadonlySet<string>> {
  const state = await globalThis.navigator?.locks?.query().catch(() => undefined);
  return new Set(
    (state?.held ?? []).flatMap(({ name }) => (name?.startsWith(PREFIX) ? name.slice(PREFIX.length) : [])),
  );
}
