/** The texts of providers in the model dialog, and the checks of the user's entries. */
import { PROVIDERS, type Provider, type SecondModel, type Settings, serverOf } from "./settings.js";

/** The texts of a provider in the model dialog. */
export interface ProviderTexts {
  readonly text: string;
  readonly keyHint: string;
  /** Models to choose from, the default first. */
  readonly models: readonly string[];
}

const SENT = "Your messages and the files the model reads are sent to the provider.";

export const PROVIDER_TEXTS: Readonly<Record<Provider, ProviderTexts>> = {
  anthropic: {
    text: `Uses your API key. ${SENT}`,
    keyHint: "sk-ant-…",
    models: ["claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-4-5"],
  },
  openai: {
    text: `Uses your API key. ${SENT}`,
    keyHint: "sk-…",
    models: ["gpt-5.6-sol", "gpt-5.6-luna", "gpt-6-astra", "gpt-5.3-codex"],
  },
  gemini: {
    text: `Uses your API key. ${SENT}`,
    keyHint: "AIza…",
    models: ["gemini-3.8-flash", "gemini-3.1-pro-preview"],
  },
  openai_compatible: {
    text: "A server with OpenAI's Chat Completions API, such as Ollama or vLLM on this computer. It must allow this page (CORS).",
    keyHint: "optional",
    models: [],
  },
};

/** Returns why the settings cannot be used, or null if they can. */
export function settingsProblem(settings: Settings): string | null {
  if (settings.provider === "offline") return null;
  if (settings.provider === "script") return scriptProblem(settings);
  const second = settings.second && problemOf(settings.second);
  return problemOf(settings) ?? (second && `Second model: ${second}`);
}

function problemOf({ provider, apiKey, model, baseUrl }: Omit<SecondModel, "provider"> & Pick<Settings, "provider">) {
  if (provider === "offline" || provider === "script") return null;
  const { title, url } = PROVIDERS[provider];
  if (provider === "openai_compatible") {
    if (baseUrl === "") return `Enter the address of the server, for example ${url}.`;
  } else if (apiKey.trim() === "") {
    return `Enter your ${title} API key.`;
  }
  if (model.trim() === "") return "Enter the name of a model.";
  if (baseUrl !== "" && !usableUrl(baseUrl)) {
    return "The address must start with https://, or with http:// for a server on this computer, and have no password.";
  }
  return null;
}

/** The policy of the page runs scripts of its own site only. */
function scriptProblem({ model, baseUrl }: Settings): string | null {
  if (baseUrl === "") return model === "" ? "Enter the address of a module." : null;
  if (!URL.canParse(baseUrl, location.href)) return "Enter the address of a module.";
  const isOwn = new URL(baseUrl, location.href).origin === location.origin;
  return isOwn ? null : `The module must be on the site of this page, ${location.origin}.`;
}

/** The settings whose key may be used with other settings only for the same provider and server. */
type KeyOwner = Pick<Settings, "provider" | "baseUrl" | "apiKey">;

/** Returns whether the key in `next` was saved for another server, so that it must be entered again. */
export function isKeyOfOther(saved: KeyOwner, next: KeyOwner): boolean {
  if (next.apiKey === "" || next.apiKey !== saved.apiKey || next.provider !== saved.provider) return false;
  return serverOf(saved) !== serverOf(next);
}

/** Returns the readers to which the next messages would send the conversation for the first time, or null. */
export function newReader(current: Settings, next: Settings): string | null {
  const known = new Set(readersOf(current));
  const readers = readersOf(next).filter((reader) => !known.has(reader));
  return readers.length === 0 ? null : readers.join(" and ");
}

function readersOf(settings: Settings): readonly string[] {
  const { provider, model, baseUrl, second } = settings;
  if (provider === "script") return [baseUrl === "" ? `the script of ${model}` : `the script ${baseUrl}`];
  return [serverOf(settings), second && serverOf(second)].filter((server) => server !== null);
}

function usableUrl(text: string): boolean {
  try {
    const url = new URL(text);
    if (url.username !== "" || url.password !== "") return false;
    const local = url.hostname === "127.0.0.1" || url.hostname === "localhost";
    return url.protocol === "https:" || (url.protocol === "http:" && local);
  } catch {
    return false;
  }
}
