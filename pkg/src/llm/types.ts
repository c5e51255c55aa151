/** Public types of `emend/llm`. */

/** Role of a message. */
export type Role = "system" | "user" | "assistant" | "tool" | "developer";

/** An image, an audio recording or a document, by URL or by its bytes. */
export interface MediaData {
  url?: string | undefined;
  /** The bytes in base64. */
  data?: string | undefined;
  /** Media type, e.g. `image/png`. */
  mediaType?: string | undefined;
  /** Images only. */
  detail?: "auto" | "low" | "high" | undefined;
  /** Documents only. */
  fileName?: string | undefined;
}

/** A tool call that the model requests. */
export interface ToolCall {
  id: string;
  name: string;
  /** The parsed arguments, or the raw string if it is not valid JSON. */
  arguments: unknown;
  /** The arguments as received. */
  rawArguments?: string | undefined;
  /** Whether the arguments are free text instead of JSON. */
  custom?: boolean | undefined;
  /** Data of the provider, which must be sent back unchanged. */
  providerData?: unknown;
}

/** The result of a tool call. */
export interface ToolResult {
  toolCallId: string;
  name: string;
  content: unknown;
  isError: boolean;
  image?: MediaData | undefined;
}

/** Reasoning, with the data that the provider requires when it is sent back. */
export interface ThinkingData {
  text: string;
  signature?: string | undefined;
  provider?: string | undefined;
  providerData?: unknown;
}

/** One part of a message. */
export type ContentPart =
  | { kind: "text"; text: string }
  | ({ kind: "image" | "audio" | "document" } & MediaData)
  | ({ kind: "tool_call" } & ToolCall)
  | ({ kind: "tool_result" } & ToolResult)
  | ({ kind: "thinking" | "redacted_thinking" } & ThinkingData)
  | { kind: "provider"; provider: string; data: unknown };

/** One message of a conversation. */
export interface Message {
  role: Role;
  content: ContentPart[];
  name?: string | undefined;
}

/** The definition of a tool for the model. */
export interface ToolDefinition {
  /** Name: a letter, then letters, digits or `_`, at most 64 characters. */
  name: string;
  description: string;
  /**
   * JSON Schema of the arguments, with an object at its root. A Standard Schema, such as an object of zod 4, is accepted if
   * it gives a JSON Schema of itself (`~standard.jsonSchema`, `toJSONSchema()` or `toJsonSchema()`).
   */
  parameters: object;
}

/** A tool with a function. */
export interface Tool<Arguments = unknown> extends ToolDefinition {
  /**
   * Runs a call. The arguments match the schema; a Standard Schema has converted them. The model is shown the message of an exception, or
   * of an `Error` that is returned. A result that JSON cannot represent, such as `NaN`, bytes, a `Map` or a `Response`, at any
   * depth, is a failed call. Without this function, `client.generate` returns the calls to you.
   */
  execute?(args: Arguments, context: ToolContext): unknown;
}

/** Second argument of {@link Tool.execute}. */
export interface ToolContext {
  /** Fires when the run or generation ends or is cancelled. */
  signal: AbortSignal;
  toolCallId: string;
}

/** Whether the model must call a tool, and which one. */
export type ToolChoice = { mode: "auto" | "none" | "required" } | { mode: "named"; toolName: string };

/** A request to a model. */
export interface Request {
  /** The provider's id of the model. */
  model: string;
  messages: Message[];
  /** Name of the provider. Default: the client's default provider. */
  provider?: string | undefined;
  tools?: ToolDefinition[] | undefined;
  toolChoice?: ToolChoice | undefined;
  responseFormat?:
    | { type: "text" | "json" }
    | { type: "json_schema"; jsonSchema: object; strict?: boolean | undefined }
    | undefined;
  temperature?: number | undefined;
  topP?: number | undefined;
  /** Maximum number of generated tokens. Default: the model's maximum. */
  maxTokens?: number | undefined;
  stopSequences?: string[] | undefined;
  /** Reasoning effort: `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`. */
  reasoningEffort?: string | undefined;
  metadata?: Record<string, string> | undefined;
  /** Options that only one provider knows, by the name of the provider. */
  providerOptions?: Record<string, unknown> | undefined;
}

/** Tokens spent, counted in the same way for every provider. */
export interface TokenUsage {
  /** Tokens in the prompt, cached ones included. */
  inputTokens: number;
  /** Tokens generated, reasoning included. */
  outputTokens: number;
  /** Sum of input and output tokens. */
  totalTokens: number;
  reasoningTokens?: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  /** The provider's own usage data. */
  raw?: unknown;
}

/** Why a response ended. */
export type FinishKind = "stop" | "length" | "tool_calls" | "content_filter" | "error" | "pause" | "other";

/** A complete model response. */
export interface Response {
  id: string;
  model: string;
  provider: string;
  message: Message;
  finishReason: { reason: FinishKind; raw?: string };
  usage: TokenUsage;
  warnings?: { message: string; code?: string }[];
  rateLimit?: {
    requestsRemaining?: number;
    requestsLimit?: number;
    tokensRemaining?: number;
    tokensLimit?: number;
    resetAt?: string;
  };
}

/** One event of a streamed response. `finish` is the last one, unless the response fails. */
export type StreamEvent =
  | { type: "stream_start"; id: string; model: string }
  | { type: "text_start"; textId: string }
  | { type: "text_delta"; textId: string; delta: string }
  | { type: "text_end"; textId: string }
  | { type: "reasoning_start" }
  | { type: "reasoning_delta"; delta: string }
  | { type: "reasoning_end" }
  | { type: "tool_call_start"; id: string; name: string }
  | { type: "tool_call_delta"; id: string; delta: string }
  | { type: "tool_call_end"; toolCall: ToolCall }
  | { type: "provider_event"; raw: unknown }
  | { type: "finish"; response: Response };

/**
 * An event of a provider written in JavaScript. Only text, tool calls and `finish` are required; the rest is derived.
 * The events of {@link Client.stream} are accepted too, so that a provider can wrap a client.
 */
export type ProviderEvent =
  | StreamEvent
  | { type: "stream_start"; id?: string | undefined; model?: string | undefined }
  | { type: "text_start" | "text_end" | "reasoning_start" | "reasoning_end" }
  | { type: "text_delta" | "reasoning_delta"; delta: string }
  /** `arguments` is the value, or its JSON text. */
  | { type: "tool_call"; id?: string | undefined; name: string; arguments: unknown }
  /** Must be the last event. A missing `reason` is derived. */
  | {
      type: "finish";
      reason?: FinishKind | undefined;
      usage?: (Partial<TokenUsage> & Pick<TokenUsage, "inputTokens" | "outputTokens">) | undefined;
    };

/**
 * A provider written in JavaScript, such as WebLLM or the browser's built-in model.
 *
 * `stream` returns the response to a request. When `signal` fires, the response is no longer needed; the iterator's
 * `return` is called too.
 */
export interface CustomProvider {
  name: string;
  stream(
    request: Request,
    options: { signal: AbortSignal },
  ): AsyncIterable<ProviderEvent> | Promise<AsyncIterable<ProviderEvent>>;
  /**
   * Maximum time without an event, in milliseconds. Then the call fails with code `timeout`. An agent and
   * {@link Client.generate} repeat it as any call that failed, at most twice and with some seconds between. Default: 5 minutes.
   */
  idleTimeoutMs?: number | undefined;
  /** Whether the model writes tool calls as JSON objects, see {@link HttpProvider.constrainedTools}. {@link Client} only. */
  constrainedTools?: boolean | undefined;
}

/** The model that responds if the default provider fails, see {@link ClientOptions.fallback}. */
export interface Fallback {
  /** Name of one of the client's providers. */
  provider: string;
  model: string;
  /** Number of attempts of the default provider. Default 2. */
  attempts?: number | undefined;
  /** Time limit of a response of the default provider, in milliseconds. Default: none. */
  afterMs?: number | undefined;
}

/** Name of a wire format. */
export type ApiName = "anthropic-messages" | "openai-responses" | "openai-chat" | "gemini";

/** A provider with an HTTP interface. */
export interface HttpProvider {
  api: ApiName;
  /** Name by which requests select it. Default: the usual provider of the format. */
  name?: string | undefined;
  /** Sent to the provider and stored nowhere. A local server or a proxy may not need one. */
  apiKey?: string | undefined;
  /** URL of another server that speaks the same format. */
  baseUrl?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Names of beta features (Anthropic only). */
  betas?: readonly string[] | undefined;
  /**
   * Whether the model writes tool calls as JSON objects, because it has no native tool calls. The server should enforce a
   * JSON schema, as llama.cpp and Ollama do. Default false.
   */
  constrainedTools?: boolean | undefined;
}

/** Policy for retries of failed calls. */
export interface RetryPolicy {
  /** Maximum number of retries. Default 2. */
  maxRetries?: number | undefined;
  /** Delay before the first retry, in milliseconds. Default 1000. */
  baseDelayMs?: number | undefined;
  /** Maximum delay, in milliseconds. If the provider requests a longer one, the call is not retried. Default 60000. */
  maxDelayMs?: number | undefined;
  /** Factor between successive delays. Default 2. */
  backoffMultiplier?: number | undefined;
  /** Whether to randomize delays. Default `true`. */
  jitter?: boolean | undefined;
}

/** Options of {@link Client.create}. */
export interface ClientOptions {
  /** Providers. Requests without a `provider` go to the first one. */
  providers?: readonly (HttpProvider | CustomProvider)[] | undefined;
  /**
   * Environment variables, e.g. `process.env`. Each API key among them, such as `ANTHROPIC_API_KEY`, adds its provider.
   */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  defaultProvider?: string | undefined;
  /**
   * Model that responds if the default provider fails, calls an unknown tool or writes arguments that do not match their
   * schema. The default provider's responses are then held back until they are complete.
   */
  fallback?: Fallback | undefined;
  /** Sends HTTP requests. Default: the global `fetch`. */
  fetch?: ((url: string, options: RequestInit) => globalThis.Response | Promise<globalThis.Response>) | undefined;
}

/** Options of every call. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
}

/** Options of {@link Client.generate}. Give either `prompt` or `messages`. */
export interface GenerateOptions extends CallOptions, Omit<Request, "messages" | "tools"> {
  prompt?: string | undefined;
  messages?: readonly Message[] | undefined;
  /** System prompt. */
  system?: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: each tool has arguments of its own.
  tools?: readonly Tool<any>[] | undefined;
  /** Maximum number of times that tools are run and the model is called again. Default 1. */
  maxToolRounds?: number | undefined;
  /** `false`: failed calls are not retried. */
  retry?: RetryPolicy | false | undefined;
  timeout?: { totalMs?: number | undefined; perStepMs?: number | undefined } | undefined;
}

/** One model call, and the results of the tool calls it requested. */
export interface Step {
  response: Response;
  toolResults: ToolResult[];
}

/** Result of a generation. */
export interface GenerateResult {
  /** Text of the last step. */
  text: string;
  /** Tool calls of the last step. */
  toolCalls: ToolCall[];
  response: Response;
  steps: Step[];
  /** Tokens of all steps. */
  totalUsage: TokenUsage;
}

/** Event of a generation: an event of the model, or the result of a step. */
export type GenerateEvent = StreamEvent | ({ type: "step_finish" } & Step);

/** An encoded HTTP request. */
export interface EncodedRequest {
  method: string;
  url: string;
  headers: [name: string, value: string][];
  body: string;
}

/** Catalogue entry of a model. Models without an entry work too. */
export interface ModelInfo {
  id: string;
  provider: string;
  displayName: string;
  contextWindow: number;
  maxOutput?: number;
  supportsTools: boolean;
  supportsVision: boolean;
  supportsReasoning: boolean;
  supportsSampling: boolean;
  inputModalities: string[];
  /** US dollars per million tokens. */
  inputCostPerMillion?: number;
  outputCostPerMillion?: number;
  cacheReadCostPerMillion?: number;
  cacheWriteCostPerMillion?: number;
  efforts: string[];
  /** Month, e.g. `2025-05`. */
  knowledgeCutoff?: string;
  aliases: string[];
}

/** Details of a failed model call: the result of `llmProblem(error)`. */
export interface LlmProblem {
  kind:
    | "authentication"
    | "access_denied"
    | "model_not_found"
    | "invalid_request"
    | "rate_limit"
    | "quota_exceeded"
    | "server"
    | "content_filter"
    | "context_length"
    | "request_timeout"
    | "abort"
    | "network"
    | "stream"
    | "invalid_tool_call"
    | "no_object_generated"
    | "unsupported_tool_choice"
    | "configuration";
  provider: string | null;
  statusCode: number | null;
  /** The provider's error code. */
  errorCode: string | null;
  retryAfterMs: number | null;
  /** Body of the provider's error response. */
  raw: unknown;
}
