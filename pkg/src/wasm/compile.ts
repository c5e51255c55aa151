/** Compiles a wasm module from any source, and reports clearly if the source holds something else. */

import { load } from "#platform";
import { EmendError, type ErrorDetails } from "../errors.js";
import { fieldOf } from "../exceptions.js";
import type { WasmSource } from "./types.js";

/** The first bytes of every wasm module: a zero byte and "asm". */
const MAGIC = [0x00, 0x61, 0x73, 0x6d];

/** A module in error messages. */
export interface ModuleName {
  /** Its name, with an article. */
  name: string;
  /** How a caller passes the source of the module. */
  option: string;
  /** Its address in this package. */
  file: string;
}

/**
 * Compiles the module that `source` holds. `source` returns it, or throws if this package does not know its own address.
 *
 * @throws {EmendError} with code `load_failed`.
 */
export async function compileWasm(
  module: ModuleName,
  source: () => WasmSource | PromiseLike<WasmSource>,
): Promise<WebAssembly.Module> {
  const given = await addressed(module, source);
  if (given instanceof WebAssembly.Module) return given;
  const loaded = typeof given === "string" || given instanceof URL ? await fetchSource(module, given) : given;
  // Bytes first: the first use of the name `Response` loads Node's HTTP client.
  return !ArrayBuffer.isView(loaded) && loaded instanceof Response
    ? compileResponse(module, loaded)
    : compileBytes(module, loaded, "the given source");
}

/** Returns the error for a source that holds another module. */
export function wrongModule(module: ModuleName, where: string, cause: unknown): EmendError {
  return loadError(module, `${where} is not ${module.name} that belongs to this package`, { cause });
}

function addressed(
  module: ModuleName,
  source: () => WasmSource | PromiseLike<WasmSource>,
): WasmSource | PromiseLike<WasmSource> {
  try {
    return source();
  } catch (cause) {
    const why = `the address of ${module.name} is unknown: this bundle has no \`import.meta.url\`, e.g. as CommonJS`;
    throw loadError(module, why, { cause });
  }
}

async function fetchSource(module: ModuleName, url: URL | string): Promise<Response | ArrayBufferView> {
  try {
    return await load(url);
  } catch (cause) {
    // A code such as ENOENT is that of a local file.
    const retryable = fieldOf(cause, "code") === undefined;
    throw loadError(module, `${module.name} could not be loaded from ${url}`, { cause, retryable });
  }
}

async function compileResponse(module: ModuleName, response: Response): Promise<WebAssembly.Module> {
  const where = response.url || "the response given";
  if (!response.ok) {
    const retryable = response.status >= 500 || response.status === 429;
    throw loadError(module, `${module.name} could not be loaded from ${where}: status ${response.status}`, {
      retryable,
    });
  }
  // Streaming compilation requires this content type. Other responses are read completely first.
  if (response.headers.get("content-type")?.startsWith("application/wasm")) {
    return WebAssembly.compileStreaming(response).catch((cause: unknown) => {
      throw wrongModule(module, where, cause);
    });
  }
  const bytes = await response.arrayBuffer().catch((cause: unknown) => {
    throw loadError(module, `${module.name} could not be loaded from ${where}`, { cause, retryable: true });
  });
  return compileBytes(module, bytes, where);
}

async function compileBytes(
  module: ModuleName,
  source: ArrayBuffer | ArrayBufferView,
  where: string,
): Promise<WebAssembly.Module> {
  if (!ArrayBuffer.isView(source) && !(Object.prototype.toString.call(source) === "[object ArrayBuffer]"))
    throw loadError(module, "the given source is not a URL, a Response, bytes or a module");
  const { buffer, byteOffset, byteLength } = ArrayBuffer.isView(source) ? source : new Uint8Array(source);
  // A copy: `compile` rejects shared memory, and the caller may change the bytes while it runs.
  const bytes = new Uint8Array(buffer, byteOffset, byteLength).slice();
  if (MAGIC.some((byte, index) => bytes[index] !== byte)) {
    const hint = bytes[0] === "<".charCodeAt(0) ? " but an HTML page: the server answers unknown paths with HTML" : "";
    throw loadError(module, `${where} is not a wasm module${hint}`);
  }
  return WebAssembly.compile(bytes).catch((cause: unknown) => {
    throw wrongModule(module, where, cause);
  });
}

function loadError({ option, file }: ModuleName, message: string, details: ErrorDetails = {}): EmendError {
  const suggestions = [`pass the source of \`${file}\` of this package: \`${option}\``];
  return new EmendError("load_failed", message, { suggestions, ...details });
}
