/**
 * Models behind OpenAI's and Gemini's APIs, and Anthropic's with further options: the client of `emend/llm` as a provider of the
 * agent. Its module is loaded by the first request, so that agents without such a model stay small.
 */

import { ConfigError } from "../errors.js";
import { checkHttp } from "../llm/http-settings.js";
import type { ApiName, ClientOptions, CustomProvider, Fallback, HttpProvider } from "../llm/types.js";
import { requireOptions } from "../validate.js";
import type { AgentOptions, CustomModel, HttpModel } from "./options.js";

/** The wire format of each provider. */
const APIS: Readonly<Record<HttpModel["provider"], ApiName>> = {
  anthropic: "anthropic-messages",
  openai: "openai-responses",
  openai_compatible: "openai-chat",
  gemini: "gemini",
};

const FIELDS = [
  "provider",
  "model",
  "apiKey",
  "baseUrl",
  "headers",
  "betas",
  "providerOptions",
  "webSearch",
  "safety",
  "constrainedTools",
  "fallback",
  "fallbackAttempts",
  "fallbackAfterMs",
];

/** The fields that Anthropic's adapter in the core has. */
const CORE_FIELDS = ["provider", "model", "apiKey", "baseUrl"];

/** The web search of each provider, as its API names it. */
const WEB_SEARCH: Readonly<Record<string, object>> = {
  anthropic: { type: "web_search_20250305", name: "web_search" },
  openai: { type: "web_search" },
  gemini: { google_search: {} },
};

/** Returns whether a model needs the client. Anthropic's API without further options is part of the core. */
export function isHttpModel(given: unknown): given is HttpModel {
  const { provider } = Object(given) as HttpModel;
  if (typeof provider !== "string" || !Object.hasOwn(APIS, provider)) return false;
  return provider !== "anthropic" || furtherOption(given as HttpModel) !== undefined;
}

/** Returns the name of an option that Anthropic's adapter in the core does not have. */
function furtherOption(given: HttpModel): string | undefined {
  return FIELDS.find((name) => !CORE_FIELDS.includes(name) && given[name as keyof HttpModel] !== undefined);
}

/** Returns the provider of a model. The agent's `fetch` sends its requests. */
export function httpProvider(given: HttpModel, send: NonNullable<AgentOptions["fetch"]>): CustomProvider {
  const { provider, model, fallback, fallbackAttempts: attempts, fallbackAfterMs: afterMs } = checked(given);
  const providers = [clientSettings(given, provider)];
  const options = requestOptions(given);
  let second: Fallback | undefined;
  if (fallback !== undefined) {
    const other = checked(fallback);
    for (const option of ["fallback", "fallbackAttempts", "fallbackAfterMs"] as const) {
      if (other[option] !== undefined) refuse(`the model in \`fallback\` has \`${option}\``);
    }
    // Parameters of requests are sent by the name of the provider.
    const shared = ["providerOptions", "webSearch", "safety"] as const;
    const own = other.provider === provider ? shared.find((option) => other[option] !== undefined) : undefined;
    if (own !== undefined) refuse(`\`fallback\` has the same provider, and takes \`${own}\` from the first model`);
    const name = other.provider === provider ? `${provider} (fallback)` : other.provider;
    providers.push(clientSettings(other, name));
    second = {
      provider: name,
      model: other.model,
      ...(attempts !== undefined && { attempts }),
      ...(afterMs !== undefined && { afterMs }),
    };
    if (name === other.provider) Object.assign(options, requestOptions(other));
  } else if (attempts !== undefined || afterMs !== undefined) {
    refuse("`fallbackAttempts` and `fallbackAfterMs` need a `fallback`");
  }
  const client = { providers, ...(second !== undefined && { fallback: second }), fetch: send };
  return throughClient(provider, model, client, options);
}

/** Returns a provider written in JavaScript whose model writes tool calls as JSON objects. */
export function constrainedProvider({ provider, model }: CustomModel): CustomProvider {
  return throughClient(provider.name, model ?? "", { providers: [withConstrainedTools(provider)] }, {});
}

function withConstrainedTools(provider: CustomProvider): CustomProvider {
  const { name, idleTimeoutMs } = provider;
  const stream: CustomProvider["stream"] = (request, options) => provider.stream(request, options);
  return { name, stream, constrainedTools: true, ...(idleTimeoutMs !== undefined && { idleTimeoutMs }) };
}

/** Returns a provider over a client, which is created by the first request. */
function throughClient(
  name: string,
  model: string,
  options: ClientOptions,
  providerOptions: Record<string, unknown>,
): CustomProvider {
  const create = async () => {
    const { Client } = await import("../llm/client.js");
    return Client.create(options);
  };
  let created: ReturnType<typeof create> | undefined;
  return {
    name,
    async *stream(request, { signal }) {
      created ??= create();
      // A module that could not be loaded is tried again by the next request.
      const opened = await created.catch((error: unknown) => {
        created = undefined;
        throw error;
      });
      const sent = { ...request, model: request.model || model, provider: name };
      yield* opened.stream(
        { ...sent, providerOptions: { ...request.providerOptions, ...providerOptions } },
        { signal },
      );
    },
  };
}

function clientSettings(given: HttpModel, name: string): HttpProvider {
  const { provider, apiKey, baseUrl, headers, betas, constrainedTools } = given;
  return {
    api: APIS[provider],
    name,
    ...(apiKey !== undefined && { apiKey }),
    ...(baseUrl !== undefined && { baseUrl }),
    ...(headers !== undefined && { headers }),
    ...(betas !== undefined && { betas }),
    ...(constrainedTools !== undefined && { constrainedTools }),
  };
}

/** Returns the parameters of a model's requests, by the name of its provider. */
function requestOptions({ provider, providerOptions, webSearch, safety }: HttpModel): Record<string, unknown> {
  const options: { tools?: unknown; safetySettings?: object[] } & Record<string, unknown> = { ...providerOptions };
  if (webSearch) {
    const search = WEB_SEARCH[provider];
    if (search === undefined) refuse(`the provider ${provider} has no \`webSearch\``);
    options.tools = [...(Array.isArray(options.tools) ? options.tools : []), search];
  }
  if (safety !== undefined && provider === "gemini") {
    options.safetySettings = Object.entries(safety).map(([category, threshold]) => ({ category, threshold }));
  }
  return Object.keys(options).length === 0 ? {} : { [provider]: options };
}

function refuse(why: string): never {
  throw new ConfigError("configuration", `the options are wrong: ${why}`);
}

function checked(given: HttpModel): HttpModel {
  for (const name of Object.keys(requireOptions("the model", given))) {
    if (!FIELDS.includes(name)) refuse(`unknown field \`${name}\` in \`model\`, expected one of ${FIELDS.join(", ")}`);
  }
  const { provider, model, apiKey, baseUrl } = given;
  if (!Object.hasOwn(APIS, provider)) refuse(`unknown provider \`${String(provider)}\``);
  if (typeof model !== "string" || model === "") {
    const extra = furtherOption(given);
    const cause = provider === "anthropic" && extra !== undefined ? `; it is required with \`${extra}\`` : "";
    refuse(`\`model\` of the provider ${provider} is missing${cause}`);
  }
  if (provider === "openai_compatible" && baseUrl === undefined) refuse("missing field `baseUrl`");
  if (apiKey === undefined && baseUrl === undefined) refuse("missing field `apiKey`");
  checkHttp(given);
  const { webSearch, constrainedTools } = given;
  for (const [name, value] of Object.entries({ webSearch, constrainedTools })) {
    if (value !== undefined && typeof value !== "boolean") refuse(`\`${name}\` is not a boolean`);
  }
  const { providerOptions, safety } = given;
  for (const [name, value] of Object.entries({ providerOptions, safety })) {
    if (value !== undefined) requireOptions(`\`${name}\``, value);
  }
  const { fallbackAttempts, fallbackAfterMs } = given;
  for (const [name, value] of Object.entries({ fallbackAttempts, fallbackAfterMs })) {
    if (value !== undefined && !(Number.isSafeInteger(value) && (value as number) > 0)) {
      refuse(`\`${name}\` is not a whole number over 0`);
    }
  }
  return given;
}
