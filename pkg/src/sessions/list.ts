/** The list of the sessions of a store, and the removal of one. It is loaded with its first use. */

import { EmendError } from "../errors.js";
import { messageOf } from "../exceptions.js";
import { callStore, checkStore } from "./stores.js";
import type { SessionStore, SessionSummary, Turn } from "./types.js";

/** Version of the format that this package reads. The core rejects other versions too. */
const VERSION = 1;

/** Lists the sessions of a store, most recently used first. */
export async function listSessions(store: SessionStore): Promise<SessionSummary[]> {
  checkStore(store);
  const names = (await ask(store, "names", "")) ?? "";
  const summaries: SessionSummary[] = [];
  for (const id of names.split("\n").filter((name) => name !== "" && !name.includes("."))) {
    const text = await ask(store, "load", id);
    // `undefined`: the session was removed after the names were listed.
    if (text !== undefined) summaries.push(summaryOf(id, text));
  }
  return summaries.sort((a, b) => b.lastMs - a.lastMs || (a.id < b.id ? -1 : 1));
}

/** Removes a session and its other documents. Returns whether the session existed. */
export async function removeSession(store: SessionStore, id: string): Promise<boolean> {
  checkStore(store);
  const names = ((await ask(store, "names", "")) ?? "").split("\n");
  for (const name of names) if (name.startsWith(`${id}.`)) await ask(store, "remove", name);
  return names.includes(id) && (await ask(store, "remove", id)) !== undefined;
}

/** Calls a store for a caller in JavaScript, which gets an {@link EmendError}. */
async function ask(store: SessionStore, operation: string, name: string): Promise<string | undefined> {
  try {
    return await callStore(store, operation, name);
  } catch (cause) {
    throw new EmendError("io_error", `${name || "the store"}: ${messageOf(cause)}`, { cause });
  }
}

/** Summarizes a document as the core would read it. Damaged lines are skipped and counted. */
function summaryOf(id: string, text: string): SessionSummary {
  const unreadable = (problem: string): SessionSummary => ({
    id,
    beganMs: 0,
    lastMs: 0,
    provider: "",
    model: "",
    title: "",
    nTurns: 0,
    problem,
  });
  const lines = text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map(parsed);
  const nBefore = Math.max(
    0,
    lines.findIndex((line) => line !== undefined),
  );
  const [header, ...records] = lines.slice(nBefore);
  if (header?.type !== "session")
    return unreadable("this document is not a saved session: it does not begin with a header");
  if (header.version !== VERSION)
    return unreadable(`this session was saved in version ${header.version} of the format`);
  let turns: SavedTurn[] = [];
  let nDamaged = nBefore;
  for (const record of records) {
    if (record?.type === "turn" && Number.isInteger(record.index) && isTurn(record))
      turns.splice(record.index as number, Infinity, record);
    else if (record?.type === "history" && Array.isArray(record.turns) && record.turns.every(isTurn))
      turns = [...record.turns];
    else nDamaged += 1;
  }
  const { at_ms: beganMs, provider, model, forked_from: origin } = header as unknown as Header;
  const first = turns
    .find((turn) => turn.kind === "user")
    ?.message.content.map((part) => (part.kind === "text" ? part.text : ""))
    .join("");
  return {
    id,
    beganMs,
    lastMs: Math.max(beganMs, turns.at(-1)?.at_ms ?? 0),
    provider,
    model,
    title: first?.trimStart().split("\n")[0] ?? "",
    nTurns: turns.length,
    ...(origin && { forkedFrom: { id: origin.id, nTurns: origin.n_turns } }),
    ...(nDamaged > 0 && { nDamaged }),
  };
}

function isTurn(value: unknown): value is SavedTurn {
  return Array.isArray((Object(value) as Partial<SavedTurn>).message?.content);
}

/** The part of a saved history entry that a summary needs. */
interface SavedTurn {
  kind: Turn["kind"];
  at_ms: number;
  message: { content: { kind: string; text?: string }[] };
}

interface Header {
  at_ms: number;
  provider: string;
  model: string;
  forked_from?: { id: string; n_turns: number };
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    return Object(JSON.parse(line)) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
