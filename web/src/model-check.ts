/**
 * Asks a model's server for its models, which costs nothing, and finds servers on this computer.
 *
 * Both happen only when the user asks for it. The key goes to the address of the settings and nowhere else.
 */
import { PROVIDERS, type Settings } from "./settings.js";

/** The result of a check, as a sentence, and the models that the server has. */
export interface Check {
  readonly ok: boolean;
  readonly text: string;
  readonly models: readonly string[];
}

/** A server on this computer with OpenAI's Chat Completions API. */
export interface LocalServer {
  readonly name: string;
  readonly baseUrl: string;
  readonly models: readonly LocalModel[];
}

export interface LocalModel {
  readonly id: string;
  /** The number of tokens that the server gives the model, if it says so. */
  readonly window: number | null;
}

const CHECK_MS = 10_000;
const PROBE_MS = 1_500;

/** Checks whether the key and the address work, and whether the server has the model. */
export async function checkModel(settings: Settings): Promise<Check> {
  if (settings.provider === "script") return checkScript(settings);
  if (settings.provider === "offline") return { ok: true, text: "The offline model needs no server.", models: [] };
  const { url, headers } = request(settings);
  let response: Response;
  try {
    response = await fetch(url, { headers, signal: AbortSignal.timeout(CHECK_MS) });
  } catch (error) {
    const timedOut = error instanceof DOMException && error.name === "TimeoutError";
    const why = timedOut ? "did not answer in 10 seconds" : "cannot be reached, or does not allow this page (CORS)";
    return { ok: false, text: `${new URL(url).host} ${why}.`, models: [] };
  }
  const body = (await response.json().catch(() => null)) as unknown;
  if (!response.ok) return { ok: false, text: refusal(response.status, body), models: [] };
  const models = modelsOf(body);
  if (models.length > 0 && settings.model !== "" && !models.includes(settings.model)) {
    return { ok: false, text: `The server answers, but does not list the model ${settings.model}.`, models };
  }
  return { ok: true, text: `It works: the server lists ${models.length} models.`, models };
}

/** Loads the module of a script, which asks no model. */
async function checkScript({ baseUrl, model }: Settings): Promise<Check> {
  try {
    const { modelAt, offeredModels } = await import("./scripts.js");
    const name =
      baseUrl === "" ? offeredModels().find((each) => each.name === model)?.name : (await modelAt(baseUrl)).name;
    const text = name === undefined ? `No script of this page offers ${model} now.` : `It works: the model is ${name}.`;
    return { ok: name !== undefined, text, models: [] };
  } catch (error) {
    return {
      ok: false,
      text: `The module has no model: ${error instanceof Error ? error.message : error}.`,
      models: [],
    };
  }
}

function request({ provider, apiKey, baseUrl }: Settings): { url: string; headers: Record<string, string> } {
  if (provider === "offline" || provider === "script") throw new Error("the offline model has no server");
  const base = (baseUrl || PROVIDERS[provider].url).replace(/\/+$/, "");
  switch (provider) {
    case "anthropic":
      return {
        url: `${base.replace(/\/v1$/, "")}/v1/models?limit=100`,
        headers: {
          "x-api-key": apiKey,
          "anthropic-version": "2023-06-01",
          "anthropic-dangerous-direct-browser-access": "true",
        },
      };
    case "gemini":
      return { url: `${base}/models?pageSize=200`, headers: { "x-goog-api-key": apiKey } };
    default:
      return { url: `${base}/models`, headers: apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` } };
  }
}

function refusal(status: number, body: unknown): string {
  const { error } = (body ?? {}) as { error?: { message?: unknown } | string };
  const said = typeof error === "string" ? error : error?.message;
  const words = typeof said === "string" ? ` It says: ${said}` : "";
  if (status === 401 || status === 403) return `The server refuses the key.${words}`;
  return `The server answers with status ${status}.${words}`;
}

/** Returns the ids of models in any of the providers' lists. */
function modelsOf(body: unknown): readonly string[] {
  const { data, models } = (body ?? {}) as { data?: unknown; models?: unknown };
  const list = Array.isArray(data) ? data : Array.isArray(models) ? models : [];
  return list.flatMap((item) => {
    const { id, name } = (item ?? {}) as { id?: unknown; name?: unknown };
    const found = typeof id === "string" ? id : typeof name === "string" ? name.replace(/^models\//, "") : null;
    return found === null ? [] : [found];
  });
}

/** The usual addresses of servers on one's own computer. */
const LOCAL: readonly (readonly [name: string, origin: string])[] = [
  ["Ollama", "http://localhost:11434"],
  ["llama.cpp", "http://localhost:8080"],
  ["LM Studio", "http://localhost:1234"],
  ["vLLM", "http://localhost:8000"],
];

/** Looks for servers on this computer, with their models and the sizes of their context windows. */
export async function findLocal(origins = LOCAL): Promise<readonly LocalServer[]> {
  const found = await Promise.all(
    origins.map(async ([name, origin]): Promise<LocalServer | null> => {
      const ids = modelsOf(await getJson(`${origin}/v1/models`));
      if (ids.length === 0) return null;
      const windows = await Promise.all(ids.map((id) => windowOf(origin, id)));
      return {
        name,
        baseUrl: `${origin}/v1`,
        models: ids.map((id, index) => ({ id, window: windows[index] ?? null })),
      };
    }),
  );
  return found.filter((server) => server !== null);
}

/** Asks for the size of a model's context window, in the ways of Ollama, llama.cpp and LM Studio. */
async function windowOf(origin: string, id: string): Promise<number | null> {
  const ollama = (await getJson(`${origin}/api/show`, { model: id })) as {
    model_info?: Record<string, unknown>;
  } | null;
  const named = Object.entries(ollama?.model_info ?? {}).find(([key]) => key.endsWith(".context_length"));
  if (typeof named?.[1] === "number") return named[1];
  const llama = (await getJson(`${origin}/props`)) as { default_generation_settings?: { n_ctx?: unknown } } | null;
  const size = llama?.default_generation_settings?.n_ctx;
  if (typeof size === "number") return size;
  const studio = (await getJson(`${origin}/api/v0/models/${encodeURIComponent(id)}`)) as {
    loaded_context_length?: unknown;
    max_context_length?: unknown;
  } | null;
  const given = studio?.loaded_context_length ?? studio?.max_context_length;
  return typeof given === "number" ? given : null;
}

async function getJson(url: string, body?: unknown): Promise<unknown> {
  try {
    // Without a content type of its own, so that no question comes first; these servers read JSON all the same.
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(PROBE_MS) });
    return response.ok ? ((await response.json()) as unknown) : null;
  } catch {
    return null;
  }
}
