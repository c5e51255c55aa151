/**
 * Loads and saves the choice of model and theme.
 *
 * The API key is in the memory of the page only, and in local storage only while the user has ticked "remember". It is
 * passed to the engine only.
 */
import type { Model } from "./engine.js";

/** Speed of the offline model: slow enough for a user to follow, or instant. */
export type Pace = "steady" | "slow" | "instant";

export interface Settings {
  readonly provider: "offline" | "anthropic";
  readonly pace: Pace;
  readonly model: string;
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly remember: boolean;
}

export type Theme = "system" | "light" | "dark";

export const ANTHROPIC_URL = "https://api.anthropic.com";

export const DEFAULT_SETTINGS: Settings = {
  provider: "offline",
  pace: "steady",
  model: "claude-sonnet-4-5",
  apiKey: "",
  baseUrl: "",
  remember: false,
};

const SETTINGS_KEY = "emend.settings";
const THEME_KEY = "emend.theme";

/** Loads the saved settings. Returns defaults if there are none or if the browser blocks storage. */
export function loadSettings(): Settings {
  const stored = parseObject(readItem(SETTINGS_KEY));
  const text = (name: keyof Settings): string | undefined => {
    const value = stored[name];
    return typeof value === "string" ? value : undefined;
  };
  const apiKey = text("apiKey") ?? "";
  // Without a key, Anthropic cannot be used.
  const provider = text("provider") === "anthropic" && apiKey !== "" ? "anthropic" : "offline";
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

/** Saves the settings, including the key only if the user chose to remember it. */
export function saveSettings(settings: Settings): void {
  const { apiKey, remember, ...rest } = settings;
  writeItem(SETTINGS_KEY, JSON.stringify(remember ? { ...rest, apiKey } : rest));
}

/** Converts the settings to the model options of the engine. */
export function modelOf(settings: Settings): Model {
  if (settings.provider === "offline") return { provider: "offline", paceMs: PACE_MS[settings.pace] };
  const { apiKey, model, baseUrl } = settings;
  return baseUrl ? { provider: "anthropic", apiKey, model, baseUrl } : { provider: "anthropic", apiKey, model };
}

/** Milliseconds before each piece of an answer. */
const PACE_MS: Record<Pace, number> = { steady: 14, slow: 90, instant: 0 };

/** Returns why the settings cannot be used, or null if they can. */
export function settingsProblem(settings: Settings): string | null {
  if (settings.provider === "offline") return null;
  if (settings.apiKey.trim() === "") return "Enter your Anthropic API key.";
  if (settings.model.trim() === "") return "Enter the name of a model.";
  if (settings.baseUrl !== "" && !usableUrl(settings.baseUrl)) {
    return "The address must start with https://, or with http:// for a server on this computer.";
  }
  return null;
}

function usableUrl(text: string): boolean {
  try {
    const url = new URL(text);
    const local = url.hostname === "127.0.0.1" || url.hostname === "localhost";
    return url.protocol === "https:" || (url.protocol === "http:" && local);
  } catch {
    return false;
  }
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
