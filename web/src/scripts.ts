/**
 * Models written in JavaScript: those that the site of the page offers, and modules at an address of this site.
 *
 * The policy of the page runs no other scripts. A script of the site offers a model by `(globalThis.emendModels ??= []).push(model)`,
 * before or after the page has started.
 */
import type { ScriptPart } from "./core/script-request.js";

/** A provider of the package `emend`: `stream` yields the events of an answer. */
export interface ScriptModel {
  readonly name: string;
  stream(request: unknown, options: { signal: AbortSignal }): AsyncIterable<unknown> | Promise<AsyncIterable<unknown>>;
}

/** Returns the models that scripts of the site offer. */
export function offeredModels(): readonly ScriptModel[] {
  const { emendModels } = globalThis as { emendModels?: unknown };
  return Array.isArray(emendModels) ? emendModels.filter(isModel) : [];
}

/** Returns the model of a module, its default export. Throws if there is none. */
export async function modelAt(address: string): Promise<ScriptModel> {
  const url = new URL(address, location.href);
  if (url.origin !== location.origin) throw new Error(`${address} is not on the site of this page`);
  const { default: model } = (await import(/* @vite-ignore */ url.href)) as { default?: unknown };
  if (!isModel(model)) throw new Error(`the default export of ${address} is not a model with \`name\` and \`stream\``);
  return model;
}

function isModel(value: unknown): value is ScriptModel {
  const { name, stream } = Object(value) as Partial<ScriptModel>;
  return typeof name === "string" && name !== "" && typeof stream === "function";
}

/** Answers a request of the worker. */
export async function answerScript(body: string, port: MessagePort): Promise<void> {
  const abort = new AbortController();
  port.onmessage = () => abort.abort();
  const send = (part: ScriptPart): void => port.postMessage(part);
  try {
    const { name, module, request } = JSON.parse(body) as { name: string; module: string; request: unknown };
    const model = module === "" ? offeredModels().find((each) => each.name === name) : await modelAt(module);
    if (!model) throw new Error(`no script of this page offers the model ${name} now`);
    for await (const event of await model.stream(request, { signal: abort.signal })) {
      if (abort.signal.aborted) break;
      send({ line: JSON.stringify(event) });
    }
    send({ end: true });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    send({ failure: { message, retryable: Object(error).retryable === true } });
  }
}
