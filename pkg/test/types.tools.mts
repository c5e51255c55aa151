// Compiled by types.test.mjs, never run: the types of arguments and results that follow from schemas.

import { Agent, type StandardSchema, tool } from "emend";
import { Client, type tool as toolOfClient } from "emend/llm";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function holds<_T extends true>(): void {}
holds<Equal<typeof tool, typeof toolOfClient>>();

/** A schema as zod declares it: with members of its own, and with different types before and after its conversions. */
interface ZodLike extends StandardSchema<{ city: string; days?: string | undefined }, { city: string; days: number }> {
  parse(value: unknown): { city: string; days: number };
  toJSONSchema(): object;
}
declare const zodLike: ZodLike;

const converted = tool({
  name: "weather",
  description: "Tells the weather.",
  parameters: zodLike,
  effect: "reads",
  execute(args, { signal, toolCallId }) {
    holds<Equal<typeof args, { city: string; days: number }>>();
    // @ts-expect-error no such argument
    args.country;
    return [signal.aborted, toolCallId];
  },
});
const described = tool({
  name: "run_tests",
  description: "Runs the tests.",
  parameters: {
    type: "object",
    properties: {
      filter: { type: "string" },
      level: { enum: ["quick", "full"] },
      retries: { type: "integer" },
      files: { type: "array", items: { type: "object", properties: { path: { type: "string" } }, required: ["path"] } },
      free: {},
    },
    required: ["level", "files"],
  },
  execute: (args) => {
    holds<
      Equal<
        typeof args,
        {
          level: "quick" | "full";
          files: { path: string }[];
          filter?: string | undefined;
          retries?: number | undefined;
          free?: unknown;
        }
      >
    >();
  },
});
declare const schema: object;
const unknown = tool({
  name: "any",
  description: "Takes anything.",
  parameters: schema,
  execute: (args) => holds<Equal<typeof args, unknown>>(),
});
// A schema of an unknown kind takes a stated type.
const stated = tool({
  name: "stated",
  description: "Takes a city.",
  parameters: schema,
  execute: ({ city }: { city: string }) => city,
});
const bare = tool({ name: "noop", description: "Does nothing.", parameters: { type: "object" }, execute: () => "ok" });
// @ts-expect-error no parameters
tool({ name: "noop", description: "Does nothing.", execute: () => "ok" });
// @ts-expect-error no such option
tool({ name: "noop", description: "Does nothing.", parameters: {}, run: () => "ok" });

const tools = [converted, described, unknown, stated, bare];
const agent = await Agent.create({ tools });
agent.configure({ tools: [converted] });
const client = await Client.create({});
await client.generate({ model: "m", prompt: "hi", tools });

const options = { model: "m", prompt: "Which city?" };
// The conversions of a schema do not apply to generated values.
const generated = await client.generateObject(options, zodLike);
holds<Equal<typeof generated, { city: string; days?: string | undefined }>>();
const city = await client.generateObject(options, {
  type: "object",
  properties: { city: { type: "string" }, size: { type: ["number", "null"] } },
  required: ["city"],
});
holds<Equal<typeof city, { city: string; size?: unknown }>>();
const streamed = await client.streamObject(options, { type: "array", items: { type: "string" } }).result;
holds<Equal<typeof streamed, string[]>>();
const anything = await client.generateObject(options, schema);
holds<Equal<typeof anything, unknown>>();
const named = await client.generateObject<{ n: number }>(options, { type: "object", properties: {} });
holds<Equal<typeof named, { n: number }>>();
const wide = await client.generateObject<Record<string, string>>(options, schema);
holds<Equal<typeof wide, Record<string, string>>>();
