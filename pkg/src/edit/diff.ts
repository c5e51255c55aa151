/** Diffs and merges. The module returns positions; the lines are sliced from the caller's own strings. */

import { optionalCount, optionalFlag, optionsOf, requireText } from "../validate.js";
import { editModule, glue, putText } from "../wasm/edit.js";
import type { DiffHunk, DiffLine, DiffOptions, LineRange, Region, Span, UnifiedOptions, WordDiff } from "./types.js";

const CONTEXT = 3;

export function diff(before: string, after: string, options: DiffOptions = {}): DiffHunk[] {
  const [from, to] = [requireText("`before`", before), requireText("`after`", after)];
  const given = optionsOf(options, ["context", "words"]);
  const context = optionalCount("`context`", given.context) ?? CONTEXT;
  const words = optionalFlag("`words`", given.words);
  const numbers = editModule
    .live()
    .call(() => glue.diffHunks(putText(0, from), from.length, putText(1, to), to.length, context, words));
  const hunks: DiffHunk[] = [];
  for (let at = 0; at < numbers.length; ) {
    const [oldStart, oldLines, newStart, newLines] = [
      numbers[at]!,
      numbers[at + 1]!,
      numbers[at + 2]!,
      numbers[at + 3]!,
    ];
    const lines: DiffLine[] = new Array(numbers[at + 4]!);
    at += 5;
    let oldNumber = oldStart + (oldLines === 0 ? 1 : 0);
    let newNumber = newStart + (newLines === 0 ? 1 : 0);
    for (let index = 0; index < lines.length; index += 1) {
      const kind = numbers[at]!;
      const text = (kind === 2 ? to : from).slice(numbers[at + 1]!, numbers[at + 2]!);
      at += 3;
      const line: DiffLine =
        kind === 0
          ? { kind: "context", text, oldNumber: oldNumber++, newNumber: newNumber++ }
          : kind === 1
            ? { kind: "removed", text, oldNumber: oldNumber++ }
            : { kind: "added", text, newNumber: newNumber++ };
      if (words) {
        const count = numbers[at]!;
        if (count > 0) line.spans = spansAt(numbers, at + 1, count);
        at += 1 + 2 * count;
      }
      lines[index] = line;
    }
    hunks.push({ oldStart, oldLines, newStart, newLines, lines });
  }
  return hunks;
}

function spansAt(numbers: Uint32Array, from: number, count: number): Span[] {
  return Array.from({ length: count }, (_, index) => [numbers[from + 2 * index]!, numbers[from + 2 * index + 1]!]);
}

export function diffWords(before: string, after: string): WordDiff {
  const [from, to] = [requireText("`before`", before), requireText("`after`", after)];
  const numbers = editModule.live().call(() => glue.wordSpans(from, to));
  const oldCount = numbers[0]!;
  const newCount = (numbers.length - 1) / 2 - oldCount;
  return { old: spansAt(numbers, 1, oldCount), new: spansAt(numbers, 1 + 2 * oldCount, newCount) };
}

export function unifiedDiff(before: string, after: string, options: UnifiedOptions = {}): string {
  const [from, to] = [requireText("`before`", before), requireText("`after`", after)];
  const given = optionsOf(options, ["context", "oldName", "newName"]);
  const context = optionalCount("`context`", given.context) ?? CONTEXT;
  const oldName = given.oldName === null ? "/dev/null" : requireText("`oldName`", given.oldName ?? "a/file");
  const newName = given.newName === null ? "/dev/null" : requireText("`newName`", given.newName ?? "b/file");
  return editModule.live().call(() => glue.unifiedDiff(putText(0, from), putText(1, to), context, oldName, newName));
}

export function merge3(base: string, ours: string, theirs: string): { text: string; conflicts: number } {
  const texts = requireThree(base, ours, theirs);
  const [text, conflicts] = editModule.live().call(() => glue.merge3(...putAll(texts))) as [string, number];
  return { text, conflicts };
}

const REGIONS = ["unchanged", "ours", "theirs", "same", "conflict"] as const;

export function compare3(base: string, ours: string, theirs: string): Region[] {
  const texts = requireThree(base, ours, theirs);
  const numbers = editModule.live().call(() => glue.compare3(...putAll(texts)));
  const range = (at: number): LineRange => ({ start: numbers[at]! + 1, lines: numbers[at + 1]! - numbers[at]! });
  return Array.from({ length: numbers.length / 7 }, (_, index) => {
    const at = 7 * index;
    return { kind: REGIONS[numbers[at]!]!, base: range(at + 1), ours: range(at + 3), theirs: range(at + 5) };
  });
}

function requireThree(base: string, ours: string, theirs: string): [string, string, string] {
  return [requireText("`base`", base), requireText("`ours`", ours), requireText("`theirs`", theirs)];
}

function putAll(texts: [string, string, string]): [number, number, number] {
  return [putText(0, texts[0]), putText(1, texts[1]), putText(2, texts[2])];
}
