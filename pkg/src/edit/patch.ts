/** Patches: read, shown, and carried out on texts in memory. */

import { camelKeys } from "../case.js";
import type { PatchHandle, PatchReader } from "../edit-core.js";
import { EmendError } from "../errors.js";
import { invalid, optionsJson, requireRecord, requireText } from "../validate.js";
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
  const out: Record<string, string> = { ...requireRecord("`files`", files) } as Record<string, string>;
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

/** Returns why a patch was refused, if `error` says that one was. */
export function patchProblem(error: unknown): PatchProblem | undefined {
  if (!(error instanceof Error)) return undefined;
  const { data } = error as Partial<EmendError>;
  return typeof data === "object" && data !== null && "kind" in data ? (data as PatchProblem) : undefined;
}

/**
 * Does something with a patch, and frees it.
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

/** A patch that is a text: how Rust numbers its format, and the path it is for, if it says. */
export interface Written {
  format: number;
  text: string;
  path: string | undefined;
}

const WRITTEN = { v4a: 0, unified: 1, located: 2 } as const;

/** Returns a patch that is a text; `undefined` for one of the other formats. */
export function written(patch: PatchInput): Written | undefined {
  const input = requireRecord("the patch", patch);
  if (patch.format !== "v4a" && patch.format !== "unified" && patch.format !== "located") return undefined;
  const text = requireText("`text`", input.text);
  const path = patch.format === "v4a" || patch.path === undefined ? undefined : requireText("`path`", patch.path);
  return { format: WRITTEN[patch.format], text, path };
}

/** Checks a patch's form; what it says is checked when it is opened. */
function opener(patch: PatchInput): () => PatchHandle {
  const input = requireRecord("the patch", patch);
  const text = written(patch);
  if (text !== undefined) {
    return () =>
      patch.format === "v4a"
        ? glue.PatchHandle.v4a(putText(0, text.text), patch.overwrite === true)
        : glue.PatchHandle.unified(putText(0, text.text), patch.format === "located", text.path);
  }
  switch (patch.format) {
    case "replace": {
      const [path, before] = [requireText("`path`", input.path), requireText("`oldText`", input.oldText)];
      const after = requireText("`newText`", input.newText);
      return () => glue.PatchHandle.replace(path, before, after, patch.replaceAll === true);
    }
    case "lines": {
      const path = requireText("`path`", input.path);
      const edits = optionsJson("`edits`", { edits: patch.edits, expectedHash: patch.expectedHash });
      return () => glue.PatchHandle.lines(path, edits);
    }
    default:
      throw invalid(
        `there is no format ${JSON.stringify(input.format)}; there are v4a, unified, located, replace and lines`,
      );
  }
}

function describe(wasm: WasmInstance, handle: PatchHandle): ParsedPatch {
  return camelKeys(JSON.parse(wasm.call(() => handle.describe())));
}

type Read = (path: string) => string | null;

function reader(files: FileSource): Read {
  if (typeof files === "function") return (path) => checked(path, files(path));
  if (files instanceof Map) return (path) => checked(path, files.get(path));
  const record = requireRecord("`files`", files);
  return (path) => checked(path, Object.hasOwn(record, path) ? record[path] : null);
}

function checked(path: string, text: unknown): string | null {
  return text === null || text === undefined ? null : requireText(`files[${JSON.stringify(path)}]`, text);
}

/** How many numbers Rust gives for a hunk. */
export const HUNK_NUMBERS = 6;

const MATCHED = ["exact", "trailing_blanks", "indentation", "look_alikes"] as const;

/** Reads where hunks were put, from the numbers from `begin` until before `end`. */
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

/** The fields that Rust says of a planned file. Its texts and hunks are put in here. */
interface PlannedEntry {
  path: string;
  operation: FileChange["operation"];
  from?: string;
  overwrites: boolean;
  diagnostics: Planned["diagnostics"];
}

function planned(wasm: WasmInstance, handle: PatchHandle, read: Read): Planned {
  const texts = new Map<string, string | null>();
  // The caller's own code runs here, outside of any call into the module.
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

/** A v4a patch that is still arriving, for showing it before it is complete. */
export class PatchStream {
  readonly #wasm: WasmInstance;
  readonly #reader: PatchReader;
  /** The edits that can no longer change. */
  readonly #settled: ParsedEdit[] = [];
  #begun = 0;
  #finished = false;

  /** @internal */
  constructor() {
    this.#wasm = editModule.live();
    this.#reader = this.#wasm.call(() => new glue.PatchReader());
  }

  /**
   * Reads the next piece.
   *
   * @throws {EmendError} as soon as the text can no longer become a patch, and from then on.
   */
  push(text: string): void {
    this.#refuseIfFinished();
    const piece = requireText("`text`", text);
    this.#begun = this.#wasm.call(() => this.#reader.push(piece));
  }

  /** What was read so far; the last edit may still grow. Getting it costs as much as that one is long. */
  get edits(): ParsedEdit[] {
    this.#refuseIfFinished();
    const from = this.#settled.length;
    const rest = camelKeys<ParsedEdit[]>(JSON.parse(this.#wasm.call(() => this.#reader.editsFrom(from))));
    this.#settled.push(...rest.slice(0, -1));
    return [...this.#settled, ...rest.slice(-1)];
  }

  /** How many edits have begun. */
  get length(): number {
    return this.#begun;
  }

  /**
   * Ends the patch.
   *
   * @throws {EmendError} with code `invalid_argument` if it is not complete; nothing of it may be applied then.
   */
  finish(): ParsedPatch {
    return this.#end((handle) => describe(this.#wasm, handle));
  }

  /**
   * Ends the patch and carries it out, as {@link Edit.plan} does.
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
    if (this.#finished) throw new EmendError("closed", "the patch was finished; make a new stream for the next one");
  }
}
