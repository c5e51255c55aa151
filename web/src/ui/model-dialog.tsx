/** The model dialog: the offline model, a provider with the user's own key, or a script; and a second model. */
import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { chooseModel } from "../actions/run.js";
import { type Check, checkModel, findLocal, type LocalServer } from "../model-check.js";
import { isKeyOfOther, newReader, PROVIDER_TEXTS, settingsProblem } from "../model-settings.js";
import { reveal } from "../reveal.js";
import { modelAt, offeredModels } from "../scripts.js";
import { type Pace, PROVIDERS, type Provider, type SecondModel, type Settings, serverOf } from "../settings.js";
import { chat, settings } from "../store.js";
import { Icon } from "./icons.js";
import { closeDialog, Modal } from "./modal.js";
import { ScriptFields, SecondFields } from "./model-fields.js";

/** The models that the server listed when it was checked last. */
const listed = signal<readonly string[]>([]);

/** The values that the user has entered for a provider. */
type Entered = Pick<Settings, "apiKey" | "model" | "baseUrl">;

/** A choice of the dialog: a provider, a model that a script of the site offers, or a module. */
type Chosen = Exclude<Settings["provider"], "script"> | `offered ${string}` | "module";

const isScript = (choice: Chosen): boolean => choice === "module" || choice.startsWith("offered ");

function choiceOf({ provider, baseUrl, model }: Settings): Chosen {
  if (provider !== "script") return provider;
  return baseUrl === "" ? `offered ${model}` : "module";
}

/** With `provider`, the dialog opens on that one. */
export function ModelDialog({ provider }: { provider?: Provider | undefined }) {
  const first: Settings = provider ? { ...settings.value, provider } : settings.value;
  const chosen = useSignal<Settings>(first);
  const choice = useSignal<Chosen>(choiceOf(first));
  const tried = useSignal(false);
  const refused = useSignal("");
  const entered = useSignal<Partial<Record<Chosen, Entered>>>({});
  const offered = offeredModels();
  const typedKeys = useSignal<ReadonlySet<Settings["provider"]>>(new Set());
  const set = (change: Partial<Settings>): void => {
    chosen.value = { ...chosen.value, ...change };
  };
  const setByUser = (change: Partial<Settings>): void => {
    if (change.apiKey !== undefined) typedKeys.value = new Set([...typedKeys.value, chosen.value.provider]);
    set(change);
  };
  // Each provider keeps its own key, model and address while the dialog is open.
  const choose = (next: Chosen): void => {
    const { apiKey, model, baseUrl } = chosen.value;
    if (next === choice.value) return;
    entered.value = { ...entered.value, [choice.value]: { apiKey, model, baseUrl } };
    const known = entered.value[next];
    if (isScript(next)) {
      const name = next === "module" ? (known?.model ?? "") : next.slice("offered ".length);
      set({ provider: "script", apiKey: "", model: name, baseUrl: known?.baseUrl ?? "" });
    } else {
      const provider = next as "offline" | Provider;
      const usual = provider === "offline" ? model : (PROVIDER_TEXTS[provider].models[0] ?? "");
      set({ provider, ...(known ?? { apiKey: "", model: usual, baseUrl: "" }) });
    }
    [choice.value, tried.value, refused.value] = [next, false, ""];
  };
  // Derived, so that the key is back when the address is.
  const withheld = !typedKeys.value.has(chosen.value.provider) && isKeyOfOther(settings.value, chosen.value);
  const trimmed: Settings = {
    ...chosen.value,
    apiKey: withheld ? "" : chosen.value.apiKey.trim(),
    model: chosen.value.model.trim(),
    baseUrl: trimmedUrl(chosen.value.baseUrl),
    second: chosen.value.provider === "offline" ? null : trimmedSecond(chosen.value.second),
  };
  const isModule = choice.value === "module";
  const problem = isModule && trimmed.baseUrl === "" ? "Enter the address of a module." : settingsProblem(trimmed);
  const reader = chat.value.entries.some((entry) => entry.kind === "user") ? newReader(settings.value, trimmed) : null;
  return (
    <Modal title="Model" onCancel={closeDialog}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          tried.value = true;
          if (problem !== null) return;
          void named(trimmed).then(
            (settled) => chooseModel(settled).then(closeDialog),
            (error: Error) => {
              refused.value = `The module has no model: ${error.message}.`;
            },
          );
        }}
      >
        <fieldset class="choices">
          <legend class="visually-hidden">Model</legend>
          <Choice
            value="offline"
            chosen={choice.value}
            onChoose={choose}
            title="Offline model (no AI)"
            text="Needs no key and no network. Carries out a handful of fixed instructions on your files, with the same tools and review."
          />
          {(Object.keys(PROVIDERS) as Provider[]).map((provider) => (
            <Choice
              key={provider}
              value={provider}
              chosen={choice.value}
              onChoose={choose}
              title={PROVIDERS[provider].title}
              text={PROVIDER_TEXTS[provider].text}
            />
          ))}
          {offered.map(({ name }) => (
            <Choice
              key={`offered ${name}`}
              value={`offered ${name}`}
              chosen={choice.value}
              onChoose={choose}
              title={reveal(name)}
              text="A script of this site offers this model. Your messages and the files the model reads go to the script."
            />
          ))}
          <Choice
            value="module"
            chosen={choice.value}
            onChoose={choose}
            title="JavaScript module"
            text="A model of your own, written in JavaScript. Your messages and the files the model reads go to the script."
          />
        </fieldset>
        {chosen.value.provider === "offline" ? (
          <OfflineFields chosen={chosen.value} set={set} />
        ) : chosen.value.provider === "script" ? (
          isModule && <ScriptFields address={chosen.value.baseUrl} set={set} />
        ) : (
          <ProviderFields provider={chosen.value.provider} chosen={chosen.value} set={setByUser} withheld={withheld} />
        )}
        {chosen.value.provider !== "offline" && <CheckRow settings={trimmed} set={set} problem={problem} />}
        {chosen.value.provider !== "offline" && <Second settings={chosen.value} set={set} />}
        {reader !== null && (
          <p class="field-warning" role="note">
            <Icon name="warning" size={14} /> Your next message sends this conversation, with the file contents in it,
            to {reader}. “New conversation” above the messages starts without it.
          </p>
        )}
        <p class="field-problem" role="alert">
          {refused.value || (tried.value ? problem : "")}
        </p>
        <div class="modal-foot">
          <button class="button" type="button" onClick={closeDialog}>
            Cancel
          </button>
          <button class="button primary" type="submit">
            Use this model
          </button>
        </div>
      </form>
    </Modal>
  );
}

function trimmedUrl(text: string): string {
  return text.trim().replace(/\/+$/, "");
}

function trimmedSecond(second: SecondModel | null): SecondModel | null {
  if (second === null) return null;
  const { provider, apiKey, model, baseUrl } = second;
  return { provider, apiKey: apiKey.trim(), model: model.trim(), baseUrl: trimmedUrl(baseUrl) };
}

/** Returns the settings with the name that a module gives its model. Throws if it has none. */
async function named(settled: Settings): Promise<Settings> {
  if (settled.provider !== "script" || settled.baseUrl === "") return settled;
  return { ...settled, model: (await modelAt(settled.baseUrl)).name };
}

/** The model that responds if the first one cannot be reached or is overloaded. */
function Second({ settings: { second, remember }, set }: { settings: Settings; set: Set }) {
  const choose = (name: string): void => {
    const provider = name as Provider | "";
    const model = provider === "" ? "" : (PROVIDER_TEXTS[provider].models[0] ?? "");
    set({ second: provider === "" ? null : { provider, apiKey: "", model, baseUrl: "" } });
  };
  return (
    <div class="fields second">
      <label class="field">
        <span>
          Second model <span class="faint">(asked if the first one cannot be reached or is overloaded)</span>
        </span>
        <select value={second?.provider ?? ""} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="">None</option>
          {(Object.keys(PROVIDERS) as Provider[]).map((provider) => (
            <option key={provider} value={provider}>
              {PROVIDERS[provider].title}
            </option>
          ))}
        </select>
      </label>
      {second !== null && <SecondFields second={second} remember={remember} set={set} />}
    </div>
  );
}

interface CheckProps {
  readonly settings: Settings;
  readonly set: Set;
  /** Why the settings cannot be used, so that there is nothing to check. */
  readonly problem: string | null;
}

/** Checks the settings against the server, and finds servers on this computer. Nothing is sent before a click. */
function CheckRow({ settings: checked, set, problem }: CheckProps) {
  const result = useSignal<Check | null>(null);
  const busy = useSignal(false);
  const servers = useSignal<readonly LocalServer[] | null>(null);
  const identity = `${checked.provider} ${checked.baseUrl} ${checked.model} ${checked.apiKey}`;
  useEffect(() => {
    result.value = null;
  }, [identity]);
  const check = (): void => {
    busy.value = true;
    void checkModel(checked).then((found) => {
      busy.value = false;
      result.value = found;
      if (found.models.length > 0) listed.value = found.models;
    });
  };
  const find = (): void => {
    busy.value = true;
    void findLocal().then((found) => {
      busy.value = false;
      servers.value = found;
    });
  };
  const isLocal = checked.provider === "openai_compatible";
  return (
    <>
      <div class="model-check">
        <button class="button small" type="button" disabled={busy.value || problem !== null} onClick={check}>
          Check
        </button>
        {isLocal && (
          <button class="button small" type="button" disabled={busy.value} onClick={find}>
            Find servers on this computer
          </button>
        )}
        <span role="status" class={result.value === null ? "faint" : result.value.ok ? "good" : "bad"}>
          {busy.value
            ? "Asking…"
            : (result.value?.text ?? (servers.value?.length === 0 ? "No server answers on this computer." : ""))}
        </span>
      </div>
      {isLocal && servers.value !== null && servers.value.length > 0 && (
        <ul class="chips" aria-label="Servers on this computer">
          {servers.value.flatMap((server) =>
            server.models.map(({ id, window }) => (
              <li key={`${server.baseUrl} ${id}`}>
                <button class="chip" type="button" onClick={() => set({ baseUrl: server.baseUrl, model: id })}>
                  {server.name}: {id}
                  {window !== null && <span class="faint"> {window.toLocaleString("en")} tokens</span>}
                </button>
              </li>
            )),
          )}
        </ul>
      )}
    </>
  );
}

type Set = (change: Partial<Settings>) => void;

interface ChoiceProps {
  value: Chosen;
  chosen: Chosen;
  onChoose: (choice: Chosen) => void;
  title: string;
  text: string;
}

function Choice(props: ChoiceProps) {
  const checked = props.value === props.chosen;
  return (
    <label class={checked ? "choice checked" : "choice"}>
      <input type="radio" name="provider" checked={checked} onChange={() => props.onChoose(props.value)} />
      <span>
        <strong>{props.title}</strong>
        {checked && <span class="choice-text">{props.text}</span>}
      </span>
    </label>
  );
}

const PACES: Record<Pace, string> = {
  steady: "Steady, easy to follow",
  slow: "Slow, to see every step",
  instant: "As fast as possible",
};

function OfflineFields({ chosen, set }: { chosen: Settings; set: Set }) {
  return (
    <div class="fields">
      <label class="field">
        <span>Pace</span>
        <select value={chosen.pace} onChange={(event) => set({ pace: event.currentTarget.value as Pace })}>
          {(Object.keys(PACES) as Pace[]).map((pace) => (
            <option key={pace} value={pace}>
              {PACES[pace]}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

interface ProviderProps {
  provider: Provider;
  chosen: Settings;
  set: Set;
  /** Whether the saved key belongs to another server. */
  withheld: boolean;
}

function ProviderFields({ provider, chosen, set, withheld }: ProviderProps) {
  const { url } = PROVIDERS[provider];
  const { keyHint, models } = PROVIDER_TEXTS[provider];
  const needsUrl = provider === "openai_compatible";
  return (
    <div class="fields">
      <label class="field">
        <span>API key {needsUrl && <span class="faint">(optional)</span>}</span>
        <input
          type="password"
          autoComplete="off"
          spellcheck={false}
          placeholder={keyHint}
          value={withheld ? "" : chosen.apiKey}
          onInput={(event) => set({ apiKey: event.currentTarget.value })}
        />
      </label>
      {withheld && (
        <p class="field-warning">
          The key was entered for {serverOf(settings.value)} and is not sent to another server. Enter the key for this
          one.
        </p>
      )}
      <label class="check">
        <input
          type="checkbox"
          checked={chosen.remember}
          onChange={(event) => set({ remember: event.currentTarget.checked })}
        />
        <span>Remember the key in this browser</span>
      </label>
      <p class="field-note">
        The key goes from this page to the provider and nowhere else. It is kept in memory until you close the page, or
        in this browser's storage if you tick “remember”.
      </p>
      <label class="field">
        <span>Model</span>
        <input
          type="text"
          list="known-models"
          spellcheck={false}
          value={chosen.model}
          onInput={(event) => set({ model: event.currentTarget.value })}
        />
        <datalist id="known-models">
          {[...new Set([...models, ...listed.value])].map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </label>
      <label class="field">
        <span>Base URL {!needsUrl && <span class="faint">(optional)</span>}</span>
        <input
          type="url"
          spellcheck={false}
          placeholder={url}
          value={chosen.baseUrl}
          onInput={(event) => set({ baseUrl: event.currentTarget.value })}
        />
      </label>
    </div>
  );
}
