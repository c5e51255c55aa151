/** Compiles a wasm module from any source, and reports clearly if the source holds something else. */

import { load } from "#platform";
import { EmendError } from "../errors.js";
import type { WasmSource } from "./types.js";

/** The first bytes of every wasm module: a zero byte and "asm". */
const MAGIC = [0x00, 0x61, 0x73, 0x6d];

/**
 * Compiles the module that `source` holds.
 *
 * @throws {EmendError} with code `load_failed`.
 */
export async function compileWasm(source: WasmSource | PromiseLike<WasmSource>): Promise<WebAssembly.Module> {
  const given = await source;
  if (given instanceof WebAssembly.Module) return given;
  const loaded = typeof given === "string" || given instanceof URL ? await fetchSource(given) : given;
  return loaded instanceof Response ? compileResponse(loaded) : compileBytes(loaded, "the given source");
}

async function fetchSource(url: URL | string): Promise<Response | ArrayBufferView> {
  try {
    return await load(url);
  } catch (cause) {
    throw loadError(`the core could not be loaded from ${url}`, cause);
  }
}

async function compileResponse(response: Response): Promise<WebAssembly.Module> {
  const where = response.url || "the response given";
  if (!response.ok) throw loadError(`the core could not be loaded from ${where}: status ${response.status}`);
  // Streaming compilation requires this content type. Other responses are read completely first.
  if (response.headers.get("content-type")?.startsWith("application/wasm")) {
    return WebAssembly.compileStreaming(response).catch((cause: unknown) => {
      throw loadError(`${where} is not the core that belongs to this package`, cause);
    });
  }
  return compileBytes(await response.arrayBuffer(), where);
}

async function compileBytes(source: ArrayBuffer | ArrayBufferView, where: string): Promise<WebAssembly.Module> {
  if (!ArrayBuffer.isView(source) && !(Object.prototype.toString.call(source) === "[object ArrayBuffer]"))
    throw loadError("the given source is not a URL, a Response, bytes or a module");
  const { buffer, byteOffset, byteLength } = ArrayBuffer.isView(source) ? source : new Uint8Array(source);
  // A copy: `compile` rejects shared memory, and the caller may change the bytes while it runs.
  const bytes = new Uint8Array(buffer, byteOffset, byteLength).slice();
  if (MAGIC.some((byte, index) => bytes[index] !== byte)) {
    const hint = bytes[0] === "<".charCodeAt(0) ? " but an HTML page: the server answers unknown paths with HTML" : "";
    throw loadError(`${where} is not a wasm module${hint}`);
  }
  return WebAssembly.compile(bytes).catch((cause: unknown) => {
    throw loadError(`${where} is not the core that belongs to this package`, cause);
  });
}

function loadError(message: string, cause?: unknown): EmendError {
  return new EmendError("load_failed", message, cause === undefined ? { retryable: true } : { retryable: true, cause });
}
