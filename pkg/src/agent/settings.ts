/**
 * Checks an agent's options and converts them into the form that the core takes.
 *
 * The checks come before any call into wasm: the guard treats every unexpected exception there as a defect of the core.
 */

import { bytesOf } from "../bytes.js";
import { ConfigError } from "../errors.js";
import type { FilesIn } from "../files/types.js";
import type { HostFiles } from "../host/environment.js";
import type { ExecutionEnvironment } from "../host/environment-types.js";
import { openerOf, providerSettings } from "../llm/custom-provider.js";
import { checkHttp } from "../llm/http-settings.js";
import { wellFormed } from "../texts.js";
import { agentJson, filesProblem, requireOptions } from "../validate.js";
import { constrainedProvider, httpProvider, isHttpModel } from "./http-model.js";
import { offlineFetch } from "./offline-model.js";
import { internalName } from "./option-names.js";
import type {
  AgentOptions,
  AnthropicModel,
  CustomModel,
  ModelOptions,
  OfflineModel,
  PolicyRule,
  Quota,
} from "./options.js";
import { withQuestions } from "./protected-files.js";

/** Options as the core takes them, before they are encoded as JSON. */
export type Settings = Record<string, unknown>;

/** A function that answers model requests inside JavaScript, instead of HTTP. */
export type Opener = ReturnType<typeof openerOf> | ReturnType<typeof offlineFetch>;

/** A model's settings as plain data, and its function, if it has one. */
export interface SelectedModel {
  settings: unknown;
  open?: Opener | undefined;
}

/** Separates the plain data of a model's options from its function. */
export function selectModel(given: ModelOptions, send: NonNullable<AgentOptions["fetch"]>): SelectedModel {
  const { provider } = requireOptions("`model`", given);
  if (isHttpModel(given)) return selectModel({ provider: httpProvider(given, send), model: given.model }, send);
  if (provider === "offline") {
    const { wasm, ...settings } = given as OfflineModel;
    return { settings, open: offlineFetch(given as OfflineModel) };
  }
  if (provider === "anthropic") return { settings: anthropicSettings(given as AnthropicModel) };
  // The core reports a missing field.
  if (provider === undefined) return { settings: given };
  if (typeof provider !== "object" || provider === null) throw unknownProvider(provider);
  return customModel(given as CustomModel);
}

function customModel(given: CustomModel): SelectedModel {
  const { provider, model, constrainedTools = false, ...others } = given;
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw wrongOptions(`unknown field \`${other}\` in \`model\`, expected provider, model or constrainedTools`);
  if (typeof constrainedTools !== "boolean") throw wrongOptions("`constrainedTools` is not a boolean");
  const settings = { provider: "custom", ...providerSettings(provider), model };
  return { settings, open: openerOf(constrainedTools ? constrainedProvider(given) : provider) };
}

/** Checks the settings of a model behind Anthropic's API, which is part of the core. */
function anthropicSettings(given: AnthropicModel): AnthropicModel {
  checkHttp(given);
  // A proxy may add the key.
  return given.baseUrl === undefined ? given : { ...given, apiKey: given.apiKey ?? "" };
}

const PROVIDERS = ["offline", "anthropic", "openai", "openai_compatible", "gemini"];

function unknownProvider(provider: unknown): ConfigError {
  const found = typeof provider === "string" ? `unknown variant \`${provider}\`` : "`provider` is not a string";
  const names = PROVIDERS.map((name) => `\`${name}\``).join(", ");
  return wrongOptions(`${found}, expected one of ${names}, or an object with \`name\` and \`stream\``);
}

function wrongOptions(why: string): ConfigError {
  return new ConfigError("configuration", `the options are wrong: ${why}`);
}

/** Options for which `null` means the default, or that have an error of their own for it. */
const NULL_ACCEPTED = ["instructions", "effort", "files", "environment", "store"];

/**
 * Checks the options of {@link Agent.create}. `null` is an error: a missing policy or store must not go unnoticed
 * because a value was lost on its way.
 */
export function checkedOptions(options: AgentOptions): AgentOptions {
  refuseInternalNames(requireOptions("the options", options));
  for (const [name, value] of Object.entries(options)) {
    if (value === null && !NULL_ACCEPTED.includes(name))
      throw wrongOptions(`\`${name}\` is null; leave it out for its default`);
  }
  return options;
}

/** Rejects the names under which only the core knows options. */
export function refuseInternalNames(options: object): void {
  for (const [name, value] of Object.entries(options)) {
    const problem = value === undefined ? undefined : internalName(name);
    if (problem !== undefined) throw wrongOptions(problem);
  }
}

/** Wraps a host's environment, and rejects options that contradict it. Few agents have one, so its code is loaded here. */
export async function hostFilesOf(
  environment: ExecutionEnvironment,
  { files, quota, shell, mode }: AgentOptions,
): Promise<HostFiles> {
  const refuse = (why: string): never => {
    throw new ConfigError("configuration", why);
  };
  if (files !== undefined) refuse("give `files` or an `environment`, not both");
  if (quota !== undefined) refuse("`quota` applies to `files` only; limit the environment itself");
  if (shell) refuse("`shell` applies to `files` only; give the environment an `exec` method");
  const { HostFiles: Host } = await import("../host/environment.js");
  const host = new Host(environment);
  if (host.has("exec") && mode !== "direct") {
    refuse('the environment\'s `exec` needs `mode: "direct"`: its commands cannot see pending edits');
  }
  return host;
}

/** Returns the bytes of the given files, by path. */
export function initialContents(files: FilesIn): [path: string, bytes: Uint8Array][] {
  if (typeof Object(files).readDisk === "function") {
    throw new ConfigError(
      "configuration",
      "`files` belong to another copy of this package; give `await files.export()`",
    );
  }
  const problem = filesProblem("`files`", files);
  if (problem !== undefined) throw new ConfigError("configuration", problem);
  const names = new Set<string>();
  return Object.entries(files).map(([path, content]) => {
    const name = wellFormed(path);
    if (names.has(name)) {
      const why = "has the same name as another file once lone surrogates are replaced";
      throw new ConfigError("configuration", `files[${JSON.stringify(path)}] ${why}`);
    }
    names.add(name);
    const plain = plainPath(name);
    if (plain !== name && (names.has(plain) || Object.hasOwn(files, plain))) {
      const why = `is the file ${JSON.stringify(plain)} in another spelling`;
      throw new ConfigError("configuration", `files[${JSON.stringify(path)}] ${why}`);
    }
    names.add(plain);
    return [name, toBytes(path, content)];
  });
}

/** Returns a path without its empty, `.` and `..` parts. One that leads out of the root is refused by the core. */
function plainPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts.join("/");
}

function toBytes(path: string, content: unknown): Uint8Array {
  if (typeof content === "string") return new TextEncoder().encode(content);
  const bytes = bytesOf(content);
  if (bytes !== undefined) return bytes;
  throw new ConfigError("configuration", `files[${JSON.stringify(path)}] must be a string or a Uint8Array`);
}

/** The agent's tools that change files or run commands. */
const CHANGING = ["write_file", "edit_file", "edit_lines", "apply_patch", "safe_patch", "move_file", "shell"];

/** The rules without a `policy` if a function asks: reading, and questions of the model, need no approval. */
const UNASKED: readonly PolicyRule[] = ["read", "clarify_user"].map((tool) => ({ action: "allow", tool }));

/** The circumstances that the rules of an agent depend on. */
export interface Protection {
  /** Whether a function answers questions about calls. */
  asks: boolean;
  /** The host's files if edits are saved there at once. Programs may run some of them by themselves. */
  savesTo: HostFiles | undefined;
}

/**
 * Returns the settings as JSON for the core. `readOnly` becomes rules that precede those of `policy`, and writes of files
 * that programs run are asked about.
 */
export function settingsForCore({ readOnly = false, ...settings }: Settings, { asks, savesTo }: Protection): string {
  if (typeof readOnly !== "boolean" && readOnly !== null) {
    throw wrongOptions("`readOnly` is not a boolean");
  }
  const given = (settings as Pick<AgentOptions, "policy">).policy;
  if (!(readOnly || savesTo) || (given && !Array.isArray(given))) return agentJson(settings);
  const others = given ?? (asks ? UNASKED : []);
  const denied: PolicyRule[] = readOnly ? CHANGING.map((tool) => ({ action: "deny", tool })) : [];
  return agentJson({
    ...settings,
    policy: [...denied, ...(savesTo ? withQuestions(others, savesTo.ignoresCase) : others)],
  });
}

/** Returns the settings for a quota. */
export function quotaSettings(quota: Quota | undefined): Settings {
  const { bytes, files, ...others } = quota === undefined ? {} : requireOptions("`quota`", quota);
  const isLimit = (value: unknown): boolean =>
    value === undefined || (Number.isSafeInteger(value) && (value as number) >= 0);
  if (!isLimit(bytes) || !isLimit(files) || Object.keys(others).length > 0) {
    throw new ConfigError("configuration", "`quota` takes only `bytes` and `files`, both whole numbers");
  }
  return { quotaBytes: bytes, quotaFiles: files };
}
