/**
 * Keeps a project and all operations on it in IndexedDB, so that a reload of the page can repeat them.
 *
 * The documents of a project are those of the package's store: `ID` describes it, `ID.files` has its files, `ID.ops` the
 * operations, one JSON text per line. API keys are never part of them.
 */
import { indexedDbStore, type SessionStore } from "emend";
import { openProjects } from "../locks.js";
import type { Options } from "../settings.js";
import type { Contents, GoingBack, ModelChoice, Picture, ProjectInfo, PutBack, Step, WrittenById } from "./protocol.js";
import type { ResponsePart } from "./recorder.js";

/**
 * One operation. `at` is the number of events of the current run, text deltas left out, that were read before it, and `chars`
 * the number of characters of the deltas since the last of them.
 */
export type Op = { readonly at: number; readonly chars?: number } & (
  | {
      readonly op: "write";
      readonly path: string;
      readonly text: string;
      readonly base: string | null;
      readonly step: Step;
      readonly written?: WrittenById;
      /** The name of the edit, by which it is found if the page closes before it is recorded. */
      readonly key?: string;
      /** Whether the text belongs to a state that does not exist any more, so that only its changes count. */
      readonly moved?: true;
    }
  | { readonly op: "remove"; readonly path: string }
  | { readonly op: "rename"; readonly path: string; readonly to: string }
  | { readonly op: "accept"; readonly ids: readonly string[]; readonly over: boolean; readonly path: string }
  | {
      readonly op: "reject";
      readonly ids: readonly string[];
      readonly dependents: "refuse" | "only" | "with";
      readonly path: string;
    }
  | { readonly op: "split"; readonly id: string; readonly line: number; readonly path: string }
  | { readonly op: "acceptAll" | "rejectAll" | "canvas"; readonly path: string | null }
  | { readonly op: "undo" | "redo"; readonly step?: Step }
  | { readonly op: "takeBack" | "seen" }
  /** `limit` is the limit of time that ended the run, in milliseconds. */
  | { readonly op: "stop"; readonly limit?: number }
  | ({ readonly op: "goBack"; readonly run: number } & GoingBack)
  /** `path` is that of the step. */
  | { readonly op: "putBack"; readonly run: number; readonly files: readonly PutBack[]; readonly path: string }
  | { readonly op: "branch"; readonly tasks: number }
  | { readonly op: "answer"; readonly call: string; readonly decision: Decision; readonly reason: string }
  | { readonly op: "options"; readonly options: Options }
  /** `time` is that of the save, and of a run that of its start. Older records lack it. */
  | { readonly op: "saved"; readonly path: string; readonly text: string | null; readonly time?: number }
  | { readonly op: "converse"; readonly index: number }
  | { readonly op: "title"; readonly index: number; readonly title: string }
  | { readonly op: "model"; readonly model: ModelChoice }
  /** `pictures` has the ids of those that go with the message. */
  | { readonly op: "run"; readonly text: string; readonly time?: number; readonly pictures?: readonly string[] }
  /** `data` has the bytes in base64. */
  | { readonly op: "picture"; readonly picture: Picture; readonly data: string }
  /** `asked` is the number of requests of the run so far: the model gets the message with the next one. */
  | { readonly op: "steer"; readonly text: string; readonly asked?: number; readonly pictures?: readonly string[] }
  | { readonly op: "end"; readonly failed: boolean }
  | {
      /** A complete response. Records of version 1 have it in place of parts. */
      readonly op: "response";
      readonly status: number;
      readonly type: string;
      readonly body: string;
      readonly whole: boolean;
    }
  | ({ readonly op: "part" } & ResponsePart)
  | { readonly op: "state"; readonly sum: number }
);

/** The user's decision on a call that waits for it. */
export type Decision = "allow" | "always" | "deny";

/** Number of projects that are kept. */
const PROJECTS_MAX = 6;

/** Characters of files that are written at a time. */
const PIECE_CHARS = 4_000_000;

const DATABASE = "emend-page";

/** Writes the operations on one project. */
export class Journal {
  readonly #store: SessionStore;
  readonly #id: string;
  #waiting = "";
  #writing: Promise<void> | null = null;
  #failed = false;

  constructor(id: string, store = indexedDbStore(DATABASE)) {
    this.#id = id;
    this.#store = store;
  }

  /** Whether everything could be written so far. */
  get works(): boolean {
    return !this.#failed;
  }

  /** Keeps a new project and its files, and removes the oldest projects. */
  async begin(info: ProjectInfo, files: Contents): Promise<void> {
    try {
      let piece = "";
      for (const [path, content] of Object.entries(files)) {
        const entry = typeof content === "string" ? { path, text: content } : { path, bytes: toBase64(content) };
        piece += `${JSON.stringify(entry)}\n`;
        if (piece.length < PIECE_CHARS) continue;
        await this.#store.append(`${this.#id}.files`, piece, {});
        piece = "";
      }
      if (piece !== "") await this.#store.append(`${this.#id}.files`, piece, {});
      // Last, so that a project without all of its files is not listed.
      await this.#store.append(this.#id, `${JSON.stringify(info)}\n`, {});
      await removeOld(this.#store);
    } catch {
      this.#failed = true;
    }
  }

  /** Notes that the project is opened again, so that it is not among the oldest. */
  async reopen(info: ProjectInfo): Promise<void> {
    try {
      await this.#store.append(this.#id, `${JSON.stringify(info)}\n`, {});
    } catch {
      // It keeps its place among the others.
    }
  }

  /** Resolves when everything so far is written. */
  async written(): Promise<void> {
    await this.#writing;
  }

  /** Returns all operations so far. */
  async ops(): Promise<readonly Op[]> {
    await this.written();
    return (await loadKept(this.#id, this.#store))?.ops ?? [];
  }

  /** Appends an operation. Operations of one moment are written together, in order. */
  append(op: Op): void {
    if (this.#failed) return;
    this.#waiting += `${JSON.stringify(op)}\n`;
    this.#writing ??= this.#write();
  }

  async #write(): Promise<void> {
    try {
      while (this.#waiting !== "") {
        const lines = this.#waiting;
        this.#waiting = "";
        await this.#store.append(`${this.#id}.ops`, lines, {});
      }
    } catch {
      this.#failed = true;
    }
    this.#writing = null;
  }
}

/** A project as it was kept. */
export interface Kept {
  readonly info: ProjectInfo;
  readonly files: Contents;
  readonly ops: readonly Op[];
}

/** Loads a project. Returns null if there is none, or the browser has no database. */
export async function loadKept(id: string, store = indexedDbStore(DATABASE)): Promise<Kept | null> {
  try {
    const info = infoOf(await store.load(id));
    if (!info) return null;
    const files: Contents = Object.create(null);
    for (const entry of parsedLines(await store.load(`${id}.files`))) {
      const { path, text, bytes } = entry as { path: string; text?: string; bytes?: string };
      files[path] = text ?? fromBase64(bytes ?? "");
    }
    const ops = parsedLines(await store.load(`${id}.ops`)) as Op[];
    return { info, files, ops };
  } catch {
    return null;
  }
}

/** The first line of a recording. Its version changes with the meaning of operations. */
const RECORDING = { format: "emend-recording", version: 2 };

/**
 * Returns a kept project as one text: the project, its files and all operations, with the responses of models. It has no
 * keys. `loadRecording` opens it.
 */
export async function recordingOf(id: string, store = indexedDbStore(DATABASE)): Promise<string> {
  const documents = await Promise.all([id, `${id}.files`, `${id}.ops`].map((name) => store.load(name)));
  const [info = "", files = "", ops = ""] = documents.map((text) => text ?? "");
  const counts = [info, files, ops].map((text) => text.split("\n").filter((line) => line !== "").length);
  return `${JSON.stringify({ ...RECORDING, lines: counts })}\n${info}${files}${ops}`;
}

/** Keeps a recording as a new project with this id. Throws if the text is not a recording. */
export async function loadRecording(text: string, id: string, store = indexedDbStore(DATABASE)): Promise<void> {
  const [head = "", ...lines] = text.split("\n").filter((line) => line !== "");
  const { format, version, lines: counts } = objectOf(head) as { format?: string; version?: number; lines?: number[] };
  if (format !== RECORDING.format) throw new Error("the file is not a recording of this page");
  if (version !== 1 && version !== RECORDING.version)
    throw new Error("another version of this page made the recording");
  const [nInfo = 0, nFiles = 0] = counts ?? [];
  const info = { ...objectOf(lines[Math.max(nInfo, 1) - 1] ?? ""), id, opened: Date.now() };
  const rest = lines.slice(nInfo);
  const join = (part: readonly string[]): string => part.map((line) => `${line}\n`).join("");
  await store.append(`${id}.files`, join(rest.slice(0, nFiles)), {});
  await store.append(`${id}.ops`, join(rest.slice(nFiles)), {});
  await store.append(id, `${JSON.stringify(info)}\n`, {});
  await removeOld(store);
}

function objectOf(line: string): Record<string, unknown> {
  try {
    const value = JSON.parse(line) as unknown;
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Removes a kept project. */
export async function removeKept(id: string, store = indexedDbStore(DATABASE)): Promise<void> {
  for (const name of [id, `${id}.files`, `${id}.ops`]) await store.remove(name);
}

/** Lists the kept projects, last opened first. */
export async function listKept(store = indexedDbStore(DATABASE)): Promise<readonly ProjectInfo[]> {
  try {
    const ids = [...(await store.names())].filter((name) => !name.includes("."));
    const texts = await Promise.all(ids.map((id) => store.load(id)));
    const infos = texts.flatMap((text) => infoOf(text) ?? []);
    return infos.sort((a, b) => b.opened - a.opened);
  } catch {
    return [];
  }
}

/** Removes the oldest projects, except those that a tab has open: their tabs still write them. */
async function removeOld(store: SessionStore): Promise<void> {
  const old = (await listKept(store)).slice(PROJECTS_MAX);
  if (old.length === 0) return;
  const open = await openProjects();
  for (const { id } of old) if (!open.has(id)) await removeKept(id, store);
}

/** Returns the description of a project: the last line, because each visit adds one. */
function infoOf(text: string | null | undefined): ProjectInfo | null {
  return (parsedLines(text).at(-1) as ProjectInfo | undefined) ?? null;
}

/** Parses lines of JSON. The last one may be incomplete after a crash, and is left out. */
function parsedLines(text: string | null | undefined): unknown[] {
  return (text ?? "").split("\n").flatMap((line) => {
    try {
      return line === "" ? [] : [JSON.parse(line) as unknown];
    } catch {
      return [];
    }
  });
}

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8_192) text += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return btoa(text);
}

export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}
