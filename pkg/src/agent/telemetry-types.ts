/** The part of `@opentelemetry/api` that the option `telemetry` uses. The package itself is not needed. */

/** Attributes of a span. */
export type TelemetryAttributes = Record<string, string | number | boolean>;

/** A span of OpenTelemetry. */
export interface TelemetrySpan {
  setAttributes(attributes: TelemetryAttributes): unknown;
  setStatus(status: { code: number }): unknown;
  end(endTime?: number): void;
}

/** The module `@opentelemetry/api`, or an object with these two members of it. */
export interface Telemetry {
  trace: {
    getTracer(name: string): {
      startSpan(
        name: string,
        options?: { attributes?: TelemetryAttributes; startTime?: number },
        context?: unknown,
      ): TelemetrySpan;
    };
    setSpan(context: unknown, span: unknown): unknown;
  };
  context: { active(): unknown };
}
