/**
 * Loads and saves the choice of model and theme.
 *
 * The API key is in the memory of the page only, and in local storage only while the user has ticked "remember". It is
 * passed to the engine only.
 */
import type { AgentOptions } from "emend";
import { type Action, type Letters, USUAL_LETTERS } from "./letters.js";

/** The model that an agent uses. */
type Model = NonNullable<AgentOptions["model"]>;

/** Speed of the offline model: slow enough for a user to follow, or instant. */
export type Pace = "steady" | "slow" | "instant";

/** A provider over the network. */
export type Provider = "anthropic" | "openai" | "gemini" | "openai_compatible";

/** The texts of a provider in the model dialog. */
export interface ProviderInfo {
  readonly title: string;
  readonly text: string;
  readonly keyHint: string;
  /** The usual URL of the API. */
  readonly url: string;
  /** Models to choose from, the default first. */
  readonly models: readonly string[];
}

const SENT = "Your messages and the files the model reads are sent to the provider.";

export const PROVIDERS: Readonly<Record<Provider, ProviderInfo>> = {
  anthropic: {
    title: "Anthropic",
    text: `Uses your API key. ${SENT}`,
    keyHint: "sk-ant-…",
    url: "https://api.anthropic.com",
    models: ["claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-4-5"],
  },
  openai: {
    title: "OpenAI",
    text: `Uses your API key. ${SENT}`,
    keyHint: "sk-…",
    url: "https://api.openai.com/v1",
    models: ["gpt-5.6-sol", "gpt-5.6-luna", "gpt-6-astra", "gpt-5.3-codex"],
  },
  gemini: {
    title: "Google Gemini",
    text: `Uses your API key. ${SENT}`,
    keyHint: "AIza…",
    url: "https://generativelanguage.googleapis.com/v1beta",
    models: ["gemini-3.8-flash", "gemini-3.1-pro-preview"],
  },
  openai_compatible: {
    title: "Another server",
    text: "A server with OpenAI's Chat Completions API, such as Ollama or vLLM on this computer. It must allow this page (CORS).",
    keyHint: "optional",
    url: "http://localhost:11434/v1",
    models: [],
  },
};

export interface Settings {
  readonly provider: "offline" | Provider;
  readonly pace: Pace;
  readonly model: string;
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly remember: boolean;
}

/** How the agent works, and what the page shows of it. The model is a choice of its own. */
export interface Options {
  /** Whether the agent may run commands in the emulated shell. Each asks the user. */
  readonly shell: boolean;
  /** Whether the agent may start subagents. */
  readonly subagents: boolean;
  /** Limits of one run. 0 means unlimited. */
  readonly maxCostUsd: number;
  readonly maxTokens: number;
  /** Whether the browser tells when a run ends or waits while the page is hidden. */
  readonly notify: boolean;
  /** Whether the review shows old and new lines side by side. */
  readonly sideBySide: boolean;
  /** Whether conversations that the page starts on a server have the canvas tools. */
  readonly canvas: boolean;
}

export type Theme = "system" | "light" | "dark";

export const DEFAULT_SETTINGS: Settings = {
  provider: "offline",
  pace: "steady",
  model: "claude-sonnet-5-5",
  apiKey: "",
  baseUrl: "",
  remember: false,
};

export const DEFAULT_OPTIONS: Options = {
  shell: false,
  subagents: false,
  maxCostUsd: 0,
  maxTokens: 0,
  notify: false,
  sideBySide: false,
  canvas: true,
};

const OPTIONS_KEY = "emend.options";
const SETTINGS_KEY = "emend.settings";
const THEME_KEY = "emend.theme";
const LETTERS_KEY = "emend.keys";

/** Loads the saved settings. Returns defaults if there are none or if the browser blocks storage. */
export function loadSettings(): Settings {
  const stored = parseObject(readItem(SETTINGS_KEY));
  const text = (name: keyof Settings): string | undefined => {
    const value = stored[name];
    return typeof value === "string" ? value : undefined;
  };
  const apiKey = text("apiKey") ?? "";
  const provider = usableProvider(text("provider"), apiKey);
  const pace = text("pace");
  return {
    provider,
    pace: pace === "slow" || pace === "instant" ? pace : "steady",
    model: text("model") || DEFAULT_SETTINGS.model,
    apiKey,
    baseUrl: text("baseUrl") ?? "",
    remember: apiKey !== "",
  };
}

/** Loads the saved options. A value of another type is replaced by its default. */
export function loadOptions(): Options {
  const stored = parseObject(readItem(OPTIONS_KEY));
  const known = Object.entries(DEFAULT_OPTIONS).map(([name, usual]) => {
    const value = stored[name];
    const fits = typeof value === typeof usual && (typeof value !== "number" || (Number.isFinite(value) && value >= 0));
    return [name, fits ? value : usual];
  });
  return Object.fromEntries(known) as Options;
}

export function saveOptions(options: Options): void {
  writeItem(OPTIONS_KEY, JSON.stringify(options));
}

/** Returns the title of the saved provider whose key was not saved, so that it cannot be used; null otherwise. */
export function forgottenProvider(): string | null {
  const stored = parseObject(readItem(SETTINGS_KEY));
  const name = stored["provider"];
  if (typeof name !== "string" || name === "offline" || !Object.hasOwn(PROVIDERS, name)) return null;
  return loadSettings().provider === "offline" ? PROVIDERS[name as Provider].title : null;
}

/** Returns the saved provider, or the offline model if it needs a key that was not saved. */
function usableProvider(name: string | undefined, apiKey: string): Settings["provider"] {
  if (name === undefined || !Object.hasOwn(PROVIDERS, name)) return "offline";
  const provider = name as Provider;
  return apiKey !== "" || provider === "openai_compatible" ? provider : "offline";
}

/** Saves the settings, including the key only if the user chose to remember it. */
export function saveSettings(settings: Settings): void {
  const { apiKey, remember, ...rest } = settings;
  writeItem(SETTINGS_KEY, JSON.stringify(remember ? { ...rest, apiKey } : rest));
}

/** Converts the settings to the model options of the engine. */
export function modelOf(settings: Settings): Model {
  if (settings.provider === "offline") return { provider: "offline", paceMs: PACE_MS[settings.pace] };
  const { provider, apiKey, model, baseUrl } = settings;
  const options = { model, ...(baseUrl && { baseUrl }) };
  if (provider === "openai_compatible" && apiKey === "") return { provider, ...options };
  return { provider, apiKey, ...options };
}

/** Milliseconds before each piece of an answer. */
const PACE_MS: Record<Pace, number> = { steady: 14, slow: 90, instant: 0 };

/** Returns why the settings cannot be used, or null if they can. */
export function settingsProblem(settings: Settings): string | null {
  if (settings.provider === "offline") return null;
  const { title, url } = PROVIDERS[settings.provider];
  if (settings.provider === "openai_compatible") {
    if (settings.baseUrl === "") return `Enter the address of the server, for example ${url}.`;
  } else if (settings.apiKey.trim() === "") {
    return `Enter your ${title} API key.`;
  }
  if (settings.model.trim() === "") return "Enter the name of a model.";
  if (settings.baseUrl !== "" && !usableUrl(settings.baseUrl)) {
    return "The address must start with https://, or with http:// for a server on this computer, and have no password.";
  }
  return null;
}

/** Returns the address of the server that gets the requests, such as `https://api.anthropic.com`; null if there is none. */
export function serverOf(settings: Pick<Settings, "provider" | "baseUrl">): string | null {
  if (settings.provider === "offline") return null;
  const text = settings.baseUrl.trim() || PROVIDERS[settings.provider].url;
  try {
    return new URL(text).origin;
  } catch {
    return text;
  }
}

/** The settings whose key may be used with other settings only for the same provider and server. */
type KeyOwner = Pick<Settings, "provider" | "baseUrl" | "apiKey">;

/** Returns whether the key in `next` was saved for another server, so that it must be entered again. */
export function isKeyOfOther(saved: KeyOwner, next: KeyOwner): boolean {
  if (next.apiKey === "" || next.apiKey !== saved.apiKey || next.provider !== saved.provider) return false;
  return serverOf(saved) !== serverOf(next);
}

/** Returns the server that the next message would send the conversation to for the first time, or null. */
export function newReader(current: Settings, next: Settings): string | null {
  const server = serverOf(next);
  return server === serverOf(current) ? null : server;
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

/** Loads the letters of actions. Returns the usual ones if two actions have the same letter, or one has none. */
export function loadLetters(): Letters {
  const stored = parseObject(readItem(LETTERS_KEY));
  const all = Object.keys(USUAL_LETTERS).map((action) => [action, stored[action] ?? action] as [Action, unknown]);
  const isUsable = all.every(([, letter]) => /^[a-z]$/.test(String(letter)));
  const isUnique = new Set(all.map(([, letter]) => letter)).size === all.length;
  return isUsable && isUnique ? (Object.fromEntries(all) as Letters) : USUAL_LETTERS;
}

export function saveLetters(letters: Letters): void {
  writeItem(LETTERS_KEY, JSON.stringify(letters));
}

export function loadTheme(): Theme {
  const stored = readItem(THEME_KEY);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function saveTheme(theme: Theme): void {
  writeItem(THEME_KEY, theme);
}

function parseObject(text: string | null): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

// Storage throws if the browser blocks it. Settings then last as long as the page.
function readItem(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function writeItem(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Blocked storage, see above.
  }
}
