/** Checks the options of a service and converts them into the form that its module takes. */

import { type Prepared, prepare, senderOf } from "../agent/create.js";
import type { AgentOptions, ModelOptions } from "../agent/options.js";
import { checkedOptions, type Opener, type SelectedModel, selectModel } from "../agent/settings.js";
import { ConfigError } from "../errors.js";
import { agentJson, requireOptions } from "../validate.js";
import type { ServiceOptions } from "./types.js";

/** The checked options of a service. */
export interface PreparedService {
  agent: Prepared;
  /** The options of the service, without functions. */
  json: string;
  /** Returns the function that opens the responses of a model. */
  opener(model: string): Opener | undefined;
}

const DEFAULT_MODEL: ModelOptions = { provider: "offline" };

/** Checks options. No module is loaded yet. */
export async function prepareService(options: ServiceOptions): Promise<PreparedService> {
  const {
    models = {},
    limits,
    routing,
    model = DEFAULT_MODEL,
    wasm,
    ...rest
  } = checkedOptions(options) as ServiceOptions;
  for (const name of ["mode", "questions", "approve"]) {
    if ((rest as Record<string, unknown>)[name] !== undefined)
      refuse(`\`${name}\` belongs to the sessions of a service`);
  }
  if ((rest as Record<string, unknown>)["telemetry"] !== undefined) refuse("`telemetry` belongs to an agent");
  const defaultModel = nameOf(model);
  const all = { [defaultModel]: model, ...requireOptions("`models`", models) };
  if (Object.hasOwn(models, defaultModel)) {
    refuse(`\`models\` has ${JSON.stringify(defaultModel)}, which is the name of \`model\``);
  }
  if (routing !== undefined && !Object.hasOwn(all, requireOptions("`routing`", routing).fallback as string)) {
    refuse(`\`routing.fallback\` names no model; the service has ${Object.keys(all).join(", ")}`);
  }
  const send = senderOf(rest);
  const selected = new Map<string, SelectedModel>();
  for (const [name, given] of Object.entries(all)) selected.set(name, selectModel(given, send));
  const settings = Object.fromEntries([...selected].map(([name, found]) => [name, found.settings]));
  const json = agentJson({ limits, models: settings, defaultModel, routing });
  // Commands of a host's environment are refused per session: they need a mode without pending edits.
  const agentOptions = rest.environment === undefined ? rest : { ...rest, mode: "direct" as const };
  return {
    agent: await prepare(agentOptions as AgentOptions, selectModel(DEFAULT_MODEL, send)),
    json,
    opener: (name) => selected.get(name)?.open,
  };
}

/** Returns the name of a model in sessions. */
function nameOf(given: ModelOptions): string {
  const { provider, model } = requireOptions("`model`", given) as { provider?: unknown; model?: unknown };
  if (typeof model === "string" && model !== "") return model;
  if (typeof provider === "string") return provider;
  const { name } = Object(provider) as { name?: unknown };
  return typeof name === "string" ? name : "default";
}

function refuse(why: string): never {
  throw new ConfigError("configuration", `the options are wrong: ${why}`);
}
