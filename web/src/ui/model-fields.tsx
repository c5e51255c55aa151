/** Fields of the model dialog that only some choices have: the address of a module, and the second model. */
import { isKeyOfOther, PROVIDER_TEXTS } from "../model-settings.js";
import { PROVIDERS, type SecondModel, type Settings } from "../settings.js";
import { settings } from "../store.js";

type Set = (change: Partial<Settings>) => void;

export function ScriptFields({ address, set }: { address: string; set: Set }) {
  return (
    <div class="fields">
      <label class="field">
        <span>Address of the module</span>
        <input
          type="text"
          inputMode="url"
          spellcheck={false}
          autoComplete="off"
          placeholder="./my-model.js"
          value={address}
          onInput={(event) => set({ baseUrl: event.currentTarget.value })}
        />
      </label>
      <p class="field-note">
        On the site of this page. Its default export has a <code>name</code> and a function <code>stream</code>, as a
        provider of the package <code>emend</code>. The page runs no scripts of other sites.
      </p>
    </div>
  );
}

interface SecondProps {
  readonly second: SecondModel;
  /** Whether the keys are remembered. */
  readonly remember: boolean;
  readonly set: Set;
}

export function SecondFields({ second, remember, set }: SecondProps) {
  const { provider, apiKey, model, baseUrl } = second;
  const { keyHint, models } = PROVIDER_TEXTS[provider];
  const needsUrl = provider === "openai_compatible";
  const change = (changed: Partial<SecondModel>): void => {
    const next = { ...second, ...changed };
    // A key that was saved for another server must be entered again.
    const isKnown = settings.value.second !== null && isKeyOfOther(settings.value.second, next);
    set({ second: isKnown && changed.baseUrl !== undefined ? { ...next, apiKey: "" } : next });
  };
  return (
    <>
      <label class="field">
        <span>Key of the second model {needsUrl && <span class="faint">(optional)</span>}</span>
        <input
          type="password"
          autoComplete="off"
          spellcheck={false}
          placeholder={keyHint}
          value={apiKey}
          onInput={(event) => change({ apiKey: event.currentTarget.value })}
        />
      </label>
      {remember && <p class="field-note">It is remembered with the other key.</p>}
      <label class="field">
        <span>Name of the second model</span>
        <input
          type="text"
          list="second-models"
          spellcheck={false}
          value={model}
          onInput={(event) => change({ model: event.currentTarget.value })}
        />
        <datalist id="second-models">
          {models.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </label>
      <label class="field">
        <span>Address of the second model {!needsUrl && <span class="faint">(optional)</span>}</span>
        <input
          type="url"
          spellcheck={false}
          placeholder={PROVIDERS[provider].url}
          value={baseUrl}
          onInput={(event) => change({ baseUrl: event.currentTarget.value })}
        />
      </label>
    </>
  );
}
