/** Parses, plans and applies patches. */

import { camelKeys } from "../case.js";
import type { PatchHandle, PatchReader } from "../edit-core.js";
import { EmendError } from "../errors.js";
import { filesProblem, invalid, optionalFlag, optionsJson, requireRecord, requireText, shown } from "../validate.js";
import { editModule, glue, putText } from "../wasm/edit.js";
import type { WasmInstance } from "../wasm/instance.js";
import type {
  AppliedHunk,
  FileChange,
  FileSource,
  ParsedEdit,
  ParsedPatch,
  PatchInput,
  PatchProblem,
  Planned,
} from "./types.js";

export function parse(patch: PatchInput): ParsedPatch {
  return withPatch(patch, (wasm, handle) => describe(wasm, handle));
}

export function plan(patch: PatchInput, files: FileSource): Planned {
  const read = reader(files);
  return withPatch(patch, (wasm, handle) => planned(wasm, handle, read));
}

export function apply(patch: PatchInput, files: Readonly<Record<string, string>>): Record<string, string> {
  const out = { ...recordOf(files) } as Record<string, string>;
  for (const change of plan(patch, files).changes) {
    if (change.operation === "rename") delete out[change.from];
    if (change.after === null) delete out[change.path];
    // A path may have any name, `__proto__` too.
    else
      Object.defineProperty(out, change.path, {
        value: change.after,
        configurable: true,
        enumerable: true,
        writable: true,
      });
  }
  return out;
}

/** Returns the reason and the place if `error` reports a patch that could not be applied, else `undefined`. */
export function patchProblem(error: unknown): PatchProblem | undefined {
  if (!(error instanceof Error)) return undefined;
  const { data } = error as Partial<EmendError>;
  return typeof data === "object" && data !== null && "kind" in data ? (data as PatchProblem) : undefined;
}

/**
 * Calls `work` with a patch in the module, and frees the patch.
 *
 * @internal
 */
export function withPatch<T>(patch: PatchInput, work: (wasm: WasmInstance, handle: PatchHandle) => T): T {
  const open = opener(patch);
  const wasm = editModule.live();
  const handle = wasm.call(open);
  try {
    return work(wasm, handle);
  } finally {
    if (!wasm.isDead) handle.free();
  }
}

/** A patch in a text format: the number of its format in Rust, and the path that it is for, if given. */
export interface TextPatch {
  format: number;
  text: string;
  path: string | undefined;
}

const FORMAT_NUMBERS = { v4a: 0, unified: 1, located: 2 } as const;

/** Returns a patch in a text format, or `undefined` for the other formats. */
export function asTextPatch(patch: PatchInput): TextPatch | undefined {
  const input = requireRecord("the patch", patch);
  if (patch.format !== "v4a" && patch.format !== "unified" && patch.format !== "located") return undefined;
  const text = requireText("`text`", input.text);
  const path = patch.format === "v4a" || patch.path === undefined ? undefined : requireText("`path`", patch.path);
  return { format: FORMAT_NUMBERS[patch.format], text, path };
}

/** Checks the types of a patch's properties, and returns the function that opens it in the module. */
function opener(patch: PatchInput): () => PatchHandle {
  const input = requireRecord("the patch", patch);
  const text = asTextPatch(patch);
  if (text !== undefined) {
    const overwrite = optionalFlag("`overwrite`", input.overwrite);
    return () =>
      patch.format === "v4a"
        ? glue.PatchHandle.v4a(putText(0, text.text), overwrite)
        : glue.PatchHandle.unified(putText(0, text.text), patch.format === "located", text.path);
  }
  switch (patch.format) {
    case "replace": {
      const [path, before] = [requireText("`path`", input.path), requireText("`oldText`", input.oldText)];
      const after = requireText("`newText`", input.newText);
      const all = optionalFlag("`replaceAll`", input.replaceAll);
      return () => glue.PatchHandle.replace(path, before, after, all);
    }
    case "lines": {
      const path = requireText("`path`", input.path);
      const edits = optionsJson("`edits`", { edits: patch.edits, expectedHash: patch.expectedHash });
      return () => glue.PatchHandle.lines(path, edits);
    }
    default:
      throw invalid(`unknown format ${shown(input.format)}; use v4a, unified, located, replace or lines`);
  }
}

function describe(wasm: WasmInstance, handle: PatchHandle): ParsedPatch {
  return camelKeys(JSON.parse(wasm.call(() => handle.describe())));
}

type Read = (path: string) => string | null;

function reader(files: FileSource): Read {
  if (typeof files === "function") return (path) => checked(path, files(path));
  if (files instanceof Map) return (path) => checked(path, files.get(path));
  const record = recordOf(files);
  return (path) => checked(path, Object.hasOwn(record, path) ? record[path] : null);
}

function recordOf(files: unknown): Record<string, unknown> {
  const problem = filesProblem("`files`", files);
  if (problem !== undefined) throw invalid(problem);
  return files as Record<string, unknown>;
}

function checked(path: string, text: unknown): string | null {
  return text === null || text === undefined ? null : requireText(`files[${JSON.stringify(path)}]`, text);
}

/** Number of values per hunk in the results from Rust. */
export const HUNK_NUMBERS = 6;

const MATCHED = ["exact", "trailing_blanks", "indentation", "look_alikes"] as const;

/** Decodes the placed hunks in `numbers` from index `begin` to before `end`. */
export function appliedHunks(numbers: Uint32Array, begin: number, end: number): AppliedHunk[] {
  const hunks: AppliedHunk[] = [];
  for (let at = begin; at < end; at += HUNK_NUMBERS) {
    hunks.push({
      number: numbers[at]!,
      oldStart: numbers[at + 1]!,
      oldLines: numbers[at + 2]!,
      newStart: numbers[at + 3]!,
      newLines: numbers[at + 4]!,
      matched: MATCHED[numbers[at + 5]!]!,
    });
  }
  return hunks;
}

/** The fields of a planned file that Rust returns. Its texts and hunks are added in JavaScript. */
interface PlannedEntry {
  path: string;
  operation: FileChange["operation"];
  from?: string;
  overwrites: boolean;
  diagnostics: Planned["diagnostics"];
}

function planned(wasm: WasmInstance, handle: PatchHandle, read: Read): Planned {
  const texts = new Map<string, string | null>();
  // The caller's code runs here, outside of any call into the module.
  for (const path of wasm.call(() => handle.paths())) texts.set(path, read(path));
  const [json, numbers, ...after] = wasm.call(() => {
    let index = 0;
    for (const text of texts.values()) {
      if (text !== null) handle.bringText(index, putText(0, text));
      index += 1;
    }
    return handle.plan() as [string, Uint32Array, ...(string | undefined)[]];
  });
  const { files, diagnostics } = camelKeys<{ files: PlannedEntry[]; diagnostics: Planned["diagnostics"] }>(
    JSON.parse(json),
  );
  let at = 0;
  const changes = files.map(({ overwrites, ...file }, index) => {
    const begin = at + 1;
    at = begin + HUNK_NUMBERS * numbers[at]!;
    const hunks = appliedHunks(numbers, begin, at);
    const was = (path: string): string | null => texts.get(path) ?? null;
    const before = file.operation === "create" ? null : was(file.from ?? file.path);
    return {
      ...file,
      hunks,
      before,
      after: after[index] ?? null,
      overwritten: overwrites ? was(file.path) : null,
    } as FileChange;
  });
  return { changes, diagnostics };
}

/** A parser for a v4a patch that arrives in pieces, so that the patch can be shown before it is complete. */
export class PatchStream {
  readonly #wasm: WasmInstance;
  readonly #reader: PatchReader;
  /** Edits that can no longer change. */
  readonly #settled: ParsedEdit[] = [];
  #begun = 0;
  #finished = false;

  /** @internal */
  constructor() {
    this.#wasm = editModule.live();
    this.#reader = this.#wasm.call(() => new glue.PatchReader());
  }

  /**
   * Parses the next piece.
   *
   * @throws {EmendError} as soon as the text cannot become a valid patch, and on every later call.
   */
  push(text: string): void {
    this.#refuseIfFinished();
    const piece = requireText("`text`", text);
    this.#begun = this.#wasm.call(() => this.#reader.push(piece));
  }

  /** The edits parsed so far. The last one may still grow. The cost of a read is proportional to its length. */
  get edits(): ParsedEdit[] {
    this.#refuseIfFinished();
    const from = this.#settled.length;
    const rest = camelKeys<ParsedEdit[]>(JSON.parse(this.#wasm.call(() => this.#reader.editsFrom(from))));
    this.#settled.push(...rest.slice(0, -1));
    return [...this.#settled, ...rest.slice(-1)];
  }

  /** Number of edits that have begun. */
  get length(): number {
    return this.#begun;
  }

  /**
   * Ends the patch.
   *
   * @throws {EmendError} with code `invalid_argument` if the patch is incomplete. Then no part of it may be applied.
   */
  finish(): ParsedPatch {
    return this.#end((handle) => describe(this.#wasm, handle));
  }

  /**
   * Ends the patch and plans it as {@link Edit.plan} does.
   *
   * @throws {EmendError} as {@link finish} and {@link Edit.plan} do.
   */
  plan(files: FileSource): Planned {
    const read = reader(files);
    return this.#end((handle) => planned(this.#wasm, handle, read));
  }

  #end<T>(work: (handle: PatchHandle) => T): T {
    this.#refuseIfFinished();
    this.#finished = true;
    const reader = this.#reader;
    let handle: PatchHandle | undefined;
    try {
      handle = this.#wasm.call(() => reader.finish());
      return work(handle);
    } finally {
      if (!this.#wasm.isDead) {
        handle?.free();
        reader.free();
      }
    }
  }

  #refuseIfFinished(): void {
    if (this.#finished) throw new EmendError("closed", "the patch was finished; call `parseStream()` for the next one");
  }
}
