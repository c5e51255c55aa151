/** The model dialog: the offline model, or a provider with the user's own key. */
import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { chooseModel } from "../actions/run.js";
import { type Check, checkModel, findLocal, type LocalServer } from "../model-check.js";
import {
  isKeyOfOther,
  newReader,
  type Pace,
  PROVIDERS,
  type Provider,
  type Settings,
  serverOf,
  settingsProblem,
} from "../settings.js";
import { chat, settings } from "../store.js";
import { Icon } from "./icons.js";
import { closeDialog, Modal } from "./modal.js";

/** The models that the server listed when it was checked last. */
const listed = signal<readonly string[]>([]);

/** The values that the user has entered for a provider. */
type Entered = Pick<Settings, "apiKey" | "model" | "baseUrl">;

export function ModelDialog() {
  const chosen = useSignal<Settings>(settings.value);
  const tried = useSignal(false);
  const entered = useSignal<Partial<Record<Settings["provider"], Entered>>>({});
  const typedKeys = useSignal<ReadonlySet<Settings["provider"]>>(new Set());
  const set = (change: Partial<Settings>): void => {
    chosen.value = { ...chosen.value, ...change };
  };
  const setByUser = (change: Partial<Settings>): void => {
    if (change.apiKey !== undefined) typedKeys.value = new Set([...typedKeys.value, chosen.value.provider]);
    set(change);
  };
  // Each provider keeps its own key, model and address while the dialog is open.
  const choose = (provider: Settings["provider"]): void => {
    const { provider: before, apiKey, model, baseUrl } = chosen.value;
    if (provider === before) return;
    entered.value = { ...entered.value, [before]: { apiKey, model, baseUrl } };
    const usual = provider === "offline" ? model : (PROVIDERS[provider].models[0] ?? "");
    set({ provider, ...(entered.value[provider] ?? { apiKey: "", model: usual, baseUrl: "" }) });
    tried.value = false;
  };
  // Derived, so that the key is back when the address is.
  const withheld = !typedKeys.value.has(chosen.value.provider) && isKeyOfOther(settings.value, chosen.value);
  const trimmed: Settings = {
    ...chosen.value,
    apiKey: withheld ? "" : chosen.value.apiKey.trim(),
    model: chosen.value.model.trim(),
    baseUrl: chosen.value.baseUrl.trim().replace(/\/+$/, ""),
  };
  const problem = settingsProblem(trimmed);
  const reader = chat.value.entries.some((entry) => entry.kind === "user") ? newReader(settings.value, trimmed) : null;
  return (
    <Modal title="Model" onCancel={closeDialog}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          tried.value = true;
          if (problem !== null) return;
          void chooseModel(trimmed).then(closeDialog);
        }}
      >
        <fieldset class="choices">
          <legend class="visually-hidden">Model</legend>
          <Choice
            value="offline"
            chosen={chosen.value.provider}
            onChoose={choose}
            title="Offline model (no AI)"
            text="Needs no key and no network. Carries out a handful of fixed instructions on your files, with the same tools and review."
          />
          {(Object.keys(PROVIDERS) as Provider[]).map((provider) => (
            <Choice
              key={provider}
              value={provider}
              chosen={chosen.value.provider}
              onChoose={choose}
              title={PROVIDERS[provider].title}
              text={PROVIDERS[provider].text}
            />
          ))}
        </fieldset>
        {chosen.value.provider === "offline" ? (
          <OfflineFields chosen={chosen.value} set={set} />
        ) : (
          <ProviderFields provider={chosen.value.provider} chosen={chosen.value} set={setByUser} withheld={withheld} />
        )}
        {chosen.value.provider !== "offline" && <CheckRow settings={trimmed} set={set} problem={problem} />}
        {reader !== null && (
          <p class="field-warning" role="note">
            <Icon name="warning" size={14} /> Your next message sends this conversation, with the file contents in it,
            to {reader}. “New conversation” above the messages starts without it.
          </p>
        )}
        <p class="field-problem" role="alert">
          {tried.value ? problem : ""}
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
  value: Settings["provider"];
  chosen: string;
  onChoose: (provider: Settings["provider"]) => void;
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
  const { keyHint, url, models } = PROVIDERS[provider];
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
