/// <reference lib="esnext.disposable" preserve="true" />

/** The service: sessions, jobs, events and review behind requests and replies, in this program. */

import { Files } from "../agent/files.js";
import { OWN_OPTIONS, withOwnNames } from "../agent/option-names.js";
import { CallerSignal } from "../caller-signal.js";
import { AbortError, EmendError, NotInitializedError } from "../errors.js";
import { toJson } from "../texts.js";
import { optionsOf, requireId, requireText } from "../validate.js";
import { glue, serviceModule } from "../wasm/service.js";
import { errorOfReply } from "./codes.js";
import { jsonReply, readRequest, type ServiceRequest, streamReply } from "./http.js";
import { type Reading, type Reply, ServiceBridge } from "./service-bridge.js";
import { prepareService } from "./settings.js";
import type { AttachedEvent, EventScope, RequestOptions, ServiceOptions, ServiceReading } from "./types.js";

/** Proves that the constructor is called by {@link createService}. */
const CREATE = Symbol("create");

const MODULE = { glue, loaded: () => serviceModule.loaded() };

/**
 * A review service in this program. It answers the requests of the HTTP API of `emend serve` with the same replies.
 */
export class Service {
  /** The project's files, as for an agent. */
  readonly files: Files;
  readonly #bridge: ServiceBridge;

  /** @internal */
  constructor(create: symbol, bridge: ServiceBridge) {
    if (create !== CREATE) {
      throw new NotInitializedError("not_initialized", "create a service with `await createService(options)`");
    }
    this.#bridge = bridge;
    this.files = new Files(bridge);
  }

  /**
   * Answers a request as the HTTP server does; pass it wherever a `fetch` function is expected. Only the path and the
   * query of the address count. A failed request is a reply with its status. Streams of events are `text/event-stream`
   * and accept `Last-Event-ID` or `after`.
   *
   * The promise rejects only if the core panicked, the service is closed, or the signal fires.
   */
  readonly fetch = async (input: Request | URL | string, init?: RequestInit): Promise<Response> => {
    const read = await readRequest(input, init).catch((thrown: unknown) => {
      if (thrown instanceof Response) return thrown;
      throw thrown;
    });
    if (read instanceof Response) return read;
    const { request, signal } = read;
    signal.throwIfAborted();
    const reply = await orAborted(signal, this.#send(request));
    if (reply.stream === undefined) return jsonReply(reply);
    const { scope, after } = reply.stream;
    const attached = await orAborted(
      signal,
      this.#bridge.ask((service) => service.attached(scope)),
    );
    return streamReply(attached, this.#bridge.events(scope, after), signal);
  };

  /**
   * Carries out a request and returns the body of the reply.
   *
   * @throws {EmendError} of the class that belongs to the code of a failed request.
   * @throws {AbortError} if the signal fires.
   */
  async request<T = unknown>(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<T> {
    const signal = new CallerSignal(optionsOf(options, ["signal"]).signal);
    const [name = "", ...rest] = requireText("the path", path).split("?");
    const verb = requireText("the method", method).toUpperCase();
    const sent = this.#send({ method: verb, path: decoded(name), query: rest.join("?"), body });
    const { status, body: text, stream } = await orAbortError(signal, sent);
    if (stream !== undefined)
      throw new EmendError("unsupported", "this operation is a stream; use `events` or `fetch`");
    const parsed = JSON.parse(text) as T;
    if (status >= 400) throw errorOfReply(status, parsed);
    return parsed;
  }

  /**
   * Returns the events of a session, of a job, or of all sessions after a number, past and future. Any number of readers
   * may subscribe, and a slow reader misses nothing. An item `resync_required` says that events after the number are no
   * longer kept: read the state again; the next items are newer than that state.
   *
   * @throws {EmendError} with code `not_found` if the session or job does not exist.
   */
  async *events(scope: EventScope = {}): AsyncGenerator<ServiceReading, void> {
    const { session, job, after = 0 } = optionsOf(scope, ["session", "job", "after"]);
    const feed = this.#bridge.events(scopeJson(session, job), requireId("`after`", after));
    for await (const reading of feed) yield readingOf(reading);
  }

  /** Returns the open questions and approval requests, and the number of the newest event of a scope. */
  async attached(scope: Omit<EventScope, "after"> = {}): Promise<AttachedEvent> {
    const { session, job } = optionsOf(scope, ["session", "job"]);
    const json = scopeJson(session, job);
    return this.#bridge.ask((service) => service.attached(json));
  }

  /** Cancels all jobs, waits for their ends, ends all readers, and frees the memory. Edits stay in the files. */
  close(): Promise<void> {
    return this.#bridge.shutDown();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #send(request: ServiceRequest): Promise<Reply> {
    const json = toJson(request) as string;
    const reply = this.#bridge.ask<Reply>((service) => service.handle(json));
    // The reply to a cancellation waits for the end of the job.
    if (request.method === "POST" && request.path.endsWith("/cancel")) this.#bridge.hurry();
    return reply;
  }
}

/**
 * Creates a service. Loads its module first if necessary.
 *
 * @throws {ConfigError} if the options are wrong.
 * @throws {EmendError} with code `load_failed` if the module cannot be loaded.
 */
export async function createService(options: ServiceOptions = {}): Promise<Service> {
  const { agent, json, opener } = await prepareService(options);
  if (options.wasm !== undefined) await serviceModule.load({ wasm: options.wasm });
  const { wasm, create } = await agent.open(MODULE);
  const createHandle = (handle: InstanceType<typeof glue.AgentHandle>) =>
    new glue.ServiceHandle(handle, json, { opener });
  const own = [
    ...OWN_OPTIONS.filter((name) => name !== "approve" && name !== "telemetry"),
    "models",
    "limits",
    "routing",
    "wasm",
  ];
  const bridge = withOwnNames(
    own,
    () => new ServiceBridge(wasm, create, createHandle as never, agent.host, agent.link),
  );
  try {
    await agent.fill(bridge, MODULE);
    bridge.drive();
    await bridge.ask((service) => service.recover());
  } catch (error) {
    bridge.close();
    throw error;
  }
  return new Service(CREATE, bridge);
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch (cause) {
    throw new EmendError("invalid_argument", "the path is malformed", { cause });
  }
}

function scopeJson(session: string | undefined, job: string | undefined): string {
  if (session !== undefined) requireText("`session`", session);
  if (job !== undefined) requireText("`job`", job);
  return toJson({ session, job }) as string;
}

function readingOf({ data }: Reading): ServiceReading {
  const parsed = JSON.parse(data) as ServiceReading | { type: "error"; error: unknown };
  if (parsed.type === "error" && "error" in parsed) throw errorOfReply(500, parsed);
  return parsed as ServiceReading;
}

/** Rejects with the reason of the signal, as `fetch` does. */
function orAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    signal.addEventListener("abort", abort);
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Rejects with an {@link AbortError} if the signal fires. */
function orAbortError<T>(signal: CallerSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void =>
      reject(new AbortError("aborted", "the wait for the reply was cancelled", { cause: signal.reason }));
    work.then(resolve, reject).finally(() => signal.stop());
    if (signal.aborted) abort();
    else signal.listen(abort);
  });
}
