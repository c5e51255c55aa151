/** The earlier texts of the files in a tab, and putting them back. Loaded with the first question about them. */
import type { Agent } from "emend";
import { pendingHunks } from "../hunk-text.js";
import type { OwnEdit, PastFile, PutBack, RunInfo, Version } from "./protocol.js";
import type { TextHistory } from "./text-history.js";

/** Returns the text at the start of a task, counted from 0. */
export function before(texts: TextHistory, path: string, run: number): string | null {
  return textIn(texts, path, 2 * run);
}

/** Returns the text at the end of a task. */
export function after(texts: TextHistory, path: string, run: number): string | null {
  return textIn(texts, path, 2 * run + 1);
}

function textIn(texts: TextHistory, path: string, phase: number): string | null {
  const last = texts.files.get(path)?.findLast((entry) => entry.phase <= phase);
  return last ? last.text : texts.opened(path);
}

/** Returns the user's edits since the start of a task. */
export function ownEdits(texts: TextHistory, path: string, run: number): readonly OwnEdit[] {
  const list = texts.files.get(path) ?? [];
  return list.flatMap((entry, index): OwnEdit[] => {
    if (entry.by !== "user" || entry.phase <= 2 * run) return [];
    return [[index > 0 ? list[index - 1]!.text : texts.opened(path), entry.text]];
  });
}

/** Compares the files that a run, later ones, or the user since then changed with their texts before it. */
export async function pastFiles(
  texts: TextHistory,
  run: number,
  runs: readonly RunInfo[],
  now: (path: string) => Promise<string | null>,
  saved: (path: string) => string | null,
): Promise<readonly PastFile[]> {
  const later = runs.filter((each) => each.number >= run && !each.undone);
  const changed = new Set(later.flatMap((each) => each.files));
  const files: PastFile[] = [];
  for (const path of [...new Set([...changed, ...texts.files.keys()])].sort()) {
    const [then, current] = [before(texts, path, run), await now(path)];
    const byTask = changed.has(path);
    if (!byTask && then === current) continue;
    files.push({
      path,
      before: then,
      after: after(texts, path, run),
      now: current,
      saved: saved(path),
      own: ownEdits(texts, path, run),
      byTask,
    });
  }
  return files;
}

/** Lists the texts of a file before each task that changed it, and those that were saved, oldest first. */
export function versionsOf(texts: TextHistory, path: string, runs: readonly RunInfo[]): readonly Version[] {
  const tasks = runs
    .filter((run) => run.files.includes(path))
    .map(({ number: run, began: time, text: title }): Version => {
      return { kind: "task", run, time, title, text: before(texts, path, run) };
    });
  const saves = (texts.files.get(path) ?? []).flatMap(({ text, saved }): Version[] =>
    saved === null ? [] : [{ kind: "saved", time: saved, title: "", text }],
  );
  return [...tasks, ...saves].sort((a, b) => a.time - b.time);
}

/**
 * Gives files texts, and rejects the changes that are not among `earlier` first, so that those of earlier tasks stay open
 * where they can. Returns the number of steps of the engine.
 */
export async function putBack(agent: Agent, files: readonly PutBack[], earlier: readonly string[]): Promise<number> {
  const textOf = async (path: string): Promise<string | null> => (await agent.files.read(path))?.text ?? null;
  let count = 0;
  for (const { path, text } of files) {
    if ((await textOf(path)) === text) continue;
    const review = agent.review().files.find((file) => file.path === path);
    const ids = pendingHunks(review).flatMap((hunk) => (earlier.includes(hunk.id) ? [] : [hunk.id]));
    if (ids.length > 0) {
      await agent.reject(ids, { dependents: "with" });
      count += 1;
    }
    if ((await textOf(path)) === text) continue;
    if (text === null) await agent.files.remove(path);
    else await agent.files.write(path, text);
    count += 1;
  }
  return count;
}

/** Gives files of a project that went back other texts. They do not count as steps: undoing the return takes them back. */
export async function giveTexts(agent: Agent, files: readonly PutBack[]): Promise<void> {
  for (const { path, text } of files) {
    const now = (await agent.files.read(path).catch(() => null))?.text ?? null;
    if (now === text) continue;
    if (text === null) await agent.files.remove(path);
    else await agent.files.write(path, text);
  }
}
