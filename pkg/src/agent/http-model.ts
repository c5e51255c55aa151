/**
 * Models behind OpenAI's and Gemini's APIs, and Anthropic's with headers: the client of `emend/llm` as a provider of the
 * agent. Its module is loaded by the first request, so that agents without such a model stay small.
 */

import { ConfigError } from "../errors.js";
import type { ApiName, CustomProvider, HttpProvider } from "../llm/types.js";
import type { AgentOptions, HttpModel } from "./options.js";

/** The wire format of each provider. */
const APIS: Readonly<Record<HttpModel["provider"], ApiName>> = {
  anthropic: "anthropic-messages",
  openai: "openai-responses",
  openai_compatible: "openai-chat",
  gemini: "gemini",
};

const FIELDS = ["provider", "model", "apiKey", "baseUrl", "headers", "betas"];

/** Returns whether a model needs the client. Anthropic's API without headers is part of the core. */
export function isHttpModel(given: unknown): given is HttpModel {
  const { provider, headers, betas } = Object(given) as HttpModel;
  if (typeof provider !== "string" || !Object.hasOwn(APIS, provider)) return false;
  return provider !== "anthropic" || headers !== undefined || betas !== undefined;
}

/** Returns the provider of a model. The agent's `fetch` sends its requests. */
export function httpProvider(given: HttpModel, send: NonNullable<AgentOptions["fetch"]>): CustomProvider {
  const { provider, model, ...options } = checked(given);
  const settings: HttpProvider = { ...options, api: APIS[provider], name: provider };
  const client = async () => {
    const { Client } = await import("../llm/client.js");
    return Client.create({ providers: [settings], fetch: send });
  };
  let created: ReturnType<typeof client> | undefined;
  return {
    name: provider,
    async *stream(request, { signal }) {
      created ??= client();
      // A module that could not be loaded is tried again by the next request.
      const opened = await created.catch((error: unknown) => {
        created = undefined;
        throw error;
      });
      yield* opened.stream({ ...request, model: request.model || model, provider }, { signal });
    },
  };
}

function checked(given: HttpModel): HttpModel {
  const refuse = (why: string): never => {
    throw new ConfigError("configuration", `the options are wrong: ${why}`);
  };
  for (const name of Object.keys(given)) {
    if (!FIELDS.includes(name)) refuse(`unknown field \`${name}\` in \`model\`, expected one of ${FIELDS.join(", ")}`);
  }
  const { provider, model, apiKey, baseUrl } = given;
  if (typeof model !== "string" || model === "") refuse(`\`model\` of the provider ${provider} is missing`);
  if (apiKey === undefined && provider !== "openai_compatible") refuse("missing field `apiKey`");
  if (provider === "openai_compatible" && baseUrl === undefined) refuse("missing field `baseUrl`");
  for (const [name, value] of Object.entries({ apiKey, baseUrl })) {
    if (value !== undefined && typeof value !== "string") refuse(`\`${name}\` is not a string`);
  }
  return given;
}
