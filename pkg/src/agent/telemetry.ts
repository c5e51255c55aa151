/**
 * Spans of OpenTelemetry: one for each run, and in it one for each tool call and each subagent.
 *
 * Names and attributes follow the semantic conventions for generative models. No span has contents: neither texts and
 * arguments nor paths. The spans are made of the events, by a reader that does not delay the run.
 */

import { ConfigError } from "../errors.js";
import type { EventFeed } from "./event-feed.js";
import type { Telemetry, TelemetryAttributes, TelemetrySpan } from "./telemetry-types.js";
import type { AgentEvent } from "./types.js";

/** The status of a span that failed. */
const FAILED = { code: 2 };

/** Follows a run that is about to start. */
export type Tracing = (feed: EventFeed, model: unknown) => void;

/** Checks the option, and returns the function that makes spans of runs. */
export function tracingOf(given: unknown): Tracing {
  const { trace, context } = Object(given) as Partial<Telemetry>;
  const fits = [trace?.getTracer, trace?.setSpan, context?.active].every((each) => typeof each === "function");
  if (fits) return (feed, model) => traceRun(given as Telemetry, feed, model);
  throw new ConfigError(
    "configuration",
    "`telemetry` must be the module `@opentelemetry/api`: it needs `trace` and `context`",
  );
}

/** Follows a run that is about to start. The span that is active now becomes the parent of its span. */
function traceRun(telemetry: Telemetry, feed: EventFeed, model: unknown): void {
  const spans = quiet(() => new RunSpans(telemetry, modelAttributes(model)));
  if (spans === undefined) void feed.return();
  else void follow(spans, feed);
}

async function follow(spans: RunSpans, feed: EventFeed): Promise<void> {
  try {
    for await (const event of feed) {
      quiet(() => spans.take(event));
      if (event.kind === "PROCESSING_END") return;
    }
  } catch {
    // A panic, which the run reports.
  } finally {
    // The agent was closed during the run.
    quiet(() => spans.breakOff());
  }
}

/** Calls functions of the host. An error of theirs must not reach the run, which has nothing to do with it. */
function quiet<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** Returns the attributes of a model's settings. */
function modelAttributes(settings: unknown): TelemetryAttributes {
  const { provider, name = provider, model } = Object(settings) as Record<string, unknown>;
  return {
    ...(typeof name === "string" && { "gen_ai.provider.name": name }),
    ...(typeof model === "string" && { "gen_ai.request.model": model }),
  };
}

/** The open spans of one run. */
class RunSpans {
  readonly #telemetry: Telemetry;
  readonly #tracer: ReturnType<Telemetry["trace"]["getTracer"]>;
  readonly #parent: unknown;
  #run: TelemetrySpan | undefined;
  #inside: unknown;
  /** The spans inside of the run's, by the ids of their calls and subagents. */
  readonly #open = new Map<string, TelemetrySpan>();

  readonly #model: TelemetryAttributes;

  constructor(telemetry: Telemetry, model: TelemetryAttributes) {
    this.#model = model;
    this.#telemetry = telemetry;
    this.#tracer = telemetry.trace.getTracer("emend");
    this.#parent = telemetry.context.active();
  }

  take(event: AgentEvent): void {
    const { kind, data, ts } = event;
    if (this.#run === undefined) this.#begin(event);
    if (kind === "TOOL_CALL_START") {
      this.#start(data.callId, `execute_tool ${data.toolName}`, ts, {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": data.toolName,
        "gen_ai.tool.call.id": data.callId,
      });
    } else if (kind === "TOOL_CALL_END") {
      this.#end(data.callId, ts, data.ok ? undefined : (data.errorInfo?.code ?? "tool_error"));
    } else if (kind === "SUBAGENT_START") {
      this.#start(data.agentId, "invoke_agent subagent", ts, {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.id": data.agentId,
        "gen_ai.request.model": data.model,
      });
    } else if (kind === "SUBAGENT_END") {
      this.#end(data.agentId, ts, data.status === "failed" ? "subagent_failed" : undefined);
    } else if (kind === "ERROR") {
      this.#run?.setAttributes({ "error.type": data.code });
      this.#run?.setStatus(FAILED);
    } else if (kind === "PROCESSING_END") {
      this.#run?.setAttributes({
        "gen_ai.usage.input_tokens": data.usage.inputTokens,
        "gen_ai.usage.output_tokens": data.usage.outputTokens,
        "emend.end_reason": data.reason,
      });
      this.#endAll("aborted", ts);
    }
  }

  /** Ends the spans of a run that ended without its last event. */
  breakOff(): void {
    if (this.#run === undefined) return;
    this.#run.setAttributes({ "error.type": "closed" });
    this.#run.setStatus(FAILED);
    this.#endAll("closed");
  }

  #begin({ sessionId: session, ts }: AgentEvent): void {
    const attributes = {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "emend",
      "gen_ai.conversation.id": session,
      ...this.#model,
    };
    this.#run = this.#tracer.startSpan("invoke_agent emend", { attributes, startTime: ts }, this.#parent);
    this.#inside = this.#telemetry.trace.setSpan(this.#parent, this.#run);
  }

  #start(id: string, name: string, startTime: number, attributes: TelemetryAttributes): void {
    this.#open.set(id, this.#tracer.startSpan(name, { attributes, startTime }, this.#inside));
  }

  #end(id: string, time: number | undefined, failure: string | undefined): void {
    const span = this.#open.get(id);
    this.#open.delete(id);
    if (failure !== undefined) {
      span?.setAttributes({ "error.type": failure });
      span?.setStatus(FAILED);
    }
    span?.end(time);
  }

  #endAll(failure: string, time?: number): void {
    for (const id of [...this.#open.keys()]) this.#end(id, time, failure);
    this.#run?.end(time);
    this.#run = undefined;
  }
}
