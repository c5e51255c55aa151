/// <reference lib="esnext.disposable" preserve="true" />

/** The client: requests to the models of several providers, and generation with tools. */

import { callerFetch } from "../caller-fetch.js";
import { type Names, toCamel } from "../case.js";
import { ClosedError, ConfigError, NotInitializedError } from "../errors.js";
import { messageOf } from "../exceptions.js";
import type { ClientHandle } from "../llm-core.js";
import { MESSAGE, REQUEST, STREAM_EVENT, TOOL_RESULT, USAGE } from "../names.js";
import { invalid, optionsOf, requireOptions, requireRecord, settingsJson, shown } from "../validate.js";
import type { Driver, WasmInstance } from "../wasm/instance.js";
import { glue, llmModule } from "../wasm/llm.js";
import { AnswerStream, type Reading } from "./answer-stream.js";
import { isCustom, openerOf, providerSettings } from "./custom-provider.js";
import { checkHttp } from "./http-settings.js";
import { checkGeneration, checkRequest, clientProblem, providerProblem } from "./request-fields.js";
import type { GeneratedOf } from "./schema-types.js";
import { type Parameters, parametersOf } from "./standard-schema.js";
import { resultJson } from "./tool-result.js";
import type {
  CallOptions,
  ClientOptions,
  GenerateEvent,
  GenerateOptions,
  GenerateResult,
  Request,
  Response,
  RetryPolicy,
  Step,
  StreamEvent,
  TokenUsage,
  Tool,
  ToolCall,
} from "./types.js";

/** Proves that the constructor is called by {@link Client.create}. */
const CREATE = Symbol("create");

/** The names of the options of a generation, as the module has them. */
const GENERATION: Names = { request: REQUEST, messages: MESSAGE };

/** The names of an item of a generation: an event of the model, a step, or the result. */
const ITEM: Names = { ...STREAM_EVENT, tool_results: TOOL_RESULT, total_usage: USAGE };

/** A client of one or more providers. It sends only the requests that you make. */
export class Client {
  readonly #wasm: WasmInstance;
  readonly #handle: ClientHandle;
  readonly #drivers = new Set<Driver>();
  #closed = false;

  private constructor(create: symbol, wasm: WasmInstance, open: () => ClientHandle) {
    if (create !== CREATE) {
      throw new NotInitializedError("not_initialized", "create a client with `await Client.create(options)`");
    }
    this.#wasm = wasm;
    this.#handle = wasm.call(open);
  }

  /**
   * Creates a client. Loads the wasm module first if necessary. Sends no request.
   *
   * @throws {ConfigError} if the options are wrong: no provider, no key, or an unknown format.
   */
  static async create(options: ClientOptions): Promise<Client> {
    const {
      providers = [],
      env,
      fetch: send = globalThis.fetch,
      ...rest
    } = requireRecord("the options", options) as ClientOptions;
    if (typeof send !== "function") throw new ConfigError("configuration", "`fetch` must be a function");
    if (!Array.isArray(providers)) throw new ConfigError("configuration", "`providers` must be an array");
    if (env !== undefined) requireOptions("`env`", env);
    refuseOptions(clientProblem(options));
    for (const given of providers) {
      refuseOptions(providerProblem(requireOptions("each provider", given)));
      if (!isCustom(given)) checkHttp(given);
    }
    if (providers.length === 0 && env === undefined) {
      const why = "no provider is set up: give `providers`, e.g. with `api` and `apiKey`, or the keys in `env`";
      throw new ConfigError("configuration", why);
    }
    const openers = providers.filter(isCustom).map(openerOf);
    let custom = 0;
    const settings = providers.map((given) =>
      isCustom(given)
        ? { custom: custom++, ...providerSettings(given), constrainedTools: given.constrainedTools }
        : given,
    );
    const variables =
      env === undefined
        ? undefined
        : Object.fromEntries(Object.entries(env).filter(([, value]) => typeof value === "string"));
    const json = settingsJson({ ...rest, providers: settings, env: variables });
    await llmModule.load();
    const fetch = callerFetch(send);
    return new Client(CREATE, llmModule.live(), () => new glue.ClientHandle(json, fetch, openers));
  }

  /** Names of the client's providers. */
  get providers(): string[] {
    return this.#call((handle) => handle.providers());
  }

  /**
   * Sends a request and returns the complete response. A failed call is not retried; use {@link generate} for retries.
   *
   * @throws {ProviderError} if the provider rejected the request, failed or could not be reached; see
   *   {@link llmProblem}.
   * @throws {AbortError} if `signal` fired.
   */
  async complete(request: Request, options: CallOptions = {}): Promise<Response> {
    return this.stream(request, options).result;
  }

  /** Returns a stream of the response. The request is sent when the stream is first read. */
  stream(request: Request, options: CallOptions = {}): AnswerStream<StreamEvent, Response> {
    const given = requireRecord("the request", request);
    checkRequest(given);
    const described = Array.isArray(given.tools) ? { ...given, tools: given.tools.map(describedTool) } : given;
    const json = settingsJson(described, REQUEST);
    let whole: Response | undefined;
    const reading: Reading<StreamEvent, Response> = {
      take: (item) => {
        const event = toCamel<StreamEvent>(item, STREAM_EVENT);
        if (event.type === "finish") whole = event.response;
        return event;
      },
      result: () => whole!,
    };
    const { signal } = optionsOf(options, ["signal"]);
    return this.#open((handle) => handle.stream(json, undefined), reading, signal);
  }

  /**
   * Generates a response, runs tools, and retries failed calls where a retry may help. Throws as {@link complete} does.
   */
  async generate(options: GenerateOptions): Promise<GenerateResult> {
    return this.generateStream(options).result;
  }

  /** Streams what {@link generate} does: the model's events, and the result of each step. */
  generateStream(options: GenerateOptions): AnswerStream<GenerateEvent, GenerateResult> {
    const { json, run, abort } = generation(options);
    const steps: Step[] = [];
    let totalUsage: TokenUsage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
    const reading: Reading<GenerateEvent, GenerateResult> = {
      take: (given) => {
        const item = toCamel<GenerateEvent | { type: "result"; totalUsage: TokenUsage }>(given, ITEM);
        if (item.type === "result") {
          totalUsage = item.totalUsage;
          return undefined;
        }
        if (item.type !== "step_finish") return item;
        const { response, toolResults } = item;
        const step: Step = { response, toolResults };
        steps.push(step);
        return { type: "step_finish", ...step };
      },
      result: () => resultOf(steps, totalUsage),
      end: () => abort.abort(),
    };
    return this.#open((handle) => handle.generate(json, run), reading, options.signal);
  }

  /**
   * Generates a value that matches a JSON Schema, or the JSON Schema of a Standard Schema, whose conversions do not apply.
   * The result has the type that the schema describes, unless you name one.
   *
   * @throws {ProviderError} with `llmProblem(error).kind` `no_object_generated` if the response does not match the
   *   schema.
   */
  async generateObject<T = never, const Schema extends object = object>(
    options: GenerateOptions,
    schema: Schema,
  ): Promise<GeneratedOf<T, Schema>> {
    return this.streamObject<T, Schema>(options, schema).result;
  }

  /** Streams what {@link generateObject} does. Each event is the whole value so far, not validated. */
  streamObject<T = never, const Schema extends object = object>(
    options: GenerateOptions,
    schema: Schema,
  ): AnswerStream<unknown, GeneratedOf<T, Schema>> {
    const { json, run, abort } = generation(options);
    const shape = settingsJson(requireRecord("the schema", parametersOf("the schema", schema).json));
    let output: unknown;
    const reading: Reading<unknown, GeneratedOf<T, Schema>> = {
      take: (item) => {
        if (item.type === "partial_object") return (item as unknown as { value: unknown }).value;
        output = (item as unknown as { output: unknown }).output;
        return undefined;
      },
      result: () => output as GeneratedOf<T, Schema>,
      end: () => abort.abort(),
    };
    return this.#open((handle) => handle.generateObject(json, shape, run), reading, options.signal);
  }

  /** Closes the client and frees its memory. Active calls fail with a {@link ClosedError}. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const driver of [...this.#drivers]) driver.fail(new ClosedError("closed", "the client was closed"));
    this.#wasm.release(this.#handle);
  }

  #open<E, R>(
    start: (handle: ClientHandle) => ReturnType<ClientHandle["stream"]>,
    reading: Reading<E, R>,
    signal: AbortSignal | undefined,
  ): AnswerStream<E, R> {
    this.#refuseIfClosed();
    return new AnswerStream(this.#wasm, () => start(this.#handle), reading, this.#drivers, signal);
  }

  #call<T>(work: (handle: ClientHandle) => T): T {
    this.#refuseIfClosed();
    return this.#wasm.call(() => work(this.#handle));
  }

  #refuseIfClosed(): void {
    if (this.#closed) throw new ClosedError("closed", "the client is closed; create a new one");
  }
}

export interface Client extends Disposable {}
if (Symbol.dispose !== undefined) {
  Client.prototype[Symbol.dispose] = function (this: Client): void {
    this.close();
  };
}

function refuseOptions(problem: string | undefined): void {
  if (problem !== undefined) throw new ConfigError("configuration", `the options are wrong: ${problem}`);
}

/** Runs a tool. Resolves to its result as JSON, or rejects with the error message for the model. */
type RunTool = (name: string, args: string, toolCallId: string) => Promise<string>;

/** Splits the options of a generation into plain data and functions. */
function generation(options: GenerateOptions): { json: string; run: RunTool; abort: AbortController } {
  const given = requireRecord("the options", options) as unknown as GenerateOptions;
  const { prompt, messages, system, tools = [], maxToolRounds, retry, timeout, signal: _, ...request } = given;
  if (!Array.isArray(tools)) throw invalid("`tools` must be an array");
  checkGeneration(given);
  const checks = new Map(tools.map(({ name, parameters }: Tool) => [name, toolParameters(name, parameters)]));
  const runnable = new Map(tools.map((tool: Tool) => [tool.name, tool]));
  const policy: RetryPolicy | undefined = retry === false ? { maxRetries: 0 } : retry;
  const described = tools.map(({ name, description, parameters, execute }: Tool) => ({
    name,
    description,
    parameters: toolParameters(name, parameters).json,
    active: execute !== undefined,
  }));
  const json = settingsJson(
    { request, prompt, messages, system, tools: described, maxToolRounds, retry: policy, timeout },
    GENERATION,
  );
  const abort = new AbortController();
  const run: RunTool = async (name, args, toolCallId) => {
    await undefined;
    try {
      const parsed: unknown = JSON.parse(args);
      const check = checks.get(name)?.check;
      const given = check === undefined ? parsed : await check(parsed);
      const result: unknown = await runnable.get(name)?.execute?.(given, { signal: abort.signal, toolCallId });
      return resultJson(name, result) ?? "null";
    } catch (thrown) {
      throw messageOf(thrown);
    }
  };
  return { json, run, abort };
}

function toolParameters(name: unknown, parameters: unknown): Parameters {
  return parametersOf(`the parameters of the tool ${shown(name)}`, parameters);
}

/** Returns a tool of a request with its parameters as JSON Schema. */
function describedTool(tool: unknown): unknown {
  if (typeof tool !== "object" || tool === null || !("parameters" in tool)) return tool;
  const { name, parameters } = tool as Partial<Tool>;
  return { ...tool, parameters: toolParameters(name, parameters).json };
}

function resultOf(steps: Step[], totalUsage: TokenUsage): GenerateResult {
  const { response } = steps.at(-1)!;
  let text = "";
  const toolCalls: ToolCall[] = [];
  for (const part of response.message.content) {
    if (part.kind === "text") text += part.text;
    if (part.kind === "tool_call") {
      const { kind: _, ...call } = part;
      toolCalls.push(call);
    }
  }
  return { text, toolCalls, response, steps, totalUsage };
}
