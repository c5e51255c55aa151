/** The plain data of `emend/llm`. Messages, events and answers have the names that every host of Emend gives them. */

/** Who said it. */
export type Role = "system" | "user" | "assistant" | "tool" | "developer";

/** An image, a recording or a document: by address or by its bytes. */
export interface MediaData {
  url?: string;
  /** The bytes, base64-encoded. */
  data?: string;
  /** E.g. `image/png`. */
  media_type?: string;
  /** Images only. */
  detail?: "auto" | "low" | "high";
  /** Documents only. */
  file_name?: string;
}

/** A call that the model wants made. */
export interface ToolCall {
  id: string;
  name: string;
  /** Parsed; a string if it did not parse. */
  arguments: unknown;
  /** As received. */
  raw_arguments?: string;
  /** The arguments are free text. */
  custom?: boolean;
  /** The provider's own, to be sent back as it is. */
  provider_data?: unknown;
}

/** What a call gave. */
export interface ToolResult {
  tool_call_id: string;
  name: string;
  content: unknown;
  is_error: boolean;
  image?: MediaData;
}

/** Reasoning, with what lets the provider accept it back. */
export interface ThinkingData {
  text: string;
  signature?: string;
  provider?: string;
  provider_data?: unknown;
}

/** One part of a message. */
export type ContentPart =
  | { kind: "text"; text: string }
  | ({ kind: "image" | "audio" | "document" } & MediaData)
  | ({ kind: "tool_call" } & ToolCall)
  | ({ kind: "tool_result" } & ToolResult)
  | ({ kind: "thinking" | "redacted_thinking" } & ThinkingData)
  | { kind: "provider"; provider: string; data: unknown };

/** One entry of a conversation. */
export interface Message {
  role: Role;
  content: ContentPart[];
  name?: string;
}

/** A tool as the model is told of it. */
export interface ToolDefinition {
  /** A letter, then letters, digits or `_`, at most 64. */
  name: string;
  description: string;
  /** JSON Schema with an object at its root. */
  parameters: object;
}

/** A tool for {@link Client.generate}. */
export interface Tool<Arguments = unknown> extends ToolDefinition {
  /** Runs a call, whose arguments match the schema. Without it the call is handed to you. What it throws, the model is told. */
  execute?(args: Arguments, context: ToolContext): unknown;
}

/** What {@link Tool.execute} may know besides the arguments. */
export interface ToolContext {
  /** Fires when the generation is over or given up. */
  signal: AbortSignal;
  toolCallId: string;
}

/** Whether and which tool must be called. */
export type ToolChoice = { mode: "auto" | "none" | "required" } | { mode: "named"; tool_name: string };

/** A request. */
export interface Request {
  /** The provider's own id of the model. */
  model: string;
  messages: Message[];
  /** Default: the client's. */
  provider?: string;
  tools?: ToolDefinition[];
  tool_choice?: ToolChoice;
  response_format?: { type: "text" | "json" } | { type: "json_schema"; json_schema: object; strict?: boolean };
  temperature?: number;
  top_p?: number;
  /** Default: what the model can. */
  max_tokens?: number;
  stop_sequences?: string[];
  /** `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`. */
  reasoning_effort?: string;
  metadata?: Record<string, string>;
  /** By provider: what only that one knows. */
  provider_options?: Record<string, unknown>;
}

/** Tokens, in one way of counting for every provider. */
export interface TokenUsage {
  /** Cached ones included. */
  input_tokens: number;
  /** Reasoning included. */
  output_tokens: number;
  reasoning_tokens?: number;
  cache_read_tokens?: number;
  cache_write_tokens?: number;
  /** The provider's own numbers. */
  raw?: unknown;
}

/** Why an answer ended. */
export type FinishKind = "stop" | "length" | "tool_calls" | "content_filter" | "error" | "pause" | "other";

/** A whole answer. */
export interface Response {
  id: string;
  model: string;
  provider: string;
  message: Message;
  finish_reason: { reason: FinishKind; raw?: string };
  usage: TokenUsage;
  warnings?: { message: string; code?: string }[];
  rate_limit?: {
    requests_remaining?: number;
    requests_limit?: number;
    tokens_remaining?: number;
    tokens_limit?: number;
    reset_at?: string;
  };
}

/** One step of an answer as it arrives. `finish` is the last, unless the answer fails. */
export type StreamEvent =
  | { type: "stream_start"; id: string; model: string }
  | { type: "text_start"; text_id: string }
  | { type: "text_delta"; text_id: string; delta: string }
  | { type: "text_end"; text_id: string }
  | { type: "reasoning_start" }
  | { type: "reasoning_delta"; delta: string }
  | { type: "reasoning_end" }
  | { type: "tool_call_start"; id: string; name: string }
  | { type: "tool_call_delta"; id: string; delta: string }
  | { type: "tool_call_end"; tool_call: ToolCall }
  | { type: "provider_event"; raw: unknown }
  | { type: "finish"; response: Response };

/** What a provider written in JavaScript yields. Only text, calls and the end are needed: the rest follows from them. */
export type ProviderEvent =
  | { type: "stream_start"; id?: string; model?: string }
  | { type: "text_start" | "text_end" | "reasoning_start" | "reasoning_end" }
  | { type: "text_delta" | "reasoning_delta"; delta: string }
  /** `arguments`: the value, or its JSON text. */
  | { type: "tool_call"; id?: string; name: string; arguments: unknown }
  /** Must come last. `reason` is worked out if it is not given. */
  | {
      type: "finish";
      reason?: FinishKind;
      usage?: Partial<TokenUsage> & Pick<TokenUsage, "input_tokens" | "output_tokens">;
    };

/**
 * A provider written in JavaScript: WebLLM, a model of the browser's own, or anything else.
 *
 * `stream` answers a request. When `signal` fires nobody listens any more; the iterator's `return` is called too.
 */
export interface CustomProvider {
  name: string;
  stream(
    request: Request,
    options: { signal: AbortSignal },
  ): AsyncIterable<ProviderEvent> | Promise<AsyncIterable<ProviderEvent>>;
  /** How long it may yield nothing. Default 5 minutes. */
  idleTimeoutMs?: number;
}

/** A wire format. */
export type ApiName = "anthropic-messages" | "openai-responses" | "openai-chat" | "gemini";

/** A provider behind HTTP. */
export interface HttpProvider {
  api: ApiName;
  /** What requests choose it by. Default: the format's usual provider. */
  name?: string;
  /** Sent to the provider and kept nowhere else. A local server or a proxy may need none. */
  apiKey?: string;
  /** Another address that speaks the same format. */
  baseUrl?: string;
  headers?: Readonly<Record<string, string>>;
  /** Beta features. Anthropic only. */
  betas?: readonly string[];
}

/** How failed calls are repeated. */
export interface RetryPolicy {
  /** Default 2. */
  maxRetries?: number;
  /** The first wait. Default 1000. */
  baseDelayMs?: number;
  /** A provider that asks for a longer wait is not asked again. Default 60000. */
  maxDelayMs?: number;
  /** Default 2. */
  backoffMultiplier?: number;
  /** Default `true`. */
  jitter?: boolean;
}

/** What {@link Client.create} takes. */
export interface ClientOptions {
  /** The first is the one that requests go to which name none. */
  providers?: readonly (HttpProvider | CustomProvider)[];
  /** Variables such as `ANTHROPIC_API_KEY`: those that are set bring their providers along. E.g. `process.env`. */
  env?: Readonly<Record<string, string | undefined>>;
  defaultProvider?: string;
  /** Sends requests instead of the global `fetch`. */
  fetch?: (url: string, options: RequestInit) => globalThis.Response | Promise<globalThis.Response>;
}

/** What every call takes. */
export interface CallOptions {
  signal?: AbortSignal;
}

/** What {@link Client.generate} takes. Either `prompt` or `messages`. */
export interface GenerateOptions extends CallOptions, Omit<Request, "messages" | "tools"> {
  prompt?: string;
  messages?: readonly Message[];
  /** Instructions, put first. */
  system?: string;
  tools?: readonly Tool<never>[];
  /** How often tools are run and the model is asked again. Default 1. */
  maxToolRounds?: number;
  /** `false`: a failed call is not repeated. */
  retry?: RetryPolicy | false;
  timeout?: { totalMs?: number; perStepMs?: number };
}

/** One call of the model, and what the tools it asked for gave. */
export interface Step {
  response: Response;
  toolResults: ToolResult[];
}

/** What a generation came to. */
export interface GenerateResult {
  /** The text of the last step. */
  text: string;
  /** The calls of the last step. */
  toolCalls: ToolCall[];
  response: Response;
  steps: Step[];
  /** Of all steps. */
  totalUsage: TokenUsage;
}

/** What a generation yields: the model's events, and after each step what it came to. */
export type GenerateEvent = StreamEvent | ({ type: "step_finish" } & Step);

/** An HTTP request, ready to be sent. */
export interface EncodedRequest {
  method: string;
  url: string;
  headers: [name: string, value: string][];
  body: string;
}

/** What is known of a model. Models that are not known work all the same. */
export interface ModelInfo {
  id: string;
  provider: string;
  display_name: string;
  context_window: number;
  max_output?: number;
  supports_tools: boolean;
  supports_vision: boolean;
  supports_reasoning: boolean;
  supports_sampling: boolean;
  input_modalities: string[];
  /** US dollars per million tokens. */
  input_cost_per_million?: number;
  output_cost_per_million?: number;
  cache_read_cost_per_million?: number;
  cache_write_cost_per_million?: number;
  efforts: string[];
  /** E.g. `2025-05`. */
  knowledge_cutoff?: string;
  aliases: string[];
}

/** The `data` of an error of a call: `llmProblem(error)`. */
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
  /** The provider's own code. */
  errorCode: string | null;
  retryAfterMs: number | null;
  /** The provider's answer. */
  raw: unknown;
}
