/**
 * Loads and saves the choice of model and theme.
 *
 * The API key is in the memory of the page only, and in local storage only while the user has ticked "remember". It is
 * passed to the engine only.
 */
import { type Action, type Letters, USUAL_LETTERS } from "./letters.js";

/** Speed of the offline model: slow enough for a user to follow, or instant. */
export type Pace = "steady" | "slow" | "instant";

/** A provider over the network. */
export type Provider = "anthropic" | "openai" | "gemini" | "openai_compatible";

/** A provider as the page names it before the model dialog is loaded, and the usual URL of its API. */
export const PROVIDERS: Readonly<Record<Provider, { readonly title: string; readonly url: string }>> = {
  anthropic: { title: "Anthropic", url: "https://api.anthropic.com" },
  openai: { title: "OpenAI", url: "https://api.openai.com/v1" },
  gemini: { title: "Google Gemini", url: "https://generativelanguage.googleapis.com/v1beta" },
  openai_compatible: { title: "Another server", url: "http://localhost:11434/v1" },
};

/** A model that responds if the first one cannot be reached or is overloaded. */
export interface SecondModel {
  readonly provider: Provider;
  readonly model: string;
  readonly apiKey: string;
  readonly baseUrl: string;
}

export interface Settings {
  /** `script` is a model written in JavaScript. */
  readonly provider: "offline" | "script" | Provider;
  readonly pace: Pace;
  /** The model; of a script, the name that it has for the user. */
  readonly model: string;
  readonly apiKey: string;
  /** The address of the provider; of a script, that of its module, or "" if the page itself has it. */
  readonly baseUrl: string;
  readonly remember: boolean;
  readonly second: SecondModel | null;
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
  readonly maxMinutes: number;
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
  second: null,
};

export const DEFAULT_OPTIONS: Options = {
  shell: false,
  subagents: false,
  maxCostUsd: 0,
  maxTokens: 0,
  maxMinutes: 0,
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
  const second = secondOf(stored["second"]);
  return {
    provider,
    pace: pace === "slow" || pace === "instant" ? pace : "steady",
    model: text("model") || DEFAULT_SETTINGS.model,
    apiKey,
    baseUrl: text("baseUrl") ?? "",
    remember: apiKey !== "" || (second !== null && second.apiKey !== ""),
    second,
  };
}

/** Returns the saved second model, or null if it needs a key that was not saved. */
function secondOf(stored: unknown): SecondModel | null {
  const { provider = "", apiKey = "", model = "", baseUrl = "" } = (stored ?? {}) as Partial<SecondModel>;
  if (!Object.hasOwn(PROVIDERS, provider) || usableProvider(provider, apiKey) !== provider) return null;
  return { provider: provider as Provider, apiKey, model, baseUrl };
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

/** Returns the saved provider whose key was not saved, so that it cannot be used; null otherwise. */
export function forgottenProvider(): Provider | null {
  const stored = parseObject(readItem(SETTINGS_KEY));
  const name = stored["provider"];
  if (typeof name !== "string" || name === "offline" || !Object.hasOwn(PROVIDERS, name)) return null;
  return loadSettings().provider === "offline" ? (name as Provider) : null;
}

/** Returns the saved provider, or the offline model if it needs a key that was not saved. */
function usableProvider(name: string | undefined, apiKey: string): Settings["provider"] {
  if (name === "script") return name;
  if (name === undefined || !Object.hasOwn(PROVIDERS, name)) return "offline";
  const provider = name as Provider;
  return apiKey !== "" || provider === "openai_compatible" ? provider : "offline";
}

/** Saves the settings, including the keys only if the user chose to remember them. */
export function saveSettings(settings: Settings): void {
  const { apiKey, remember, second, ...rest } = settings;
  const keyless = { ...rest, second: second && { ...second, apiKey: "" } };
  writeItem(SETTINGS_KEY, JSON.stringify(remember ? { ...rest, apiKey, second } : keyless));
}

/** Returns the address of the server that gets the requests, such as `https://api.anthropic.com`; null if there is none. */
export function serverOf(settings: Pick<Settings, "provider" | "baseUrl">): string | null {
  if (settings.provider === "offline" || settings.provider === "script") return null;
  const text = settings.baseUrl.trim() || PROVIDERS[settings.provider].url;
  try {
    return new URL(text).origin;
  } catch {
    return text;
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
